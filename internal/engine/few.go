package engine

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/delivery"
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
	kept     bool
	did      []didFew // by worker
	pushing  kernel.Push
	spans    []bitmap.Span
	division *division
	// The first workers share the superstep. Each has the senders among its vertices, and pushes
	// their messages to its vertices. Then it pushes those of other workers to its vertices, and
	// runs its receivers. So processors rarely pass a cache line to each other.
	sharers int
	// method values of pushTask and runTask
	pushTasks, runTasks func(worker int)
}

// didFew is what a worker does. Rows has the senders among its vertices.
type didFew struct {
	kernel.Few
	push   kernel.Push
	inside int            // the first rows have only receivers of the worker
	parts  [][]kernel.Row // of the other rows, by the worker of their receivers
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

// keep begins supersteps with lists of senders. The bitmap of the inbox then has the finished
// vertices, too, so a push of Sender need not read another one.
func (f *few) keep() {
	f.kept = true
	if f.part.Of == 1 {
		f.inbox.Has.All = true
		copy(f.inbox.Has.Words, f.finished)
	}
}

// spread moves the senders from the list to the frontier.
func (f *few) spread() {
	if f.kept {
		f.kept = false
		f.inbox.Has.Clear()
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
	if err := f.deliver(ctx); err != nil {
		return err
	}
	if f.part.Of > 1 {
		if err := f.fold(ctx, 0, f.layout.Blocks[0].Push, nil); err != nil {
			return err
		}
		f.receivers()
	}
	return f.compute()
}

// receivers lists the receivers of messages, which others may have sent too, and clears the inbox's
// bitmap.
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
	has.Clear()
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
		f.division = f.divisionOf(a)
		f.list()
	}
	f.share()
	f.threads[0].count.walked += f.delivering.edges
	f.probe(delivery.PushedEdges, f.delivering.edges)
	return f.run(f.sharers > 1, nil, f.pushTasks)
}

// list makes the list of senders from the frontier being read.
func (f *few) list() {
	if f.read.All {
		f.read.Tighten()
	}
	p, rows := &f.pushing, f.did[0].Rows[:0]
	for w := 0; w < len(p.Bits); {
		rows = slices.Grow(rows, 2*64)
		rows, w = p.Rows(rows, f.read, w, len(p.Bits))
	}
	p.Find(rows)
	for i := range f.did {
		f.did[i].Rows = f.did[i].Rows[:0]
	}
	f.did[0].Rows, f.sharers = rows, 1
	f.keep()
}

// share decides how many workers share the superstep, and gives them their senders.
func (f *few) share() {
	was := f.sharers
	f.sharers = 1
	if f.part.Of == 1 && f.delivering.senders >= cmp.Or(f.job.options.Sizes.FewShared, fewShared) {
		f.sharers = f.team.Size()
	}
	if f.sharers == was {
		return
	}
	for i := 1; i < was; i++ {
		f.did[0].Rows, f.did[i].Rows = append(f.did[0].Rows, f.did[i].Rows...), f.did[i].Rows[:0]
	}
	if f.sharers > 1 {
		f.divide()
	}
}

// pushTask pushes the messages of a worker's vertices to its vertices, and finds the others.
func (f *few) pushTask(worker int) {
	t, did := f.threads[worker], &f.did[worker]
	listed, rows := did.push.Listed[:0], did.Rows
	did.push = f.pushing
	did.push.Listed = listed
	if f.sharers > 1 {
		did.push.Fetch(rows[did.inside:])
		f.split(did)
		t.Push(&did.push, 0, did.parts[worker])
		rows = rows[:did.inside]
	}
	for ; len(rows) > 0; rows = rows[min(fewRows, len(rows)):] {
		some := rows[:min(fewRows, len(rows))]
		if !f.traits.Self { // Sender reads all receivers first
			did.push.Fetch(some)
		}
		t.Push(&did.push, 0, some)
	}
}

// split splits the rows that have receivers of several workers.
func (f *few) split(did *didFew) {
	d, adj := f.division, f.pushing.Adj
	for i := range did.parts {
		did.parts[i] = did.parts[i][:0]
	}
	for _, row := range did.Rows[did.inside:] {
		for row.Lo < row.Hi {
			part, to := row, d.owner(adj[row.Lo])
			for row.Lo++; row.Lo < row.Hi && d.owner(adj[row.Lo]) == to; {
				row.Lo++
			}
			part.Hi = row.Lo
			did.parts[to] = append(did.parts[to], part)
		}
	}
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
			if rows := f.did[i].parts[worker]; i != worker {
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
	did.out.edges = f.find(did)
	f.finish(to, did)
}

// find finds the lists of senders, and returns their number of edges. It moves those inside to the
// front.
func (f *few) find(did *didFew) (edges int) {
	d, rows, n := f.division, did.Rows, len(did.Rows)
	for i := 0; i < n; {
		row := &rows[i]
		word := &d.words[row.From>>6]
		at := word.rows.Load()
		if at == 0 {
			at = d.learn(row.From >> 6)
		}
		if length := uint32(at); length != uneven {
			row.Lo = uint32(at>>32) + row.From&63*length
			row.Hi = row.Lo + length
		} else {
			row.Lo, row.Hi = d.lists.Row(row.From)
		}
		edges += int(row.Hi - row.Lo)
		if word.inside.Load()>>(row.From&63)&1 != 0 {
			i++
		} else {
			n--
			rows[i], rows[n] = rows[n], rows[i]
		}
	}
	did.inside = n
	return edges
}

// finish records which of a worker's receivers have finished, and removes the others from the inbox.
func (f *few) finish(to []uint32, did *didFew) {
	for _, v := range did.Finished {
		bitmap.Set(f.finished, v)
	}
	did.receivers, did.finished, did.finishedEdges = len(to), len(did.Finished), 0
	if did.finished < len(to) && f.part.Of == 1 {
		for _, v := range to {
			f.inbox.Has.Words[v>>6] = f.finished[v>>6]
		}
	}
	if did.finished == len(to) && len(did.Rows) == len(to) && f.in == f.out {
		did.finishedEdges = did.out.edges
		return
	}
	for _, v := range did.Finished {
		did.finishedEdges += int(f.in.Of[v])
	}
}
