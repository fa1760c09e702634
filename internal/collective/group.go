package collective

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/superstep-go/superstep/internal/wire"
)

// Group runs collectives over a link. All ranks of the link must call the same collectives under a
// tag, in the same order, with the same Call. Calls under different tags may run at the same time.
// After a failed call its tag must not be used again, because messages of it may still be in
// flight.
type Group struct {
	link   Link
	model  *Model
	forced map[Collective]Algorithm

	mu     sync.Mutex
	chosen map[question]Algorithm
	plans  map[planned]plan // of this rank
}

// planned is the key of a plan.
type planned struct {
	collective     Collective
	algorithm      Algorithm
	root, segments int
}

// NewGroup returns a group over a link. The model must be the same on all ranks, because all ranks
// must choose the same algorithm; nil means Unmeasured. forced has the algorithms of calls with
// Auto; for other collectives the model chooses.
func NewGroup(link Link, model *Model, forced map[Collective]Algorithm) (*Group, error) {
	if model == nil {
		model = Uniform(link.Size(), Unmeasured)
	}
	if err := model.of(link); err != nil {
		return nil, err
	}
	for c, a := range forced {
		if err := Check(c, a); err != nil {
			return nil, err
		}
	}
	g := newGroup(link, model)
	g.forced = maps.Clone(forced)
	return g, nil
}

// of returns an error unless the model is valid and fits a link.
func (m *Model) of(link Link) error {
	if err := m.validate(); err != nil {
		return err
	}
	if m.Ranks != link.Size() {
		return fmt.Errorf("model of %d ranks for a link of %d", m.Ranks, link.Size())
	}
	return nil
}

// Adopt replaces the group's model. The model must be the same on all ranks, and no call may be
// running.
func (g *Group) Adopt(model *Model) error {
	if err := model.of(g.link); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.model = model
	clear(g.chosen)
	clear(g.plans)
	return nil
}

// Alone returns the group of a single rank. Its collectives return the rank's own data.
func Alone() *Group { return newGroup(alone{}, Uniform(1, Unmeasured)) }

func newGroup(link Link, model *Model) *Group {
	return &Group{
		link: link, model: model, chosen: map[question]Algorithm{}, plans: map[planned]plan{},
	}
}

// Link returns the group's link, and Model its model. Neither may be changed.
func (g *Group) Link() Link    { return g.link }
func (g *Group) Model() *Model { return g.model }

// Call has the parameters of one collective.
type Call struct {
	Tag       uint32
	Algorithm Algorithm
	// Bytes is the size by which the algorithm and the number of segments are chosen, as in
	// Model.Predict. It must be the same on all ranks, and need not be the actual size. If it is 0
	// and ranks may have different sizes, the ranks first agree on the largest, which takes as long
	// as a barrier.
	Bytes int
}

// Barrier returns when all ranks have called it.
func (g *Group) Barrier(ctx context.Context, call Call) error {
	_, err := g.do(ctx, Barrier, call, 0, 0, func(Algorithm, *machine) {})
	return err
}

// Broadcast returns the root's data on all ranks. The root gets its own slice.
func (g *Group) Broadcast(ctx context.Context, call Call, root int, data []byte) ([]byte, error) {
	own := g.link.Rank() == root
	if !own {
		data = nil
	}
	m, err := g.do(ctx, Broadcast, call, root, len(data), func(_ Algorithm, m *machine) {
		if own {
			m.slots = cut(data, len(m.slots), 1)
		}
	})
	switch {
	case err != nil:
		return nil, err
	case own:
		return data, nil
	}
	if len(m.slots) == 1 {
		return m.slots[0], nil
	}
	return slices.Concat(m.slots...), nil
}

// Gather returns the data of all ranks, by rank, on the root, and nil on the other ranks. It
// contains the root's own slice. The other slices may share memory, but none of their bytes.
func (g *Group) Gather(ctx context.Context, call Call, root int, data []byte) ([][]byte, error) {
	m, err := g.do(ctx, GatherTo, call, root, len(data), func(_ Algorithm, m *machine) {
		m.slots[g.link.Rank()] = data
	})
	if err != nil || g.link.Rank() != root {
		return nil, err
	}
	return m.slots, nil
}

// Allgather returns the data of all ranks, by rank. It contains the rank's own slice. The other
// slices may share memory.
func (g *Group) Allgather(ctx context.Context, call Call, data []byte) ([][]byte, error) {
	m, err := g.do(ctx, Allgather, call, 0, len(data), func(_ Algorithm, m *machine) {
		m.slots[g.link.Rank()] = data
	})
	if err != nil {
		return nil, err
	}
	return m.slots, nil
}

// Reduce combines the data of all ranks in the root's data. All ranks must have the same number of
// elements. The data of other ranks is overwritten.
func (g *Group) Reduce(ctx context.Context, call Call, root int, data []byte, op Op) error {
	return g.combine(ctx, Reduce, call, root, data, op)
}

// Allreduce combines the data of all ranks in data. All ranks must have the same number of
// elements.
func (g *Group) Allreduce(ctx context.Context, call Call, data []byte, op Op) error {
	return g.combine(ctx, Allreduce, call, 0, data, op)
}

func (g *Group) combine(
	ctx context.Context, c Collective, call Call, root int, data []byte, op Op,
) error {
	if op.Size <= 0 || op.Combine == nil || len(data)%op.Size != 0 {
		return wrap(c,
			fmt.Errorf("%d bytes are not a multiple of an element's %d", len(data), op.Size))
	}
	if call.Bytes == 0 {
		call.Bytes = len(data)
	}
	gathers := false
	m, err := g.do(ctx, c, call, root, 0, func(a Algorithm, m *machine) {
		if gathers = a == Dissemination; gathers {
			m.slots[g.link.Rank()] = slices.Clone(data)
		} else {
			m.slots, m.op, m.fixed = cut(data, len(m.slots), op.Size), op, true
		}
	})
	if err == nil && gathers {
		err = wrap(c, combineAll(m.slots, data, op))
	}
	return err
}

// combineAll combines the data of all ranks in data, in rank order.
func combineAll(all [][]byte, data []byte, op Op) error {
	for r, s := range all {
		if len(s) != len(data) {
			return fmt.Errorf("%w: rank %d has %d bytes, this one %d", ErrMessage, r,
				len(s), len(data))
		}
		if r == 0 {
			copy(data, s)
		} else {
			op.Combine(data, s)
		}
	}
	return nil
}

// Alltoall sends data[i] to rank i, and returns the blocks from all ranks. Blocks may have
// different sizes. The result contains the rank's own block. The other blocks may share memory.
func (g *Group) Alltoall(ctx context.Context, call Call, data [][]byte) ([][]byte, error) {
	s := g.shape(0)
	if len(data) != s.ranks {
		return nil, wrap(Alltoall, fmt.Errorf("%d blocks for %d ranks", len(data), s.ranks))
	}
	total := 0
	for _, block := range data {
		total += len(block)
	}
	t := s.team()
	m, err := g.do(ctx, Alltoall, call, 0, total/s.ranks, func(_ Algorithm, m *machine) {
		for i := 1; i < s.ranks; i++ {
			m.slots[i] = data[t.at(i)]
		}
	})
	if err != nil {
		return nil, err
	}
	result := make([][]byte, s.ranks)
	result[s.rank] = data[s.rank]
	for i := 1; i < s.ranks; i++ {
		result[t.at(-i)] = m.slots[i]
	}
	return result, nil
}

// do plans a collective, fills the slots, and runs the plan. n is the size of this rank's data.
func (g *Group) do(
	ctx context.Context, c Collective, call Call, root, n int, fill func(Algorithm, *machine),
) (*machine, error) {
	a, p, err := g.plan(ctx, c, call, root, n)
	if err != nil {
		return nil, wrap(c, err)
	}
	m := &machine{link: g.link, tag: call.Tag, slots: make([][]byte, p.slots)}
	fill(a, m)
	for i, r := range p.rounds {
		if err := m.round(ctx, r); err != nil {
			return m, wrap(c, fmt.Errorf("rank %d, round %d of %d: %w", m.link.Rank(), i+1,
				len(p.rounds), err))
		}
	}
	return m, nil
}

// commonSize returns a size that is the same on all ranks. This rank has n bytes. It communicates
// only if the call has no size and the choice needs one.
func (g *Group) commonSize(ctx context.Context, c Collective, call Call, root, n int) (int, error) {
	a := g.algorithm(c, call)
	if call.Bytes != 0 || c == Barrier || c == Reduce || c == Allreduce || g.link.Size() == 1 ||
		a != Auto && a != Chain {
		return call.Bytes, nil
	}
	size := []uint64{uint64(n)}
	if c == Broadcast {
		data, err := g.Broadcast(ctx, Call{Tag: call.Tag, Algorithm: Binomial}, root,
			wire.Bytes(size))
		if err != nil {
			return 0, err
		}
		if size, err = Values[uint64](data, 1); err != nil {
			return 0, err
		}
	} else if err := g.Allreduce(ctx, Call{Tag: call.Tag, Algorithm: Doubling},
		wire.Bytes(size), MaxUint64); err != nil {
		return 0, err
	}
	return int(min(size[0], 1<<40)), nil
}

// algorithm returns the algorithm of the call, or the forced one, or Auto.
func (g *Group) algorithm(c Collective, call Call) Algorithm {
	if call.Algorithm != Auto {
		return call.Algorithm
	}
	return g.forced[c]
}

func (g *Group) shape(root int) shape {
	return shape{g.link.Size(), g.link.Rank(), root, 1, g.model.Sites}
}

// plan chooses an algorithm if the call has none, and makes its plan for this rank. n is the size
// of this rank's data.
func (g *Group) plan(
	ctx context.Context, c Collective, call Call, root, n int,
) (Algorithm, plan, error) {
	s := g.shape(root)
	if root < 0 || root >= s.ranks {
		return Auto, plan{}, fmt.Errorf("found root %d, expected one of %d ranks", root, s.ranks)
	}
	n, err := g.commonSize(ctx, c, call, root, n)
	if err != nil {
		return Auto, plan{}, err
	}
	a := g.algorithm(c, call)
	if a == Auto {
		if a, err = g.Choose(c, n, root); err != nil {
			return a, plan{}, err
		}
	}
	s.segments = g.model.segments(c, a, n)
	key := planned{c, a, root, s.segments}
	g.mu.Lock()
	defer g.mu.Unlock()
	p, known := g.plans[key]
	if !known {
		if p, err = planOf(c, a, s); err == nil {
			g.plans[key] = p
		}
	}
	return a, p, err
}

// question is the key of a remembered choice. All sizes between the same powers of two share it.
type question struct {
	collective Collective
	log, root  int
}

// Choose returns the algorithm for a collective with Auto. It remembers its choices.
func (g *Group) Choose(c Collective, bytes, root int) (Algorithm, error) {
	if a := g.forced[c]; a != Auto {
		return a, nil
	}
	q := question{c, log2(bytes), root}
	g.mu.Lock()
	defer g.mu.Unlock()
	if a, ok := g.chosen[q]; ok {
		return a, nil
	}
	if bytes > 0 {
		bytes = 1 << q.log
	}
	a, _, err := g.model.Choose(c, bytes, root)
	if err == nil {
		g.chosen[q] = a
	}
	return a, err
}

// cut cuts data into n slices with nearly equal numbers of elements.
func cut(data []byte, n, size int) [][]byte {
	slots := make([][]byte, n)
	elements := len(data) / size
	for i := range slots {
		from, to := elements*i/n*size, elements*(i+1)/n*size
		slots[i] = data[from:to:to]
	}
	return slots
}

func wrap(c Collective, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", c, err)
}
