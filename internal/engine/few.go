package engine

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
)

// few runs supersteps with few messages among many vertices, such as those of a search in a road
// network. Nearly every word of a bitmap would have a single vertex there, and each step that is
// meant for 64 vertices would serve one. So few has lists of the senders and the receivers, and the
// states of the vertices stay in bitmaps. It is for flat grids and for partitions without awake
// vertices. Of several partitions, each decides for itself.
type few struct {
	*partition
	light *lightest
	next  bool // the superstep that begins uses lists
	// The senders of the last superstep are in the workers' rows, with their lists. The frontier
	// being written lacks them and is empty. The one being read is undefined.
	kept    bool
	did     []didFew // by worker
	pushing kernel.Push
	spans   []bitmap.Span
	full    uint32 // the vertices below have a list each, so the list's number is the vertex
	// The first workers share the superstep. Each has the senders among its vertices, and pushes
	// their messages to its vertices. Then it pushes those of other workers to its vertices, and
	// runs its receivers. So processors rarely pass a cache line to each other.
	sharers  int
	division *division // made in the first superstep that they share
	// method values of pushTask and runTask
	pushTasks, runTasks func(worker int)
}

// didFew is what a worker does. Rows has the senders among its vertices.
type didFew struct {
	kernel.Few
	push kernel.Push
	// The parts of lists that have receivers of several workers: those with receivers of this
	// worker, and the others by worker.
	mine   []kernel.Row
	others [][]kernel.Row
	counts
	_ [64]byte // padding: workers share no cache line
}

const (
	// fewWords: lists are used for at most one message per fewWords words of vertices.
	fewWords = 2
	// fewRows is the number of senders or receivers that are served together.
	fewRows = 256
	// fewShared is the number of senders from which on all workers share a superstep.
	fewShared = 128
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
	if f.part.Of > 1 { // no columns are sent ahead, see sendAhead
		most = min(most, (f.out.Edges-1)/manyEdges)
	}
	return active == 0 && edges <= most && senders <= most && f.part.Grid.Flat() && f.back == nil &&
		len(f.layout.Blocks) == 1 && !o.Deterministic && !f.uncombined() && !f.changing.on &&
		f.changing.absent == nil && (l.bounded == nil || l.thin == nil && edges <= l.rows/4)
}

// spread moves the senders from the list to the frontier.
func (f *few) spread() {
	if f.kept {
		f.kept = false
		for i := range f.did {
			for _, row := range f.did[i].Rows {
				f.write.Add(row.From)
			}
		}
	}
}

// superstep delivers the messages of the last superstep, and runs their receivers.
func (f *few) superstep(ctx context.Context) error {
	f.makeInbox()
	alone := f.part.Of == 1
	f.inbox.Has.All = alone // until all its words are zero again: the summary does not name them
	if err := f.deliver(ctx); err != nil {
		return err
	}
	if !alone {
		if err := f.fold(ctx, 0, f.layout.Blocks[0].Push, nil); err != nil {
			return err
		}
		f.receivers()
	}
	if err := f.compute(); err != nil {
		return err
	}
	f.inbox.Has.All = false
	if !alone {
		f.inbox.Has.Clear()
	}
	return nil
}

// receivers lists the receivers of messages, which others may have sent too.
func (f *few) receivers() {
	to, has, looked := f.did[0].push.Listed[:0], f.inbox.Has, 0
	f.spans = has.Spans(0, len(f.active), f.spans[:0])
	for _, s := range f.spans {
		for w := s.From; w < s.To; w++ {
			for word := has.Words[w] &^ f.finished[w]; word != 0; word &= word - 1 {
				to = append(to, uint32(w<<6+bits.TrailingZeros64(word)))
			}
		}
		looked += s.To - s.From
	}
	f.did[0].push.Listed = to
	f.probe(delivery.AwakeWords, looked)
}

// deliver pushes the messages along the senders' edges.
func (f *few) deliver(ctx context.Context) error {
	defer f.startTimer(&f.report.Times.Traverse).end()
	a, err := f.part.SendersView(ctx, f.layout.Blocks[0].Push)
	if err != nil {
		return err
	}
	f.kernel.Swap()
	if !f.kept {
		f.read, f.write = f.write, f.read
		f.write.Clear()
	}
	f.pushing = kernel.Push{
		Lists: &a.Lists, Present: f.read.Words, Skip: f.finished, To: math.MaxUint32,
		Ranged: f.part.Of == 1, Listing: f.part.Of == 1,
	}
	if !f.kept {
		f.list()
	}
	f.share(a)
	edges := f.delivering.edges
	f.threads[0].count.walked += edges
	f.probe(delivery.PushedEdges, edges)
	return f.run(f.sharers > 1, nil, f.pushTasks)
}

// list makes the list of senders from the frontier being read.
func (f *few) list() {
	if f.read.All {
		f.read.Tighten()
	}
	p, rows := &f.pushing, f.did[0].Rows[:0]
	f.full = uint32(sort.Search(len(p.Bits),
		func(w int) bool { return p.Rank[w+1] < uint32(w+1)<<6 })) << 6
	for w := 0; w < len(p.Bits); {
		rows = slices.Grow(rows, 2*64)
		rows, w = p.Rows(rows, f.read, w, len(p.Bits))
	}
	p.Find(rows)
	for i := range f.did {
		f.did[i].Rows = f.did[i].Rows[:0]
	}
	f.did[0].Rows, f.kept, f.sharers = rows, true, 1
}

// share decides how many workers share the superstep, and gives them their senders.
func (f *few) share(a *graph.Adjacency) {
	was := f.sharers
	f.sharers = 1
	if f.part.Of == 1 && f.delivering.senders >= cmp.Or(f.job.options.Sizes.FewShared, fewShared) {
		f.sharers = f.team.Size()
	}
	if f.sharers == was {
		return
	}
	rows := f.did[0].Rows
	for i := 1; i < was; i++ {
		did := &f.did[i]
		rows, did.Rows = append(rows, did.Rows...), did.Rows[:0]
	}
	if f.sharers > 1 {
		rows = f.divide(a, rows)
	}
	f.did[0].Rows = rows
}

// pushTask pushes the messages of a worker's vertices to its vertices, and finds the others.
func (f *few) pushTask(worker int) {
	t, did := f.threads[worker], &f.did[worker]
	listed := did.push.Listed[:0]
	did.push = f.pushing
	did.push.Listed = listed
	for i := range did.others {
		did.others[i] = did.others[i][:0]
	}
	did.mine = did.mine[:0]
	for rows := did.Rows; len(rows) > 0; {
		some := rows[:min(fewRows, len(rows))]
		rows = rows[len(some):]
		did.push.Fetch(some)
		if f.sharers > 1 {
			some = some[:f.split(worker, some)]
		}
		t.Push(&did.push, 0, some)
	}
	t.Push(&did.push, 0, did.mine)
}

// split keeps the rows whose receivers are all of a worker, and returns their number. It appends the
// parts of the other rows to mine and to others.
func (f *few) split(worker int, rows []kernel.Row) (kept int) {
	did, d := &f.did[worker], f.division
	for _, row := range rows {
		if w := row.From >> 6; d.inside[w>>6].Load()>>(w&63)&1 != 0 ||
			d.within(w, worker, f.pushing.Lists) {
			rows[kept] = row
			kept++
			continue
		}
		for row.Lo < row.Hi {
			part := row
			to := d.owner(f.pushing.Adj[row.Lo])
			for row.Lo++; row.Lo < row.Hi && d.owner(f.pushing.Adj[row.Lo]) == to; {
				row.Lo++
			}
			part.Hi = row.Lo
			if to == worker {
				did.mine = append(did.mine, part)
			} else {
				did.others[to] = append(did.others[to], part)
			}
		}
	}
	return kept
}

// compute runs the receivers and updates the partition's states.
func (f *few) compute() error {
	defer f.startTimer(&f.report.Times.Compute).end()
	c := &f.threads[0].count
	if err := f.run(f.sharers > 1, nil, f.runTasks); err != nil {
		return err
	}
	for i := range f.did[:f.sharers] {
		did := &f.did[i]
		c.computed, c.receivers = c.computed+did.receivers, c.receivers+did.receivers
		c.finished, c.finishedEdges = c.finished+did.finished, c.finishedEdges+did.finishedEdges
		c.out.senders, c.out.edges = c.out.senders+len(did.Rows), c.out.edges+did.out.edges
		for _, v := range did.Awake {
			bitmap.Set(f.active, v)
			f.awake.Mark(int(v >> 6))
		}
		c.active += len(did.Awake)
	}
	if !f.small(c.out.senders, c.out.edges, c.active) {
		f.spread()
	}
	return nil
}

// runTask pushes what others send to a worker's vertices. It runs the receivers, and finds the
// lists of those that sent.
func (f *few) runTask(worker int) {
	t, did := f.threads[worker], &f.did[worker]
	defer f.recover(t)
	if f.sharers > 1 {
		for i := range f.did {
			if rows := f.did[i].others[worker]; len(rows) > 0 {
				did.push.Fetch(rows)
				t.Push(&did.push, 0, rows)
			}
		}
	}
	to := did.push.Listed
	did.Rows, did.Finished, did.Awake = did.Rows[:0], did.Finished[:0], did.Awake[:0]
	for at := 0; at < len(to) && !f.stop.Load(); at += fewRows {
		t.RunFew(to[at:min(at+fewRows, len(to))], at, &did.Few)
	}
	did.out.edges = f.find(did.Rows)
	f.finish(to, did)
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

// finish removes a worker's receivers from the inbox, and records which of them have finished.
func (f *few) finish(to []uint32, did *didFew) {
	has := f.inbox.Has.Words
	for _, v := range to {
		has[v>>6] = 0
	}
	for _, v := range did.Finished {
		bitmap.Set(f.finished, v)
	}
	did.receivers, did.finished, did.finishedEdges = len(to), len(did.Finished), 0
	if did.finished == len(to) && len(did.Rows) == len(to) && f.in == f.out {
		did.finishedEdges = did.out.edges
		return
	}
	for _, v := range did.Finished {
		did.finishedEdges += int(f.in.Of[v])
	}
}
