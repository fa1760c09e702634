package engine

import (
	"context"
	"slices"

	"github.com/superstep-go/superstep/internal/engine/change"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// changing is the part of a runner for programs that change the graph (docs/design/mutation.md).
type changing struct {
	on     bool
	create bool // a message to a removed vertex creates it again
	codec  change.Codec
	absent []uint64 // owned vertices that do not exist; nil if all exist

	graphCounts

	// Functions that free what the superstep has replaced. They are called later, because frames
	// that were sent may still be read.
	retired []func()
}

// graphCounts has counts of the whole graph. ids is the first id that no vertex has had.
type graphCounts struct{ ids, vertices, arcs uint64 }

// idsAhead limits the new ids in a superstep, in addition to the number of existing ids, so that a
// defect of a program does not fill the memory.
const idsAhead = 1 << 16

// beginChanges prepares a runner for a program that changes the graph, or that shares the graph
// with phases of a plan, which may change it.
func (r *runner) beginChanges() (err error) {
	c, m := &r.changing, r.job.methods
	r.revertCounts()
	if r.job.changes() {
		r.arena = r.job.newArena()
	}
	if !m.traits.Mutates {
		return nil
	}
	c.on, c.create = true, m.traits.CreateOnMessage
	c.codec, err = change.NewCodec(r.instance.Values())
	return err
}

// base returns the partition with which a run begins: the loaded one, a restored one or, in a plan,
// the one after the earlier phases. During a run it returns the current one.
func (r *runner) base() *graph.Partition {
	if c := r.shared.changed; c != nil {
		return c.Partition
	}
	return r.loaded
}

// revertCounts sets the counts and the absent vertices to those of the graph with which a run
// begins.
func (r *runner) revertCounts() {
	r.changing.absent = slices.Clone(r.base().Absent)
	if p := r.shared; p.changed != nil {
		r.changing.graphCounts = p.counts
		return
	}
	g := r.job.graph
	r.changing.graphCounts = graphCounts{uint64(g.N), uint64(g.Vertices()), g.Arcs}
}

// revert goes back to the graph with which a run begins, before another run.
func (r *runner) revert() {
	base := r.base()
	r.revertCounts()
	if r.part == base {
		for _, t := range r.threads {
			r.setChangeRules(t)
		}
		return
	}
	r.changing.retired = append(r.changing.retired, r.arena.Close)
	r.arena = r.job.newArena()
	if err := r.place(context.Background(), base); err != nil {
		panic(err) // the same call has succeeded before
	}
	r.exchange.SetPartition(base)
	r.freeRetired()
	for _, t := range r.threads {
		r.equip(t)
	}
}

// freeRetired frees what is retired. It must no longer be in use.
func (r *runner) freeRetired() {
	for _, free := range r.changing.retired {
		free()
	}
	r.changing.retired = nil
}

func (r *partition) label(id pregel.VertexID) uint64 {
	if uint64(id) < uint64(r.job.graph.N) {
		return r.job.graph.Label(id)
	}
	return r.part.Label(id)
}

// setChangeRules tells a thread how its vertices may change the graph.
func (r *runner) setChangeRules(t *thread) {
	c, g := &r.changing, r.job.graph
	s := t.State()
	s.NumVertices, s.NumEdges = c.vertices, c.arcs
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

// change carries out the requests of the last superstep. It is called after the delivery of
// messages to the inbox or the lists, and before the vertices run.
func (r *runner) change(ctx context.Context) error {
	to, err := r.changer.makeChanged(ctx)
	if err != nil {
		return err
	}
	return r.moveTo(ctx, to)
}

// changeAtEnd carries out the requests of the run's last superstep. Messages that it sent are
// dropped.
func (r *runner) changeAtEnd(ctx context.Context) (err error) {
	r.report.Begin()
	r.report.Cells = r.threads[0].State().Cells // nothing adds to them
	r.exchange.Begin(r.command.Superstep)
	for _, t := range r.threads {
		t.ResetSends()
	}
	if err := r.change(ctx); err != nil {
		return err
	}
	r.report.Account, err = r.exchange.End(ctx)
	r.freeRetired()
	return err
}

// pendingRequests returns the requests of the threads, and the values of the vertices to add.
func (r *partition) pendingRequests() (list []kernel.Request, values kernel.Column) {
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

func (r *partition) isAbsent(local uint32) bool {
	a := r.changing.absent
	return a != nil && a[local>>6]>>(local&63)&1 != 0
}

// IDs returns the first id that no vertex has had, after the last run. Exists reports whether a
// vertex below it exists.
func (j *Job) IDs() uint64 { return j.runners[0].changing.ids }

func (j *Job) Exists(id pregel.VertexID) bool {
	r, local := j.at(id)
	return !r.isAbsent(local)
}

// Label returns the input id of a vertex, including added ones.
func (j *Job) Label(id pregel.VertexID) uint64 { return j.runners[0].label(id) }

// find returns the input id of a vertex, if there is such a vertex.
func (j *Job) find(id pregel.VertexID) (label uint64, ok bool) {
	if uint64(id) >= j.IDs() {
		return 0, false
	}
	return j.Label(id), true
}

// TakeGraph returns the graph as changed by the last run, which the caller then owns, or nil if the
// run changed nothing. All partitions must be in this process. Values must be read before, because
// the next run starts from the beginning.
func (j *Job) TakeGraph() *graph.Graph {
	j.shareGraph()
	var parts []*graph.Changed
	for _, r := range j.runners {
		if changed := r.shared.changed; changed != nil {
			parts = append(parts, changed)
			r.shared.changed = nil
		}
	}
	if parts == nil {
		return nil
	}
	j.options.Shared.generation++
	return graph.Assemble(j.graph, parts...)
}
