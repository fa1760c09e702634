package engine

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/kernel"
)

// few runs supersteps with few messages among many vertices, such as those of a search in a road
// network. Nearly every word of a bitmap would have a single vertex there, and each step that is
// meant for 64 vertices would serve one. So few has lists of the senders and the receivers, and the
// states of the vertices stay in bitmaps. It is for one partition without awake vertices.
type few struct {
	*partition
	light *lightest
	next  bool // the superstep that begins uses lists
	// The senders of the last superstep are in rows, with their lists. The frontier being written
	// lacks them and is empty. The one being read is undefined.
	kept    bool
	rows    []kernel.Row
	did     []didFew // by worker
	pushing kernel.Push
	full    uint32           // the vertices below have a list each, so the list's number is the vertex
	sharers int              // the first workers share the receivers of this superstep
	running func(worker int) // method value of runTask
}

// didFew is what a worker's receivers did. edges is the number of edges of those that sent.
type didFew struct {
	kernel.Few
	edges int
	_     [64]byte // padding: workers share no cache line
}

const (
	// fewWords: lists are used for at most one message per fewWords words of vertices.
	fewWords = 2
	// fewRows is the number of senders or receivers that are served together.
	fewRows = 256
	// fewShared is the number of receivers from which on all workers run them. Only one worker
	// pushes. Two took longer, because cache lines passed between their processors.
	fewShared = 512
)

// begin decides whether the superstep of a command uses lists.
func (f *few) begin(c *bsp.Command, watched bool) {
	f.next = c.Scheme == delivery.Naive && !watched && c.Save == 0 && !c.Sends && !c.Change &&
		c.Superstep > 0 && f.small(f.report.Senders, f.report.SenderEdges, f.report.Active)
	if !f.next {
		f.spread()
	}
}

// small reports whether lists may be used after a superstep with these counts.
func (f *few) small(senders, edges, active int) bool {
	o, l := &f.job.options, f.light
	most := cmp.Or(o.Sizes.FewEdges, min(f.serialEdges, len(f.active)/fewWords))
	return active == 0 && edges <= most && senders <= most && f.part.Of == 1 && f.back == nil &&
		len(f.layout.Blocks) == 1 && !o.Deterministic && !f.uncombined() && !f.changing.on &&
		f.changing.absent == nil && (l.bounded == nil || l.thin == nil && edges <= l.rows/4)
}

// spread moves the senders from the list to the frontier.
func (f *few) spread() {
	if f.kept {
		f.kept = false
		for _, row := range f.rows {
			f.write.Add(row.From)
		}
	}
}

// superstep delivers the messages of the last superstep, and runs their receivers.
func (f *few) superstep(ctx context.Context) error {
	f.makeInbox()
	f.inbox.Has.All = true // until all its words are zero again: the summary does not name them
	if err := f.deliver(ctx); err != nil {
		return err
	}
	if err := f.compute(); err != nil {
		return err
	}
	f.inbox.Has.All = false
	return nil
}

// deliver pushes the messages along the senders' edges.
func (f *few) deliver(ctx context.Context) error {
	defer f.startTimer(&f.report.Times.Traverse).end()
	a, err := f.part.SendersView(ctx, f.layout.Blocks[0].Push)
	if err != nil {
		return err
	}
	f.kernel.Swap()
	t, p := f.threads[0], &f.pushing
	if !f.kept {
		f.read, f.write = f.write, f.read
		f.write.Clear()
	}
	*p = kernel.Push{
		Lists: &a.Lists, Present: f.read.Words, Skip: f.finished, To: math.MaxUint32, Ranged: true,
		Listing: true, Listed: p.Listed[:0],
	}
	if !f.kept {
		f.list()
	}
	edges := 0
	for rows := f.rows; len(rows) > 0; {
		some := rows[:min(fewRows, len(rows))]
		rows = rows[len(some):]
		for _, row := range some {
			edges += int(row.Hi - row.Lo)
		}
		p.Fetch(some)
		t.Push(p, 0, some)
	}
	t.count.walked += edges
	f.probe(delivery.PushedEdges, edges)
	return nil
}

// list makes the list of senders from the frontier being read.
func (f *few) list() {
	if f.read.All {
		f.read.Tighten()
	}
	p := &f.pushing
	f.rows, f.kept = f.rows[:0], true
	f.full = uint32(sort.Search(len(p.Bits),
		func(w int) bool { return p.Rank[w+1] < uint32(w+1)<<6 })) << 6
	for w := 0; w < len(p.Bits); {
		f.rows = slices.Grow(f.rows, 2*64)
		f.rows, w = p.Rows(f.rows, f.read, w, len(p.Bits))
	}
	p.Find(f.rows)
}

// compute runs the receivers and updates the partition's states.
func (f *few) compute() error {
	defer f.startTimer(&f.report.Times.Compute).end()
	to, c := f.pushing.Listed, &f.threads[0].count
	c.computed, c.receivers = len(to), len(to)
	f.sharers = 1
	if len(to) >= cmp.Or(f.job.options.Sizes.FewShared, fewShared) {
		f.sharers = f.team.Size()
	}
	if err := f.run(f.sharers > 1, nil, f.running); err != nil {
		return err
	}
	rows, edges := f.did[0].Rows, f.did[0].edges
	for i := 1; i < f.sharers; i++ {
		rows, edges = append(rows, f.did[i].Rows...), edges+f.did[i].edges
	}
	f.rows, f.did[0].Rows = rows, rows
	c.out.senders, c.out.edges, c.finished, c.active = len(rows), edges, 0, 0
	f.finish(to)
	if !f.small(c.out.senders, c.out.edges, c.active) {
		f.spread()
	}
	return nil
}

// runTask runs a worker's share of the receivers, and finds the lists of those that sent.
func (f *few) runTask(worker int) {
	t, did, to := f.threads[worker], &f.did[worker], f.pushing.Listed
	defer f.recover(t)
	did.Rows, did.Finished, did.Awake = did.Rows[:0], did.Finished[:0], did.Awake[:0]
	at, end := len(to)*worker/f.sharers, len(to)*(worker+1)/f.sharers
	for ; at < end && !f.stop.Load(); at += fewRows {
		t.RunFew(to[at:min(at+fewRows, end)], at, &did.Few)
	}
	did.edges = f.find(did.Rows)
}

// find finds the lists of senders, and returns their number of edges.
func (f *few) find(rows []kernel.Row) (edges int) {
	starts := f.pushing.Starts
	for i := range rows {
		row := &rows[i]
		if row.From < f.full {
			row.Lo, row.Hi = starts[row.From], starts[row.From+1]
		} else {
			row.Lo, row.Hi = f.pushing.Row(row.From)
		}
		edges += int(row.Hi - row.Lo)
	}
	return edges
}

// finish removes the receivers from the inbox, and records which of them have finished or are
// awake.
func (f *few) finish(to []uint32) {
	c, has := &f.threads[0].count, f.inbox.Has.Words
	for _, v := range to {
		has[v>>6] = 0
	}
	for i := range f.did[:f.sharers] {
		did := &f.did[i]
		for _, v := range did.Finished {
			bitmap.Set(f.finished, v)
		}
		for _, v := range did.Awake {
			bitmap.Set(f.active, v)
			f.awake.Mark(int(v >> 6))
		}
		c.finished, c.active = c.finished+len(did.Finished), c.active+len(did.Awake)
	}
	if c.finished == len(to) && c.out.senders == len(to) && f.in == f.out {
		c.finishedEdges = c.out.edges
		return
	}
	for i := range f.did[:f.sharers] {
		for _, v := range f.did[i].Finished {
			c.finishedEdges += int(f.in.Of[v])
		}
	}
}
