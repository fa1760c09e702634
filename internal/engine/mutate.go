package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// changing is the part of a runner that a program uses which changes the graph (docs/design/mutation.md).
type changing struct {
	on     bool
	create bool // a message makes a vertex that was removed anew
	codec  requestCodec
	absent []uint64 // owned vertices that do not exist; nil if all do

	graphCounts

	changed *graph.Changed // what part is of; nil before the first change
	// What the superstep that runs has left behind: frames that it sent may still be read.
	left []func()
}

// graphCounts are of the whole graph: ids is the first id that no vertex has had.
type graphCounts struct{ ids, vertices, arcs uint64 }

// idsAhead is how many ids may be made in a superstep beside as many as there are: who counts wrongly must not fill the memory.
const idsAhead = 1 << 16

// beginChanges prepares a runner for a program that changes the graph, or runs beside others that do.
func (r *runner) beginChanges() (err error) {
	c, m := &r.changing, r.job.methods
	r.revertCounts()
	if m.traits.Mutates || r.job.options.Shared != nil {
		r.arena = r.job.newArena()
	}
	if !m.traits.Mutates {
		return nil
	}
	c.on, c.create = true, m.traits.CreateOnMessage
	c.codec, err = newRequestCodec(r.instance.Values())
	return err
}

// base is the partition that a run begins with: as it was loaded or, in a plan, as the phases before have left it.
func (r *runner) base() *graph.Partition {
	if p := r.job.options.Shared.base(r.loaded.Index); p != nil {
		return p.changed.Partition
	}
	return r.loaded
}

// revertCounts makes the counts those of the graph that a run begins with.
func (r *runner) revertCounts() {
	if p := r.job.options.Shared.base(r.loaded.Index); p != nil {
		r.changing.graphCounts = p.counts
		return
	}
	g := r.job.graph
	r.changing.graphCounts = graphCounts{uint64(g.N), uint64(g.Vertices()), g.Arcs}
}

// revert goes back to the graph that a run begins with, before another run.
func (r *runner) revert() {
	base := r.base()
	r.revertCounts()
	if r.part == base {
		for _, t := range r.threads {
			r.allow(t)
		}
		return
	}
	r.leave()
	r.arena = r.job.newArena()
	if err := r.place(context.Background(), base); err != nil {
		panic(err) // it went well before
	}
	r.exchange.Become(base)
	r.freeLeft()
	for _, t := range r.threads {
		r.equip(t)
	}
}

// leave leaves the runner's arrays, and the partition if it is a changed one, to freeLeft.
func (r *runner) leave() {
	c, arena := &r.changing, r.arena
	c.left = append(c.left, arena.Close)
	if c.changed != nil {
		c.left = append(c.left, c.changed.Close)
		c.changed = nil
	}
}

// freeLeft frees what was left, when nobody uses it any more.
func (r *runner) freeLeft() {
	for _, free := range r.changing.left {
		free()
	}
	r.changing.left = nil
}

// closeChanges frees all that the runner of a changing graph has beside the job's arena.
func (r *runner) closeChanges() {
	if r.arena != r.job.arena {
		r.leave()
		r.freeLeft()
	}
}

// label returns the input id of a vertex.
func (r *runner) label(id pregel.VertexID) uint64 {
	if uint64(id) < uint64(r.job.graph.N) {
		return r.job.graph.Label(id)
	}
	return r.part.Label(id)
}

// allow tells a thread how its vertices may change the graph.
func (r *runner) allow(t *thread) {
	c, g := &r.changing, r.job.graph
	worker := t.Worker()
	worker.NumVertices, worker.NumEdges = c.vertices, c.arcs
	q := t.requests
	if q == nil {
		return
	}
	q.NextID, q.Limit = c.ids, min(2*c.ids+idsAhead, graph.MaxVertices)
	q.Loops, q.Weighted, q.Weigh, q.Merge = !g.Options.DropLoops, r.traits.Weighted, g.Weigh, nil
	switch g.Options.Duplicates {
	case graph.KeepDuplicates:
	case graph.LeastDuplicate:
		q.Merge = func(stored, added float64) float64 { return min(stored, added) }
	case graph.SumDuplicates:
		q.Merge = func(stored, added float64) float64 { return g.Weigh(stored + added) }
	default:
		q.Merge = func(stored, _ float64) float64 { return stored }
	}
}

// pullFlat is the first half of pullAndCompute: what is pulled goes to the inbox, since the graph changes before the vertices run.
func (r *runner) pullFlat(ctx context.Context, c *bsp.Command) error {
	r.clearWritten()
	if !r.list {
		r.makeInbox()
	}
	for i, ways := range r.layout.Blocks {
		if !r.crossed(c, i) {
			continue
		}
		p, err := r.expandToPull(ctx, c, i, ways.Pull)
		if err != nil {
			return err
		}
		phase := r.timed(&r.report.Times.Traverse)
		if r.list {
			walked := r.instance.Gather(&p.Pull, p.from.way, r.part.Owned, r.finished)
			r.threads[0].count.walked += walked
		} else {
			r.pulling = append(r.pulling[:0], p)
			err = r.run(r.team.Size() > 1, r.ownChunks(), r.tasks.pullBlock)
		}
		phase.end()
		if err != nil {
			return err
		}
	}
	return nil
}

// change carries out what the vertices asked for in the last superstep. It comes between the delivery of messages, which are in the inbox
// or the lists, and the run of the vertices.
func (r *runner) change(ctx context.Context) error {
	list, values, ids, err := r.requested(ctx)
	if err != nil {
		return fmt.Errorf("changing the graph: %w", err)
	}
	inOrder(list)
	s := resolver{state: r.exists, own: r.instance.Values(), values: values}
	s.of = func(id uint64) int { return int(id / uint64(r.part.Of)) }
	if r.job.methods.Has("Resolve") {
		s.resolve = r.instance.Resolve
	}
	to := s.run(list)
	to.remove = slices.DeleteFunc(to.remove, func(a graph.Arc) bool { return uint64(a.To) >= r.changing.ids })
	gone, err := r.outArcs(ctx, to.gone)
	if err != nil {
		return fmt.Errorf("changing the graph: %w", err)
	}
	to.remove = append(to.remove, gone...)
	changed, err := r.part.Changed(ctx, graph.Change{
		N: int(ids), Remove: to.remove, Add: to.add, Places: r.shared.ofEdges(), Team: r.team,
	}, r.exchange.All)
	if err != nil {
		return err
	}
	return r.become(ctx, changed, ids, to.vertices, values)
}

// changeAtEnd carries out what the vertices asked for in the last superstep of the run. Messages that it sent are dropped.
func (r *runner) changeAtEnd(ctx context.Context, c *bsp.Command) (err error) {
	r.report.Begin()
	r.report.Cells = r.threads[0].State().Cells // to which nobody adds
	r.exchange.Begin(c.Superstep)
	for _, t := range r.threads {
		t.ResetSends()
	}
	if err := r.change(ctx); err != nil {
		return err
	}
	r.report.Account, err = r.exchange.End(ctx, c.Superstep)
	r.freeLeft()
	return err
}

// requested returns the requests about owned vertices, with the values that they bring, and one more than the largest id of a vertex from now on.
func (r *runner) requested(ctx context.Context) ([]kernel.Request, kernel.Column, uint64, error) {
	c, of := &r.changing, uint64(r.part.Of)
	byOwner, ids := make([][]kernel.Request, of), c.ids
	asked, values := r.asked()
	for _, q := range asked {
		if q.Kind == kernel.AddVertex || q.Kind == kernel.AddEdge {
			ids = max(ids, q.Of+1, q.To+1)
		}
		byOwner[q.Of%of] = append(byOwner[q.Of%of], q)
	}
	for _, t := range r.threads {
		t.ResetRequests()
	}
	data := make([][]byte, of)
	var err error
	for q := range data {
		if q != r.part.Index {
			if data[q], err = c.codec.encode(ids, byOwner[q], values); err != nil {
				return nil, nil, 0, err
			}
		}
	}
	came, err := r.exchange.All(ctx, data)
	if err != nil {
		return nil, nil, 0, err
	}
	list := byOwner[r.part.Index]
	limit := min(2*c.ids+idsAhead, graph.MaxVertices)
	owns := func(id uint64) bool { return id < limit && id%of == uint64(r.part.Index) }
	for q, b := range came {
		if q == r.part.Index {
			continue
		}
		var needed uint64
		if list, needed, err = c.codec.decode(b, list, values, owns); err != nil {
			return nil, nil, 0, fmt.Errorf("from partition %d: %w", q, err)
		}
		ids = max(ids, needed)
	}
	if ids > limit {
		return nil, nil, 0, fmt.Errorf("%w: ids up to %d, where %d are allowed", errRequests, ids, limit)
	}
	// What nobody adds there is nothing to remove of.
	return slices.DeleteFunc(list, func(q kernel.Request) bool { return q.Of >= ids }), values, ids, nil
}

// asked returns the requests of the threads, and the values of the vertices that they add.
func (r *runner) asked() (list []kernel.Request, values kernel.Column) {
	values = r.instance.Values().New(nil)
	for _, t := range r.threads {
		if t.requests == nil {
			continue
		}
		first := uint32(values.Len())
		values.Append(t.AddedValues())
		for _, q := range t.requests.List {
			q.Value += first
			list = append(list, q)
		}
	}
	return list, values
}

// exists reports whether there is an owned vertex.
func (r *runner) exists(id uint64) bool {
	local := id / uint64(r.part.Of)
	return local < uint64(r.part.Owned) && !r.isAbsent(uint32(local))
}

func (r *runner) isAbsent(local uint32) bool {
	a := r.changing.absent
	return a != nil && a[local>>6]>>(local&63)&1 != 0
}

// outArcs returns all arcs that go out from owned vertices. In a grid that is not flat they lie with other partitions, too, which
// therefore all call it.
func (r *runner) outArcs(ctx context.Context, from map[pregel.VertexID]bool) ([]graph.Arc, error) {
	if r.part.Grid.Flat() {
		if len(from) == 0 {
			return nil, nil
		}
		return r.part.OutArcs(from), nil
	}
	arcs := r.part.OutArcs(from)
	var ids []byte
	for id := range from {
		ids = binary.LittleEndian.AppendUint64(ids, uint64(id))
	}
	data := make([][]byte, r.part.Of)
	for q := range data {
		data[q] = ids
	}
	asked, err := r.exchange.All(ctx, data)
	if err != nil {
		return nil, err
	}
	for q, b := range asked {
		data[q] = nil
		if q == r.part.Index || len(b) == 0 {
			continue
		}
		of := map[pregel.VertexID]bool{}
		for ; len(b) >= 8; b = b[8:] {
			of[pregel.VertexID(binary.LittleEndian.Uint64(b))] = true
		}
		for _, a := range r.part.OutArcs(of) {
			data[q] = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(data[q], uint64(a.From)), uint64(a.To))
		}
	}
	came, err := r.exchange.All(ctx, data)
	if err != nil {
		return nil, err
	}
	for q, b := range came {
		if q == r.part.Index {
			continue
		}
		for ; len(b) >= 16; b = b[16:] {
			a := graph.Arc{From: pregel.VertexID(binary.LittleEndian.Uint64(b)), To: pregel.VertexID(binary.LittleEndian.Uint64(b[8:]))}
			if !from[a.From] {
				return nil, fmt.Errorf("%w: an edge of vertex %d from partition %d", errRequests, a.From, q)
			}
			arcs = append(arcs, a)
		}
	}
	return arcs, nil
}

// IDs returns the first id that no vertex has had after the last run, and Exists whether an id below it is a vertex's.
func (j *Job) IDs() uint64 { return j.runners[0].changing.ids }

func (j *Job) Exists(id pregel.VertexID) bool {
	n := uint64(len(j.owners))
	return !j.owners[uint64(id)%n].isAbsent(uint32(uint64(id) / n))
}

// Label returns the input id of a vertex: of one that was added, too.
func (j *Job) Label(id pregel.VertexID) uint64 { return j.runners[0].label(id) }

// find returns the input id of a vertex, and whether there is one.
func (j *Job) find(id pregel.VertexID) (label uint64, ok bool) {
	if uint64(id) >= j.IDs() {
		return 0, false
	}
	return j.Label(id), true
}

// TakeGraph returns the graph as the last run has changed it, which belongs to the caller from now on, or nil if the run has changed
// nothing. It needs all partitions in this process. Values are read before it: the next run begins anew.
func (j *Job) TakeGraph() *graph.Graph {
	var parts []*graph.Changed
	if s := j.options.Shared; s != nil {
		j.shareGraph()
		parts = s.take()
	}
	for _, r := range j.runners {
		if c := &r.changing; c.changed != nil {
			c.changed.Partition.Absent = c.absent
			parts = append(parts, c.changed)
			c.changed = nil
		}
	}
	if parts == nil {
		return nil
	}
	return graph.Assemble(j.graph, parts...)
}
