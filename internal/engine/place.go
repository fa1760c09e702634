package engine

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// place makes everything whose size and form depend on the partition's lists, in the runner's arena. Values, states and frontiers are zero.
func (r *runner[V, M]) place(ctx context.Context, p *graph.Partition) error {
	r.part, r.layout = p, p.Layout(r.job.direction)
	r.tiling.forget() // they lie in the arena of what was placed before
	switch r.job.direction {
	case pregel.Either:
		r.outDegrees, r.inDegrees = p.OutDegrees, p.InDegrees
		r.back.outDegrees = p.InDegrees
	case pregel.In:
		r.outDegrees, r.inDegrees = p.InDegrees, p.OutDegrees
	case pregel.Both:
		r.outDegrees = mem.Make[uint32](r.arena, len(p.OutDegrees))
		if err := bothDegrees(r.outDegrees, p.OutDegrees, p.InDegrees); err != nil {
			return err
		}
		r.inDegrees = r.outDegrees
	default:
		r.outDegrees, r.inDegrees = p.OutDegrees, p.InDegrees
	}
	if err := r.bind(); err != nil {
		return err
	}
	if err := r.bindLightest(ctx); err != nil {
		return err
	}
	size, slots := (p.Owned+63)&^63, bitmap.Words(r.layout.Count)
	r.values = mem.Make[V](r.arena, size)
	r.active = mem.Make[uint64](r.arena, size/64)
	r.finished = mem.Make[uint64](r.arena, slots)
	r.inbox = kernel.Inbox[M]{}
	r.grids = grids{}
	for _, c := range r.columns {
		c.read = bitmap.NewFrontier(mem.Make[uint64](r.arena, slots))
		c.write = bitmap.NewFrontier(mem.Make[uint64](r.arena, slots))
		c.outEqual, c.outEdges = equalDegrees(c.outDegrees)
	}
	r.inEqual, r.inEdges = r.outEqual, r.outEdges
	if len(r.inDegrees) > 0 && &r.inDegrees[0] != &r.outDegrees[0] {
		r.inEqual, r.inEdges = equalDegrees(r.inDegrees)
	}
	if r.back != nil {
		r.inEdges += r.outEdges
	}
	return r.checkPlaces()
}

// bind makes the combiner's kernel for the partition.
func (r *runner[V, M]) bind() error {
	b := kernel.Binding{
		Sources: r.layout.Slots, Capacity: r.layout.Count, Deterministic: r.job.options.Deterministic,
		Monotone: r.job.methods.monotone, Arena: r.arena,
	}
	r.pulls = r.pulls[:0]
	for i, ways := range r.layout.Blocks {
		r.pulls = append(r.pulls, pull[M]{kernel.Pull{Lists: &ways.Pull.ByReceiver.Lists}, r.columnOf(i)})
		b.Lists = append(b.Lists, &ways.Pull.ByReceiver.Lists, &ways.Push.BySender.Lists)
	}
	for _, c := range r.columns {
		if r.job.methods.list != nil {
			c.gather = newListKernel[M](b)
			c.kernel = c.gather
		} else {
			k, err := r.job.methods.combiner.Kernel(b)
			if err != nil {
				return err
			}
			c.kernel = k
		}
		if claimer, ok := c.kernel.(kernel.Claimer[M]); ok && !b.Deterministic {
			c.claimer = claimer
		}
	}
	r.traits = r.kernel.Traits()
	if b.Monotone && !r.traits.Monotone {
		return fmt.Errorf("a monotone program wants a combiner that keeps the better message, such as Min or MinPlus: not %v", r.job.methods.combiner)
	}
	return nil
}

func (r *runner[V, M]) newThread() *thread[V, M] {
	j, p := r.job, r.part
	t := &thread[V, M]{outbox: kernel.NewOutbox[M](p.Of, j.options.Deterministic && r.traits.Ordered)}
	t.outbox.Store = r.store
	w := pregel.Worker{Partition: p.Index, Partitions: p.Of}
	s := kernel.State{
		Log: j.options.Log, Seed: j.options.Seed, Properties: r.properties, Cells: j.Aggregates().Cells(), Direction: uint8(j.direction),
		Undirected: !j.graph.Directed,
	}
	var combine func(a, b M) M
	if j.methods.combiner != nil && !r.traits.Each {
		combine = j.methods.combiner.Combine
	}
	t.Bind(w, r.label, s, t.outbox, combine)
	t.list = t.listOf
	t.Block.In = &t.in
	t.Block.Stride = pregel.VertexID(p.Of)
	if r.changing.on {
		t.requests = new(kernel.Requests[V])
		t.Changing(t.requests)
	}
	r.equip(t)
	return t
}

// equip gives a thread what depends on the partition's lists.
func (r *runner[V, M]) equip(t *thread[V, M]) {
	s := t.State()
	s.IDs = r.changing.ids
	s.Edges, s.Out, s.In, s.NoEdges = nil, nil, nil, nil
	if r.part.Grid.Flat() {
		r.edgeLists(s)
	} else {
		s.NoEdges = noEdges(r.part.Grid)
	}
	t.bins = nil
	if lifter, ok := r.kernel.(kernel.Lifter[M]); ok {
		t.outbox.Lift = lifter.Lift
	}
	r.allow(t)
}
