package engine_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/record"
)

// changer is a program that changes the graph at random. Its values depend on everything that it
// sees.
type changer struct {
	rounds    int
	direction pregel.Direction
	create    bool // CreateOnMessage
	spread    bool // a vertex does not have all its edges
	once      bool // it sends once to all neighbours
	messages  pregel.Combiner[uint64]
}

type cursor = *pregel.Vertex[uint64, uint64]

func (c changer) Combiner() pregel.Combiner[uint64] { return c.messages }
func (c changer) Traits() pregel.Traits {
	return pregel.Traits{
		Direction: c.direction, Mutates: true, CreateOnMessage: c.create,
		Columns: []pregel.Column{changerAge},
	}
}

var changerAge = pregel.NewVertexColumn[uint64]("age")

var changerHash = maphash.MakeSeed()

func digest(values ...any) (x uint64) {
	for _, v := range values {
		if list, ok := v.([]uint64); ok {
			v = fmt.Sprint(list)
		}
		x = x*31 + maphash.Comparable(changerHash, v)
	}
	return x
}

// look returns a digest of what a vertex sees, independent of the order of its edges.
func (c changer) look(v cursor) uint64 {
	x := digest(v.OutDegree(), v.InDegree(), v.NumVertices(), v.NumEdges(), v.Label())
	if c.spread {
		return x
	}
	n := 0
	for e := range v.Edges() {
		x += digest("edge", e.To, e.Weight)
		n++
	}
	if n != v.OutDegree() {
		x = math.MaxUint64
	}
	for e := range v.OutEdges() {
		x += digest("out", e.To, e.Weight)
	}
	for e := range v.InEdges() {
		x += digest("in", e.To, e.Weight)
	}
	return x
}

func (c changer) Compute(v cursor, m uint64) {
	changerAge.Set(v, changerAge.Of(v)+1)
	x := digest(v.Value(), m, v.HasMessage(), v.Woken(), changerAge.Of(v)) + c.look(v)
	rng := v.Rand()
	if v.Superstep() >= c.rounds {
		v.Set(x)
		v.VoteToHalt()
		return
	}
	id := func() pregel.VertexID { return pregel.VertexID(rng.Uint64N(uint64(v.Change().NextID()))) }
	weight := func() float64 { return float64(rng.IntN(16)) / 16 }
	some := func() pregel.VertexID { // often a neighbour
		if d := v.OutDegree(); d > 0 && !c.spread && rng.IntN(2) == 0 {
			k := rng.IntN(d)
			to := make([]pregel.VertexID, 0, d)
			for e := range v.Edges() {
				to = append(to, e.To)
			}
			slices.Sort(to)
			return to[k]
		}
		return id()
	}
	if rng.IntN(3) > 0 {
		v.SendToAllNeighbors(x % 1000)
	}
	for range rng.IntN(4) {
		switch rng.IntN(12) {
		case 0, 1:
			v.Change().AddEdge(v.ID(), id(), weight())
		case 2, 3:
			v.Change().RemoveEdge(v.ID(), some())
		case 4:
			v.Change().AddEdge(id(), id(), weight())
		case 5, 6:
			v.Change().RemoveEdge(some(), v.ID())
		case 7:
			v.Change().RemoveVertex(some())
		case 8:
			if rng.IntN(3) == 0 {
				v.Change().RemoveVertex(v.ID())
			}
		case 9:
			v.Change().AddVertex(v.Change().NextID()+pregel.VertexID(rng.IntN(9)), x)
		case 10:
			v.Change().AddVertex(id(), x)
		case 11:
			v.Change().AddEdge(v.ID(), v.Change().NextID()+pregel.VertexID(rng.IntN(3)), weight())
		}
	}
	if !c.spread {
		x += c.look(v)
	}
	if rng.IntN(4) == 0 && !c.once {
		v.SendToAllNeighbors(x % 77)
	}
	if rng.IntN(3) == 0 {
		v.Send(id(), x%55)
	}
	if c.direction == pregel.Either && rng.IntN(3) == 0 && !c.once {
		v.SendAlong(pregel.In, x%33)
	}
	if rng.IntN(9) == 0 {
		v.Finish()
	} else if rng.IntN(3) == 0 {
		v.VoteToHalt()
	}
	v.Set(x)
}

// chooser is a changer with a method Resolve.
type chooser struct{ changer }

func (chooser) Resolve(r pregel.Resolution[uint64]) (uint64, bool) {
	x := digest(r.ID, r.Exists, r.Value, r.Remove, r.Add)
	return x, x%3 > 0
}

// lister is a changer that gets every message.
type lister struct{ c changer }

func (l lister) Traits() pregel.Traits { return l.c.Traits() }

func (l lister) Compute(v cursor, messages []uint64) {
	sum := uint64(0)
	for _, m := range messages {
		sum += digest(m)
	}
	l.c.Compute(v, sum)
}

func TestMutationIsAsTheToyDoesIt(t *testing.T) {
	rounds := 10
	if raced || testing.Short() {
		rounds = 5
	}
	for seed := range rounds {
		mutateAsToy(t, uint64(seed))
	}
}

func FuzzMutation(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { mutateAsToy(t, seed) })
}

func mutateAsToy(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 8))
	all := shapes(seed)
	s := all[rng.IntN(len(all))]
	if s.n > 400 {
		s = all[rng.IntN(5)]
	}
	kind := edges.Weights(rng.IntN(3))
	if kind == edges.Unweighted {
		s.weights = nil
	}
	c := changer{
		rounds: 1 + rng.IntN(6), direction: pregel.Direction(rng.IntN(4)),
		messages: combiners.Sum[uint64](),
		create:   rng.IntN(2) == 0,
	}
	ways := settings()
	if c.spread = rng.IntN(3) == 0; c.spread {
		ways = grids()
	}
	rng.Shuffle(len(ways), func(i, j int) { ways[i], ways[j] = ways[j], ways[i] })
	for _, way := range ways[:4] {
		switch rng.IntN(3) {
		case 0:
			compareMutated(t, seed, s, kind, pregel.Program[uint64, uint64](c), way, c.spread)
		case 1:
			compareMutated(t, seed, s, kind, pregel.Program[uint64, uint64](chooser{c}), way,
				c.spread)
		default:
			if c.once = c.spread; !way.o.Deterministic &&
				(!c.spread || way.o.Delivery == delivery.ChoosePush) {
				compareMutated(t, seed, s, kind, pregel.List[uint64, uint64](lister{c}), way,
					c.spread)
			}
		}
	}
}

// compareMutated runs a program in a setting and with the toy, and compares values and graphs.
func compareMutated(t *testing.T, seed uint64, s shape, kind edges.Weights, p pregel.Program[uint64,
	uint64], way setting, spread bool,
) {
	t.Helper()
	g := s.loadAs(t, way, kind)
	defer g.Close()
	toy := newToy(s, g.IDs, p)
	toy.seed = seed
	toy.unweighted = kind == edges.Unweighted
	toy.spread = spread
	if seed%3 == 0 {
		toy.limit = 1 + int(seed%5)
	}
	toy.run()
	way.o.Seed, way.o.MaxSupersteps = seed, toy.limit
	told := new(changes)
	if seed%2 == 0 {
		way.o.Trace = told
	}
	way.o.Team = parallel.NewTeam(way.threads, false)
	defer way.o.Team.Close()
	j, err := engine.NewJob(t.Context(), g, pregel.Erase(p), way.o)
	check(t, err)
	defer j.Close()
	cutChunks(t, g, pregel.Erase(p)) // several threads change the graph
	where := fmt.Sprintf("seed %d, %T, %s, %v, %v", seed, pregel.Erase(p).Program, s.name, kind,
		way)
	for run := range 2 {
		*told = changes{}
		o, err := j.Run(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		if o.Supersteps != toy.outcome.Supersteps || o.Messages != toy.outcome.Messages ||
			o.Ended != toy.outcome.Ended {
			t.Fatalf("%s, run %d: %+v, want %+v", where, run, o, toy.outcome)
		}
		wantValues(t, fmt.Sprintf("%s, run %d", where, run), j, toy)
		left := record.GraphSize{Vertices: uint64(toy.n - len(toy.changes.absent)), Arcs: toy.stored}
		if *o.Left != left || o.IDs != uint64(toy.n) {
			t.Fatalf("%s, run %d: the outcome tells of %+v with ids up to %d, want %+v, %d", where,
				run, *o.Left, o.IDs, left, toy.n)
		}
		if way.o.Trace != nil && (told.requests != toy.changes.asked || o.Ended.Complete() &&
			told.graph != nil && *told.graph != left) {
			t.Fatalf("%s, run %d: the records tell of %d requests and at last %+v, want %d, %+v",
				where, run, told.requests, told.graph, toy.changes.asked, left)
		}
	}
	changed := j.TakeGraph()
	if changed == nil {
		return
	}
	defer changed.Close()
	// it begins with the loaded graph
	if o, err := j.Run(t.Context()); err != nil || o.Messages != toy.outcome.Messages {
		t.Fatalf("%s, after the graph was taken: %+v, %v", where, o, err)
	}
	wantGraph(t, where, changed, toy, kind)
}

// wantValues checks that a job has the same vertices and values as a toy.
func wantValues(t *testing.T, where string, j *engine.Job, toy *toy[uint64, uint64]) {
	t.Helper()
	if n := j.IDs(); n != uint64(toy.n) {
		t.Fatalf("%s: ids up to %d, want %d", where, n, toy.n)
	}
	for v := range toy.n {
		id := pregel.VertexID(v)
		if j.Exists(id) == toy.changes.absent[uint64(v)] {
			t.Fatalf("%s: vertex %d exists: %t", where, v, j.Exists(id))
		}
		if got := j.Any(id); j.Exists(id) && got != toy.values[v] {
			t.Fatalf("%s: vertex %d is %x, want %x", where, v, got, toy.values[v])
		}
	}
}

// wantGraph checks that a graph equals that of a toy.
func wantGraph(t *testing.T, where string, changed *graph.Graph, toy *toy[uint64,
	uint64], kind edges.Weights,
) {
	t.Helper()
	if changed.N != toy.n || changed.Arcs != toy.stored ||
		changed.Vertices() != toy.n-len(toy.changes.absent) {
		t.Fatalf("%s: a graph of %d ids, %d vertices, %d arcs, want %d, without %d, %d", where,
			changed.N, changed.Vertices(), changed.Arcs,
			toy.n, len(toy.changes.absent), toy.stored)
	}
	have, want := map[arc]int{}, map[arc]int{}
	for _, p := range changed.Parts {
		l := p.Layout(pregel.Out)
		lists := l.Blocks[0].Push.BySender
		bitmap.Each(lists.Bits, func(slot uint32) {
			lo, hi := lists.Row(slot)
			for k := lo; k < hi; k++ {
				have[arc{l.Slots.ID(slot), l.Slots.ID(lists.Adj[k]), weightOf(&lists.Lists, k)}]++
			}
		})
	}
	toy.direction = pregel.Out
	toy.link()
	for _, a := range toy.arcs {
		if kind == edges.Unweighted {
			a.weight = 1
		}
		want[a]++
	}
	if !maps.Equal(have, want) {
		t.Fatalf("%s: the graph of the result has the arcs %v, want %v", where, have, want)
	}
}

// changes has the changes in records: the number of requests, and the size of the graph after the
// last change.
type changes struct {
	requests int
	graph    *record.GraphSize
}

func (c *changes) Record(e trace.Event) error {
	s, ok := e.(*record.Superstep)
	if !ok {
		return nil
	}
	for i := range s.Partitions {
		c.requests += s.Partitions[i].Requests
	}
	c.graph = cmp.Or(s.Graph, c.graph)
	return nil
}

func weightOf(l *kernel.Lists, k uint32) float64 {
	switch {
	case l.Weights64 != nil:
		return l.Weights64[k]
	case l.Weights32 != nil:
		return float64(l.Weights32[k])
	}
	return 1
}

// razer removes all edges in superstep 0. end ends the run.
type razer struct {
	changer
	end func(c *pregel.Coordinator)
}

func (razer) Traits() pregel.Traits { return pregel.Traits{Mutates: true} }

func (r razer) Coordinate(c *pregel.Coordinator) {
	if r.end != nil && c.Superstep == 1 {
		r.end(c)
	}
}

func (r razer) Compute(v cursor, _ uint64) {
	for e := range v.Edges() {
		v.Change().RemoveEdge(v.ID(), e.To)
	}
	v.Set(uint64(v.OutDegree()))
	v.Change().RemoveVertex(2)
	v.Change().AddVertex(9, 7)
}

// The requests of the last superstep are carried out, however the run ends.
func TestChangesOfTheLastSuperstepAreMade(t *testing.T) {
	for name, end := range map[string]func(c *pregel.Coordinator){
		"halt": (*pregel.Coordinator).Halt, "stop": (*pregel.Coordinator).Stop, "limit": nil,
	} {
		for _, parts := range []int{1, 2, 4} {
			p := razer{changer{messages: combiners.Sum[uint64]()}, end}
			o := engine.Options{}
			if end == nil {
				o.MaxSupersteps = 1
			}
			g := on(t, "0>1 1>2 2>3 3>0").load(t, parts, edges.Unweighted)
			j, err := engine.NewJob(t.Context(), g, pregel.Erase(pregel.Program[uint64, uint64](p)),
				o)
			check(t, err)
			for range 2 {
				out, err := j.Run(t.Context())
				check(t, err)
				if out.Left == nil || *out.Left != (record.GraphSize{Vertices: 4}) ||
					out.IDs != 10 || out.Supersteps != 1 {
					t.Errorf("%s, %d partitions: %+v, left %+v", name, parts, out, out.Left)
				}
				if j.Exists(2) || !j.Exists(9) || j.Any(9) != uint64(7) || j.Any(1) != uint64(0) {
					t.Errorf("%s, %d partitions: vertex 2 exists: %t, 9: %t", name, parts,
						j.Exists(2), j.Exists(9))
				}
			}
			if g := j.TakeGraph(); g == nil || g.Arcs != 0 {
				t.Errorf("%s, %d partitions: the graph of the result is %+v", name, parts, g)
			} else {
				g.Close()
			}
			j.Close()
			g.Close()
		}
	}
}

// marked marks every edge with a digest of the edge and the superstep, and checks the marks after
// changes. Added edges have no marks.
type marked struct{ changer }

func (m marked) Traits() pregel.Traits {
	t := m.changer.Traits()
	t.Columns = []pregel.Column{changerMark}
	return t
}

var changerMark = pregel.NewEdgeColumn[uint64]("mark")

func (m marked) Compute(v cursor, _ uint64) {
	for e := range v.Edges() {
		if x := changerMark.Of(e); x != 0 && x != digest(v.ID(), e.To, e.Weight) {
			panic(fmt.Sprintf("edge %d of vertex %d has the mark %x", e.To, v.ID(), x))
		}
	}
	rng := v.Rand()
	if v.Superstep() == 5 {
		n := uint64(0)
		for e := range v.Edges() {
			if changerMark.Of(e) != 0 {
				n++
			}
		}
		v.Set(n<<32 | uint64(v.OutDegree()))
		v.VoteToHalt()
		return
	}
	for e := range v.Edges() {
		if changerMark.Of(e) == 0 && v.Superstep() > 0 {
			v.Set(v.Value() + 1)
		}
		changerMark.Set(e, digest(v.ID(), e.To, e.Weight))
	}
	for range rng.IntN(3) {
		if to := pregel.VertexID(rng.Uint64N(v.NumVertices())); rng.IntN(2) == 0 {
			v.Change().AddEdge(v.ID(), to, float64(rng.IntN(8)))
		} else {
			v.Change().RemoveEdge(v.ID(), to)
		}
	}
}

func TestEdgeColumnsMoveWithTheirEdges(t *testing.T) {
	for i, s := range shapes(12) {
		if s.n > 400 {
			continue
		}
		m := marked{changer{direction: pregel.Direction(i % 4), messages: combiners.Sum[uint64]()}}
		var first []uint64
		for _, way := range []setting{{parts: 1, threads: 1}, {parts: 1, threads: 3}, {parts: 3, threads: 2}, {parts: 4, threads: 4}} {
			g := s.loadAs(t, way, edges.Float32)
			got, o := run(t, g, pregel.Program[uint64, uint64](m), way)
			if o.Supersteps != 6 {
				t.Fatalf("%s, %v: %+v", s.name, way, o)
			}
			if first == nil {
				first = got
			}
			if !slices.Equal(got, first) {
				t.Fatalf("%s, %v: %x, want %x", s.name, way, got, first)
			}
			g.Close()
		}
		if s.n > 50 && len(s.tuples) > 100 && !slices.ContainsFunc(first, func(x uint64) bool { return x>>32 > 0 }) {
			t.Errorf("%s: no edge kept its mark", s.name)
		}
	}
}

// TestEdgesAreRemovedInTheirLoop: a loop over a vertex's edges sees each edge, even if the vertex
// has already requested changes, and can remove it.
func TestEdgesAreRemovedInTheirLoop(t *testing.T) {
	w := on(t, "0>1 0>2 0>3 0>4")
	j, err := engine.NewJob(t.Context(), w.load(t, 1, edges.Unweighted),
		pregel.Erase(pregel.Program[uint64, uint64](adder{changer{messages: combiners.Sum[uint64]()}})),
		engine.Options{MaxSupersteps: 1})
	check(t, err)
	defer j.Close()
	_, err = j.Run(t.Context())
	check(t, err)
	if got := j.Any(w.id(0)); got != uint64(500) {
		t.Errorf("100 times the edges seen and those left are %v, want 500", got)
	}
}

// adder adds an edge to each vertex, then removes all edges.
type adder struct{ changer }

func (adder) Compute(v cursor, _ uint64) {
	v.Change().AddEdge(v.ID(), v.Change().NextID(), 1)
	seen := uint64(0)
	for e := range v.Edges() {
		seen++
		v.Change().RemoveEdge(v.ID(), e.To)
	}
	v.Set(100*seen + uint64(v.OutDegree()))
}

// A program that changes the graph without the trait Mutates, or requests ids that are too large,
// gets an error.
func TestMutationRefuses(t *testing.T) {
	w := on(t, "0>1:1 1>2:1")
	wantError(t, w, pregel.Program[string, int64](script{func(v talker, _ int64) { v.Change().AddEdge(v.ID(), 0, 1) }}), 1,
		"Change: a program that changes the graph has the trait Mutates")
	far := changer{messages: combiners.Sum[uint64]()}
	for what, ask := range map[string]func(v cursor){
		"AddVertex: vertex 65542: ids from 3 on are new, and must be below 65542": func(v cursor) { v.Change().AddVertex(65542, 0) },
		"AddEdge: vertex None": func(v cursor) { v.Change().AddEdge(v.ID(), pregel.None, 0) },
		"RemoveEdge: vertex 70000: no vertex has had an id from 3 on: there is nothing to remove":   func(v cursor) { v.Change().RemoveEdge(1, 70000) },
		"RemoveEdge: vertex 70001: no vertex has had an id from 3 on":                               func(v cursor) { v.Change().RemoveEdge(v.ID(), 70001) },
		"RemoveVertex: vertex 65542: no vertex has had an id from 3 on: there is nothing to remove": func(v cursor) { v.Change().RemoveVertex(65542) },
		"AddEdge: vertex 65542: ids from 3 on are new":                                              func(v cursor) { v.Change().AddEdge(65542, 1, 1) },
		"AddEdge to vertex 2: found the weight NaN, expected a finite number":                       func(v cursor) { v.Change().AddEdge(v.ID(), 2, math.NaN()) },
		// as float32
		"to vertex 1: found the weight -1e+39, expected a finite number": func(v cursor) { v.Change().AddEdge(0, 1, -1e39) },
	} {
		_, _, err := tryRun(t, w.load(t, 2, edges.Float32),
			pregel.Program[uint64, uint64](asking{far, ask}), setting{parts: 2, threads: 1})
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want %s", err, what)
		}
	}
}

type asking struct {
	changer
	ask func(v cursor)
}

func (a asking) Compute(v cursor, _ uint64) {
	if v.Superstep() == 6 {
		v.VoteToHalt()
		return
	}
	a.ask(v)
}

// A run that is cancelled while the graph changes ends, and the job can run again.
func TestMutationIsCancelled(t *testing.T) {
	for _, parts := range []int{1, 4} {
		s := shapes(3)[9]
		g := s.load(t, parts, edges.Unweighted)
		ctx, cancel := context.WithCancel(t.Context())
		c := changer{rounds: 5, messages: combiners.Sum[uint64]()}
		stops := asking{c, func(v cursor) {
			if v.Change().AddEdge(v.ID(), 0, 1); v.Superstep() == 3 {
				cancel()
			}
		}}
		j, err := engine.NewJob(t.Context(), g, pregel.Erase(pregel.Program[uint64, uint64](stops)),
			engine.Options{})
		check(t, err)
		if _, err := j.Run(ctx); !errors.Is(err, context.Canceled) && err != nil {
			t.Errorf("%d partitions: %v", parts, err)
		}
		if _, err := j.Run(t.Context()); err != nil {
			t.Errorf("%d partitions, again: %v", parts, err)
		}
		j.Close()
	}
}
