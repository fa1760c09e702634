package engine_test

import (
	"cmp"
	"slices"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// toy is Pregel as the rules have it and nothing else: one vertex at a time, every message kept by itself until its
// receiver runs. It is what the engine is compared with.
type toy[V, M any] struct {
	n         int
	edges     []arc // of the graph, by handle: an undirected edge once
	arcs      []arc // by direction, by handle
	stored    uint64
	program   pregel.Program[V, M]
	inner     any                         // the program, or the list program in it
	cross     func(m M, weight float64) M // what a message to all neighbours becomes on an edge
	lift      func(m M) M                 // what a message to one vertex becomes
	apart     bool                        // a second message to all neighbours is one to each
	limit     int
	direction pregel.Direction

	undirected  bool
	cells       []kernel.Cell
	totals      []kernel.Cell
	coordinator *pregel.Coordinator
	label       func(pregel.VertexID) uint64
	outbox      *kernel.Outbox[M]
	engine      pregel.Engine[V, M]
	out, in     []uint32
	lists       *kernel.EdgeLists      // of arcs
	ways        [2][]*kernel.EdgeLists // out-edges and in-edges
	values      []V
	inbox       [][]M
	active      []bool
	done        []bool
	outcome     bsp.Outcome
	changes     toyChanges[V]
	seed        uint64
	unweighted  bool              // added edges have the weight 1
	spread      bool              // no vertex has all its edges
	shared      []any             // property columns that it begins with
	carried     []kernel.Property // which these are
}

// arc is an edge that messages cross.
type arc struct {
	from, to uint64
	weight   float64
}

// newToy makes a toy of a shape whose vertex i has the handle ids[i].
func newToy[V, M any](s shape, ids []uint32, p pregel.Program[V, M]) *toy[V, M] {
	t := &toy[V, M]{n: s.n, program: p, inner: engine.Inner(p), cross: func(m M, _ float64) M { return m }, lift: func(m M) M { return m }}
	if d, ok := t.inner.(engine.Directed); ok && s.directed {
		t.direction = d.Direction()
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
		return uint64(id) // of a vertex that was added: the largest id is the number of vertices less one
	}
	t.coordinator = t.engine.Coordinator(uint64(s.n), t.stored, t.totals, nil)
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
	t.out, t.in = make([]uint32, t.n), make([]uint32, t.n)
	for _, a := range t.arcs {
		t.out[a.from]++
		t.in[a.to]++
	}
	t.ways = [2][]*kernel.EdgeLists{{t.index(ways[0])}, {t.index(ways[1])}}
}

// edgeLists are those of the program's direction.
func (t *toy[V, M]) edgeLists() []*kernel.EdgeLists {
	if t.direction == pregel.Both {
		return []*kernel.EdgeLists{t.ways[0][0], t.ways[1][0]}
	}
	return []*kernel.EdgeLists{t.lists}
}

// index makes lists of arcs, such as Vertex.Edges runs over.
func (t *toy[V, M]) index(arcs []arc) *kernel.EdgeLists {
	slices.SortStableFunc(arcs, func(a, b arc) int { return cmp.Compare(a.from, b.from) })
	words := (t.n + 63) / 64
	l := kernel.Lists{Bits: make([]uint64, words), Rank: make([]uint32, words+1), Starts: []uint32{0}}
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

func (t *toy[V, M]) combiner() pregel.Combiner[M] {
	if c, ok := t.inner.(engine.Combining[M]); ok {
		return c.Combiner()
	}
	return nil
}

// run runs the program to its end.
func (t *toy[V, M]) run() {
	var combine func(a, b M) M
	if c := t.combiner(); c != nil && !t.apart {
		combine = c.Combine
	}
	t.outbox = kernel.NewOutbox[M](1, false)
	t.engine.Bind(pregel.Worker{Partitions: 1, NumVertices: uint64(t.n - len(t.changes.absent)), NumEdges: t.stored}, t.label,
		kernel.State{
			Edges: t.edgeLists(), Out: t.ways[0], In: t.ways[1], Direction: uint8(t.direction), Undirected: t.undirected,
			Cells: t.cells, Totals: t.totals, IDs: uint64(t.n), Seed: t.seed,
		}, t.outbox, combine)
	if t.spread {
		t.engine.State().NoEdges = errSpread
	}
	t.beginChanges()
	start, _ := t.inner.(engine.Starting[V])
	for v := range t.n {
		t.active[v] = start == nil && !t.changes.absent[uint64(v)]
		if start != nil {
			t.values[v] = start.Initial()
		}
	}
	for s := 0; ; s++ {
		t.engine.Worker.Superstep = s
		t.coordinate(s)
		if t.coordinator.Halted {
			t.outcome.Converged = true
			return
		}
		t.engine.Worker.Phase = t.coordinator.Phase
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
			t.outcome.Converged = true
			return
		}
		t.outcome.Supersteps = s + 1
		t.aggregate()
		if t.limit > 0 && s+1 == t.limit && t.awaits() {
			return
		}
	}
}

// awaits reports whether anything is left to do.
func (t *toy[V, M]) awaits() bool {
	for v := range t.n {
		if t.active[v] || !t.done[v] && len(t.inbox[v]) > 0 {
			return true
		}
	}
	return t.changes.waiting()
}

func (t *toy[V, M]) runs(v, superstep int, messages []M) bool {
	sources, ok := t.inner.(engine.Sourced)
	if superstep == 0 && ok {
		return slices.Contains(sources.Sources(), pregel.VertexID(v))
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
	if p, ok := t.inner.(engine.Aggregating); ok {
		for _, a := range p.Aggregators() {
			all = append(all, t.engine.Aggregate(a))
		}
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

// compute runs one vertex, in a block of its own.
func (t *toy[V, M]) compute(v int, messages []M) {
	values, in, out := [64]V{t.values[v]}, [64]M{}, [64]M{}
	b := &t.engine.Block
	b.Run, b.Awake, b.Received, b.Sent, b.Halt, b.Finish = 1, 0, 0, 0, 0, 0
	b.Values, b.In, b.Out, b.Stride = &values, &in, &out, 1
	b.OutDegrees, b.InDegrees = &[64]uint32{t.out[v]}, &[64]uint32{t.in[v]}
	t.engine.Place(uint32(v), pregel.VertexID(v))
	t.engine.PlaceBack(new([64]M))
	t.outbox.Reset()
	if t.active[v] || t.engine.Worker.Superstep == 0 {
		b.Awake = 1
	}
	if len(messages) > 0 {
		b.Received = 1
	}
	c := t.combiner()
	init, hasInit := t.inner.(engine.Initializing[V, M])
	list, isList := t.engine.Unlist(t.program)
	var before M
	switch {
	case isList:
		t.engine.SweepLists(list, func(int) []M { return messages })
	case hasInit && t.engine.Worker.Superstep == 0:
		t.engine.SweepInit(init)
	default:
		for i, m := range messages {
			if in[0] = m; i > 0 {
				in[0] = c.Combine(before, m)
			}
			before = in[0]
		}
		t.engine.Sweep(t.program, c.Identity())
	}
	t.values[v] = values[0]
	if b.Sent != 0 {
		t.deliverAlong(t.lists, v, out[0])
	}
	if sent, back := t.engine.SentBack(); sent != 0 {
		t.deliverAlong(t.ways[1][0], v, back[0])
	}
	t.took()
	for i, to := range t.outbox.To[0] {
		t.deliver(to, t.lift(t.outbox.Msg[0][i]))
	}
	t.active[v] = b.Halt|b.Finish == 0
	t.done[v] = t.done[v] || b.Finish != 0
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
