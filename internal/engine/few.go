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
	did     kernel.Few
	pushing kernel.Push
	full    uint32 // the vertices below have a list each, so the list's number is the vertex
}

const (
	// fewWords: lists are used for at most one message per fewWords words of vertices.
	fewWords = 4
	// fewRows is the number of senders or receivers that are served together.
	fewRows = 256
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
	did, c := &f.did, &f.threads[0].count
	did.Rows, did.Finished, did.Awake = f.rows[:0], did.Finished[:0], did.Awake[:0]
	to := f.pushing.Listed
	c.computed, c.receivers = len(to), len(to)
	f.runAll(to)
	if err := f.failed(); err != nil {
		return err
	}
	f.rows = did.Rows
	c.out.senders, c.out.edges = len(f.rows), f.find()
	f.finish(len(to))
	for _, v := range did.Awake {
		bitmap.Set(f.active, v)
		f.awake.Mark(int(v >> 6))
	}
	c.active = len(did.Awake)
	if !f.small(c.out.senders, c.out.edges, c.active) {
		f.spread()
	}
	return nil
}

// find finds the senders' lists, and returns their number of edges.
func (f *few) find() (edges int) {
	starts := f.pushing.Starts
	for i := range f.rows {
		row := &f.rows[i]
		if row.From < f.full {
			row.Lo, row.Hi = starts[row.From], starts[row.From+1]
		} else {
			row.Lo, row.Hi = f.pushing.Row(row.From)
		}
		edges += int(row.Hi - row.Lo)
	}
	return edges
}

// finish records which of the vertices that ran have finished.
func (f *few) finish(ran int) {
	list, c := f.did.Finished, &f.threads[0].count
	for _, v := range list {
		bitmap.Set(f.finished, v)
	}
	c.finished = len(list)
	if len(list) == ran && len(f.rows) == ran && f.in == f.out {
		c.finishedEdges = c.out.edges
		return
	}
	for _, v := range list {
		c.finishedEdges += int(f.in.Of[v])
	}
}

// runAll runs the receivers.
func (f *few) runAll(to []uint32) {
	t := f.threads[0]
	defer f.recover(t)
	for at := 0; at < len(to) && !f.stop.Load(); at += fewRows {
		t.RunFew(to[at:min(at+fewRows, len(to))], at, &f.did)
	}
}
