package engine_test

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

// toy is Pregel by its rules, in the simplest form: one vertex at a time, every message stored
// separately until its receiver runs. The engine is compared with it.
type toy[V, M any] struct {
	n         int
	edges     []arc // of the graph, by internal id; an undirected edge once
	arcs      []arc // by direction, by internal id
	stored    uint64
	program   pregel.Program[V, M]
	inner     any                         // the program, or the list program in it
	cross     func(m M, weight float64) M // changes a message to all neighbours on an edge
	lift      func(m M) M                 // changes a message to one vertex
	apart     bool                        // a second message to all neighbours is one to each
	limit     int
	direction pregel.Direction

	undirected  bool
	cells       []kernel.Cell
	totals      []kernel.Cell
	coordinator *pregel.Coordinator
	label       func(pregel.VertexID) uint64
	instance    engine.Instance
	lane        engine.Lane
	state       *kernel.State // the lane's
	messages    []M           // of the vertex that runs
	one         M             // messages, combined
	// Messages to all neighbours: along the program's direction, and separate ones to
	// in-neighbours.
	all        [2]M
	traits     pregel.Traits
	out, in    []uint32               // whole words
	lists      *kernel.EdgeLists      // of arcs
	ways       [2][]*kernel.EdgeLists // out-edges and in-edges
	values     []V
	inbox      [][]M
	active     []bool
	done       []bool
	outcome    bsp.Outcome
	changes    toyChanges[V]
	seed       uint64
	unweighted bool              // added edges have the weight 1
	spread     bool              // a vertex does not have all its edges
	shared     []kernel.Column   // property columns that it begins with
	carried    []kernel.Property // the properties of shared
}

// arc is an edge that messages cross.
type arc struct {
	from, to uint64
	weight   float64
}

// newToy makes a toy of a shape whose vertex i has the internal id ids[i].
func newToy[V, M any](s shape, ids []uint32, p pregel.Program[V, M]) *toy[V, M] {
	t := &toy[V, M]{n: s.n, state: new(kernel.State), program: p, inner: pregel.Erase(p).Program, cross: func(m M, _ float64) M { return m }, lift: func(m M) M { return m }}
	if p, ok := t.inner.(engine.Stating); ok {
		t.traits = p.Traits()
	}
	if s.directed {
		t.direction = t.traits.Direction
	}
	for i, e := range s.tuples {
		w := 1.0
		if s.weights != nil {
			w = s.weights[i]
		}
		t.edges = append(t.edges, arc{uint64(ids[e[0]]), uint64(ids[e[1]]), w})
	}
	t.undirected = !s.directed
	t.link()
	t.values, t.inbox = make([]V, s.n), make([][]M, s.n)
	t.active, t.done = make([]bool, s.n), make([]bool, s.n)
	for _, a := range t.aggregators() {
		for len(t.cells) <= a.Number {
			t.cells, t.totals = append(t.cells, nil), append(t.totals, nil)
		}
		t.cells[a.Number], t.totals[a.Number] = a.New(false), a.New(false)
	}
	t.label = func(id pregel.VertexID) uint64 {
		if i := slices.Index(ids, uint32(id)); i >= 0 {
			return uint64(i)
		}
		// of an added vertex: its id
		return uint64(id)
	}
	t.coordinator = kernel.Pregel.Coordinator(uint64(s.n), t.stored, t.totals,
		nil).(*pregel.Coordinator)
	return t
}

// link makes lists of the edges.
func (t *toy[V, M]) link() {
	var ways [2][]arc
	t.stored, t.arcs = 0, nil
	for _, e := range t.edges {
		back := arc{e.to, e.from, e.weight}
		t.stored++
		ways[0], ways[1] = append(ways[0], e), append(ways[1], back)
		if t.undirected && e.from != e.to {
			ways[0], ways[1] = append(ways[0], back), append(ways[1], e)
			t.stored++
		}
	}
	if t.direction != pregel.In {
		t.arcs = append(t.arcs, ways[0]...)
	}
	if t.direction == pregel.In || t.direction == pregel.Both {
		t.arcs = append(t.arcs, ways[1]...)
	}
	t.lists = t.index(t.arcs)
	words := (t.n + 63) / 64
	t.out, t.in = make([]uint32, 64*words), make([]uint32, 64*words)
	for _, a := range t.arcs {
		t.out[a.from]++
		t.in[a.to]++
	}
	t.ways = [2][]*kernel.EdgeLists{{t.index(ways[0])}, {t.index(ways[1])}}
}

// edgeLists returns the lists of the program's direction.
func (t *toy[V, M]) edgeLists() []*kernel.EdgeLists {
	if t.direction == pregel.Both {
		return []*kernel.EdgeLists{t.ways[0][0], t.ways[1][0]}
	}
	return []*kernel.EdgeLists{t.lists}
}

// index makes lists of arcs, in the form for Vertex.Edges.
func (t *toy[V, M]) index(arcs []arc) *kernel.EdgeLists {
	slices.SortStableFunc(arcs, func(a, b arc) int { return cmp.Compare(a.from, b.from) })
	words := (t.n + 63) / 64
	l := kernel.Lists{Bits: make([]uint64, words), Rank: make([]uint32,
		words+1), Starts: []uint32{0}}
	rest := arcs
	for v := range t.n {
		l.Bits[v/64] |= 1 << (v % 64)
		for ; len(rest) > 0 && rest[0].from == uint64(v); rest = rest[1:] {
			l.Adj = append(l.Adj, uint32(rest[0].to))
			l.Weights64 = append(l.Weights64, rest[0].weight)
		}
		l.Starts = append(l.Starts, uint32(len(l.Adj)))
	}
	for w := range l.Rank {
		l.Rank[w] = uint32(64 * w)
	}
	return &kernel.EdgeLists{Lists: l, Slots: kernel.Slots{Stride: 1, Ghost: uint32(64 * words)}}
}

// The instance and the lane of a toy run this program: Compute and Init call the toy's program for
// one vertex, and the combiner stores the messages that the vertex sends to all neighbours.
type (
	toyProgram[V, M any] struct{ *toy[V, M] }
	toyCombiner[M any]   struct {
		pregel.Combiner[M] // of the program; nil for a list program
		each               bool
		all                *[2]M
		way                int
	}
	toyKernel[M any] struct {
		kernel.Kernel[M]
		each bool
		all  *M
	}
)

func (p toyProgram[V, M]) Combiner() pregel.Combiner[M] {
	c := p.combiner()
	return &toyCombiner[M]{Combiner: c, each: c == nil || p.apart, all: &p.all}
}

func (p toyProgram[V, M]) Compute(v *pregel.Vertex[V, M], _ M) {
	switch program := p.inner.(type) {
	case pregel.ListProgram[V, M]:
		program.Compute(v, p.messages)
	case interface{ Init(v *pregel.Vertex[V, M]) }:
		if v.Superstep() == 0 {
			program.Init(v)
			return
		}
		p.program.Compute(v, p.one)
	default:
		p.program.Compute(v, p.one)
	}
}

func (c *toyCombiner[M]) String() string { return "toy" }

func (c *toyCombiner[M]) Identity() (zero M) { return zero }

func (c *toyCombiner[M]) Kernel(kernel.Binding) (kernel.Kernel[M], error) {
	k := &toyKernel[M]{each: c.each, all: &c.all[c.way%2]}
	c.way++
	return k, nil
}

func (k *toyKernel[M]) Traits() kernel.Traits { return kernel.Traits{Each: k.each} }

func (k *toyKernel[M]) Window(_ int, scratch *[64]M) *[64]M { return scratch }

func (k *toyKernel[M]) Store(_ int, sent uint64, out *[64]M) int {
	*k.all = out[bits.TrailingZeros64(sent)]
	return -1
}

func (t *toy[V, M]) combiner() pregel.Combiner[M] {
	if c, ok := t.inner.(interface{ Combiner() pregel.Combiner[M] }); ok {
		return c.Combiner()
	}
	return nil
}

// place sets the vertices and edges of the instance.
func (t *toy[V, M]) place() {
	p := kernel.Placement{Ways: 2, Size: len(t.out), OutDegrees: t.out, InDegrees: t.in}
	p.Capacity, p.Sources = p.Size, &kernel.Slots{Stride: 1, Ghost: uint32(p.Size)}
	if err := t.instance.Place(&p); err != nil {
		panic(err)
	}
	t.instance.Inbox()
	t.instance.SetPulls(nil, true, nil)
}

// run runs the program to its end.
func (t *toy[V, M]) run() {
	t.instance = pregel.Erase[V, M](toyProgram[V, M]{t}).Inspect().Instance()
	t.place()
	s := kernel.State{
		Deal:        kernel.NewDeal(1),
		NumVertices: uint64(t.n - len(t.changes.absent)), NumEdges: t.stored,
		Properties: slices.Clone(t.shared), Edges: t.edgeLists(), Out: t.ways[0], In: t.ways[1],
		Direction: uint8(t.direction), Undirected: t.undirected,
		Cells: t.cells, Totals: t.totals, IDs: uint64(t.n), Seed: t.seed,
	}
	if t.spread {
		s.NoEdges = errSpread
	}
	t.lane = t.instance.NewLane(t.label, s, t.beginChanges())
	t.state = t.lane.State()
	t.growColumns(len(t.shared))
	start, _ := t.inner.(interface{ Start() (V, []pregel.VertexID) })
	for v := range t.n {
		t.active[v] = start == nil && !t.changes.absent[uint64(v)]
		if start != nil {
			t.values[v], _ = start.Start()
		}
	}
	for s := 0; ; s++ {
		t.state.Superstep = s
		t.coordinate(s)
		if kernel.Pregel.End(t.coordinator).Converged {
			t.outcome.Ended = trace.Converged
			t.change(t.inbox)
			return
		}
		t.state.Phase = t.coordinator.Phase
		inbox := t.inbox
		inbox = t.change(inbox)
		t.inbox = make([][]M, t.n)
		ran := 0
		for v := range t.n {
			if t.runs(v, s, inbox[v]) {
				t.compute(v, inbox[v])
				ran++
			}
		}
		if ran == 0 {
			t.outcome.Ended = trace.Halted
			if t.traits.Converges {
				t.outcome.Ended = trace.Converged
			}
			return
		}
		t.outcome.Supersteps = s + 1
		t.aggregate()
		if t.limit > 0 && s+1 == t.limit && t.awaits() {
			t.outcome.Ended = trace.Limit
			t.change(t.inbox)
			return
		}
	}
}

// awaits reports whether there is anything left to do.
func (t *toy[V, M]) awaits() bool {
	for v := range t.n {
		if t.active[v] || !t.done[v] && len(t.inbox[v]) > 0 {
			return true
		}
	}
	return t.changes.waiting()
}

func (t *toy[V, M]) runs(v, superstep int, messages []M) bool {
	if p, ok := t.inner.(interface{ Start() (V, []pregel.VertexID) }); ok && superstep == 0 {
		_, sources := p.Start()
		return slices.Contains(sources, pregel.VertexID(v))
	}
	return t.exists(v, messages) && !t.done[v] && (t.active[v] || len(messages) > 0)
}

func (t *toy[V, M]) coordinate(superstep int) {
	if p, ok := t.inner.(engine.Coordinating); ok {
		t.coordinator.Superstep = superstep
		p.Coordinate(t.coordinator)
	}
}

func (t *toy[V, M]) aggregators() (all []kernel.Aggregate) {
	for _, a := range t.traits.Aggregators {
		all = append(all, kernel.Pregel.Aggregate(a))
	}
	return all
}

func (t *toy[V, M]) aggregate() {
	for _, a := range t.aggregators() {
		cell, total := t.cells[a.Number], t.totals[a.Number]
		if !a.Persistent {
			total.Reset()
		}
		total.Merge(cell)
		cell.Reset()
	}
}

// compute runs one vertex, in a separate block.
func (t *toy[V, M]) compute(v int, messages []M) {
	values := kernel.Elements[V](t.instance.Values())
	_, has := t.instance.Inbox()
	w, bit, active := v/64, uint64(1)<<(v%64), uint64(0)
	if values[v] = t.values[v]; len(messages) > 0 {
		has.Words[w] = bit
	}
	if t.active[v] || t.state.Superstep == 0 {
		active = bit
	}
	if t.messages = messages; t.combiner() != nil {
		t.one = t.combined(messages)
	}
	_, _, sent, halted, finished, _ := t.lane.Pull(w, bit, active)
	has.Words[w], t.values[v] = 0, values[v]
	if sent != 0 {
		t.deliverAlong(t.lists, v, t.all[0])
	}
	if t.lane.SentBack() != 0 {
		t.deliverAlong(t.ways[1][0], v, t.all[1])
	}
	t.took()
	t.lane.Settle()
	single := kernel.Elements[M](t.lane.Sends().Messages(0))
	for i, to := range t.lane.Sends().Receivers(0) {
		t.deliver(to, t.lift(single[i]))
	}
	t.lane.ResetSends()
	t.active[v] = halted|finished == 0
	t.done[v] = t.done[v] || finished != 0
}

func (t *toy[V, M]) combined(messages []M) M {
	c := t.combiner()
	if len(messages) == 0 {
		return c.Identity()
	}
	one := messages[0]
	for _, m := range messages[1:] {
		one = c.Combine(one, m)
	}
	return one
}

// deliverAlong delivers a message to all neighbours of v.
func (t *toy[V, M]) deliverAlong(l *kernel.EdgeLists, v int, m M) {
	for k := l.Starts[v]; k < l.Starts[v+1]; k++ {
		t.deliver(l.Adj[k], t.cross(m, l.Weights64[k]))
	}
}

func (t *toy[V, M]) deliver(to uint32, m M) {
	t.inbox[to] = append(t.inbox[to], m)
	t.outcome.Messages++
}
