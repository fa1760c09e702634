package engine

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// place allocates everything whose size depends on the partition's lists, in the runner's arena.
// Values, states and frontiers are zero.
func (r *runner) place(ctx context.Context, p *graph.Partition) error {
	r.part, r.layout = p, p.Layout(r.job.direction)
	r.tiles.forgetTiles() // they are in the arena of the previous partition
	direction, reverse := r.job.direction, pregel.In
	switch direction {
	case pregel.Either:
		direction = pregel.Out
	case pregel.In:
		reverse = pregel.Out
	case pregel.Both:
		reverse = pregel.Both
	}
	r.out, r.in = p.Degrees(direction), p.Degrees(reverse)
	if r.back != nil {
		r.back.out, r.back.in = r.in, r.out
	}
	// The number of edges that can be numbered, in both directions together if messages go both
	// ways.
	places := cmp.Or(r.job.options.Sizes.Places, math.MaxUint32)
	if most := r.out.Most; direction == pregel.Both && most > uint64(places) {
		return fmt.Errorf("a vertex has %d edges in both directions: at most %d", most, places)
	}
	for _, c := range r.job.methods.properties {
		if n := r.elements(c); c.OfEdges && n > places {
			return fmt.Errorf("%d edges with properties in one partition: at most %d; use more partitions (--partitions)", n, places)
		}
	}
	size := (p.Owned + 63) &^ 63
	if err := r.bind(size); err != nil {
		return err
	}
	if err := r.light.bindLightest(ctx, r.pull.pulls); err != nil {
		return err
	}
	slots := bitmap.Words(r.layout.Count)
	r.active = mem.Make[uint64](r.arena, size/64)
	r.awake = bitmap.NewFrontier(r.active)
	r.awake.All = true
	r.finished = mem.Make[uint64](r.arena, slots)
	r.inbox = delivery.Inbox{}
	r.pull.announced = nil
	r.ring = ringPull{puller: r.ring.puller, searching: r.ring.searching}
	r.inEdges = 0
	for _, c := range r.columns {
		r.inEdges += c.in.Edges
		c.read = bitmap.NewFrontier(mem.Make[uint64](r.arena, slots))
		c.write = bitmap.NewFrontier(mem.Make[uint64](r.arena, slots))
	}
	return nil
}

// bind makes the data of the program's types, for size vertices.
func (r *runner) bind(size int) error {
	b := kernel.Binding{
		Sources: r.layout.Slots, Capacity: r.layout.Count,
		Deterministic: r.job.options.Deterministic,
		Monotone:      r.job.methods.traits.Monotone, Arena: r.arena,
	}
	r.pull.pulls = r.pull.pulls[:0]
	for i, ways := range r.layout.Blocks {
		r.pull.pulls = append(r.pull.pulls,
			pull{kernel.Pull{Lists: &ways.Pull.ByReceiver.Lists}, r.columnOf(i)})
		b.Lists = append(b.Lists, &ways.Pull.ByReceiver.Lists, &ways.Push.BySender.Lists)
	}
	err := r.instance.Place(&kernel.Placement{
		Binding: b, Ways: len(r.columns), Size: size,
		OutDegrees: r.out.Of, InDegrees: r.in.Of, Store: r.store, Hub: &r.hub,
	})
	if err != nil {
		return err
	}
	for i, c := range r.columns {
		c.kernel = r.instance.Broadcast(i)
	}
	r.traits = r.kernel.Traits()
	if b.Monotone && !r.traits.Monotone {
		return fmt.Errorf("a monotone program needs a combiner that keeps the better message, such as Min or MinPlus: not %s",
			r.job.methods.Combiner)
	}
	return nil
}

func (r *runner) newThread() *thread {
	j, p := r.job, r.part
	t := new(thread)
	s := kernel.State{
		Deal: p.Deal, Log: j.options.Log, Seed: j.options.Seed,
		Properties: r.properties, Cells: j.Aggregates().Cells(), Direction: uint8(j.direction),
		Undirected: !j.graph.Directed,
	}
	if r.changing.on {
		t.requests = new(kernel.Requests)
	}
	t.Lane = r.instance.NewLane(r.label, s, t.requests)
	t.batch = t.Batch()
	r.equip(t)
	return t
}

// equip sets the parts of a thread that depend on the partition lists.
func (r *runner) equip(t *thread) {
	s := t.State()
	s.IDs = r.changing.ids
	s.Edges, s.Out, s.In, s.NoEdges = nil, nil, nil, nil
	s.NoEdges = r.edgeLists(s)
	t.Equip()
	r.setChangeRules(t)
}
