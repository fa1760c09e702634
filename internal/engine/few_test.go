package engine_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// lattice is a square lattice without a tenth of its edges.
func lattice(side int, directed bool) shape {
	s := shape{name: "lattice", n: side * side, directed: directed}
	rng := rand.New(rand.NewPCG(1, 2))
	add := func(u, v int) {
		if rng.IntN(10) > 0 {
			s.tuples = append(s.tuples, [2]uint64{uint64(u), uint64(v)})
			s.weights = append(s.weights, float64(1+rng.IntN(9)))
		}
	}
	for v := range side * side {
		if v%side > 0 {
			add(v-1, v)
		}
		if v >= side {
			add(v-side, v)
		}
	}
	return s
}

// fewRun is what a run shows.
type fewRun struct {
	values []string
	steps  []string // the counts of each superstep
	words  []int    // in each superstep, words of a bitmap that were examined for receivers
}

// runFew runs a program whose supersteps use lists for at most few edges.
func runFew[V, M any](
	t *testing.T, g *graph.Graph, p pregel.Program[V, M], few, threads int, values bool,
) (r fewRun) {
	t.Helper()
	var j journal
	way := setting{parts: 1, threads: threads}
	way.o.Delivery, way.o.Sizes.FewEdges, way.o.Trace = delivery.ChooseNaive, few, &j
	way.o.Sizes.FewShared = threads
	work := probe(&way.o)
	job, err := engine.NewJob(t.Context(), g, pregel.Erase(p), teamed(t, way))
	check(t, err)
	defer job.Close()
	for range 2 { // the second run does not see the first one's lists
		j.records, r = nil, fewRun{}
		work.take(delivery.AwakeWords)
		_, err = job.Run(t.Context())
		check(t, err)
		for _, s := range j.records {
			q := s.Partitions[0]
			r.steps = append(r.steps, fmt.Sprint(s.Superstep, s.Phase, s.Scheme, q.Computed,
				q.Delivered, q.Receivers, q.Walked, q.Messages))
		}
		r.words, _ = work.take(delivery.AwakeWords)
	}
	for v := pregel.VertexID(0); values && v < pregel.VertexID(g.N); v++ {
		r.values = append(r.values, fmt.Sprint(job.Any(v)))
	}
	return r
}

// compareFew compares runs that use lists never, always, and in some supersteps.
func compareFew[V, M any](t *testing.T, s shape, p pregel.Program[V, M], values bool) {
	t.Helper()
	g := s.load(t, 1, edges.Float64)
	want := runFew(t, g, p, -1, 1, values)
	for i, few := range []int{1 << 20, 40, 9} {
		got := runFew(t, g, p, few, 3-i, values)
		if !reflect.DeepEqual(got.values, want.values) || !reflect.DeepEqual(got.steps, want.steps) {
			t.Errorf("%T, %s, lists for at most %d edges: %d supersteps %v, want %d %v", p, s.name, few,
				len(got.steps), got.steps, len(want.steps), want.steps)
		}
		lists, all := len(want.words)-len(got.words), len(want.words)
		if lists == 0 || few < 1<<20 && lists == all {
			t.Errorf("%T, lists for at most %d edges: in %d of %d supersteps", p, few, lists, all)
		}
	}
}

// named is BFS whose values are supersteps. It checks that each message names a neighbour.
type named struct{ source pregel.VertexID }

func (named) Combiner() pregel.Combiner[pregel.VertexID] { return combiners.Sender() }
func (named) Traits() pregel.Traits                      { return pregel.Traits{Converges: true} }
func (p named) Start() (pregel.VertexID, []pregel.VertexID) {
	return pregel.None, []pregel.VertexID{p.source}
}
func (p named) Init(v *pregel.Vertex[pregel.VertexID, pregel.VertexID]) { p.act(v) }
func (p named) Compute(v *pregel.Vertex[pregel.VertexID, pregel.VertexID], by pregel.VertexID) {
	for e := range v.InEdges() {
		if e.To == by {
			p.act(v)
			return
		}
	}
	panic(fmt.Sprintf("vertex %d got a message of %d, no neighbour", v.ID(), by))
}

func (named) act(v *pregel.Vertex[pregel.VertexID, pregel.VertexID]) {
	v.Set(pregel.VertexID(v.Superstep()))
	v.SendToAllNeighbors(v.ID())
	v.Finish()
}

// ripple is a program whose vertices send, stay awake and finish at random.
type ripple struct {
	seed     uint64
	sends    bool // also to single vertices
	combiner pregel.Combiner[int64]
}

func (p ripple) Combiner() pregel.Combiner[int64] { return p.combiner }
func (ripple) Traits() pregel.Traits {
	return pregel.Traits{Aggregators: []pregel.Aggregate{chaosCount}}
}
func (ripple) Start() (int64, []pregel.VertexID)     { return 7, []pregel.VertexID{0, 200} }
func (p ripple) Init(v *pregel.Vertex[int64, int64]) { p.act(v, 1, 1) }
func (p ripple) Compute(v *pregel.Vertex[int64, int64], m int64) {
	seen := flag(v.HasMessage()) + 2*flag(v.Woken()) + 4*uint64(chaosCount.Value(v))
	h := mix(p.seed, uint64(v.ID()), uint64(v.Superstep()), uint64(v.Value()), seen, uint64(m),
		uint64(v.OutDegree()), uint64(v.InDegree()))
	p.act(v, h, rand.New(rand.NewPCG(h, 1)).Uint64())
}

func (p ripple) act(v *pregel.Vertex[int64, int64], h, dice uint64) {
	v.Set(int64(h >> 1))
	chaosCount.Add(v, int64(dice>>40%3))
	if v.Superstep() > 40 {
		v.VoteToHalt()
		return
	}
	if dice%4 < 3 {
		v.SendToAllNeighbors(int64(v.Superstep()))
	}
	if p.sends && dice>>8%16 == 0 {
		v.Send(pregel.VertexID(dice>>32%v.NumVertices()), int64(v.Superstep()))
	}
	if dice>>16%32 != 0 {
		v.VoteToHalt()
	}
	if dice>>24%8 == 0 {
		v.Finish()
	}
}

// TestFewMessages: supersteps that use lists of vertices give the values and the counts of those
// that use bitmaps, also if a run changes between both.
func TestFewMessages(t *testing.T) {
	for _, directed := range []bool{false, true} {
		s := lattice(30, directed)
		compareFew(t, s, algorithms.BFS{Source: 3}, false)
		compareFew(t, s, named{3}, true)
		compareFew(t, s, algorithms.BFSLevels{Source: 3}, true)
		compareFew(t, s, algorithms.SSSP[float64]{Source: 3}, true)
		if !directed { // else messages cross two blocks, in both directions
			compareFew(t, s, algorithms.WCC{}, true)
		}
		for seed, c := range []pregel.Combiner[int64]{
			combiners.Sum[int64](), combiners.Min[int64](), combiners.First[int64](),
			combiners.Count[int64](), combiners.Func(0, func(a, b int64) int64 { return a ^ b }),
		} {
			compareFew(t, s, ripple{uint64(seed), seed%2 == 0, c}, true)
			compareFew(t, s, ripple{uint64(seed + 10), false, c}, true)
		}
	}
}

// TestFewMessagesOfManyWorkers: workers that share supersteps with lists give the values and the
// counts of bitmaps, when most senders' receivers are of one worker and some are of several.
func TestFewMessagesOfManyWorkers(t *testing.T) {
	for _, directed := range []bool{false, true} {
		s := lattice(90, directed)
		compareShared(t, s, algorithms.BFS{Source: 3}, false)
		compareShared(t, s, named{3}, true)
		compareShared(t, s, algorithms.SSSP[float64]{Source: 3}, true)
		compareShared(t, s, ripple{1, false, combiners.Sum[int64]()}, true)
		compareShared(t, s, ripple{2, true, combiners.Count[int64]()}, true)
	}
}

func compareShared[V, M any](t *testing.T, s shape, p pregel.Program[V, M], values bool) {
	t.Helper()
	g := s.load(t, 1, edges.Float64)
	want := runFew(t, g, p, -1, 1, values)
	for _, threads := range []int{2, 3} {
		got := runFew(t, g, p, 1<<20, threads, values)
		if !reflect.DeepEqual(got.values, want.values) || !reflect.DeepEqual(got.steps, want.steps) {
			t.Errorf("%T, %s, %d threads: other values or counts than with bitmaps", p, s.name, threads)
		}
	}
}

// misled is BFS whose vertices send another vertex's id from superstep 4 on.
type misled struct{ named }

func (p misled) Compute(v *pregel.Vertex[pregel.VertexID, pregel.VertexID], _ pregel.VertexID) {
	v.SendToAllNeighbors(v.ID() + pregel.VertexID(v.Superstep()/4))
	v.Finish()
}

// TestFewWrongSender: in a superstep with lists, too, a vertex must send its own id.
func TestFewWrongSender(t *testing.T) {
	way := setting{parts: 1, threads: 1}
	way.o.Delivery, way.o.Sizes.FewEdges = delivery.ChooseNaive, 1<<20
	g := lattice(30, false).load(t, 1, edges.Float64)
	job, err := engine.NewJob(t.Context(), g, pregel.Erase(misled{named{3}}), teamed(t, way))
	check(t, err)
	defer job.Close()
	if _, err = job.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "superstep 4") ||
		!strings.Contains(err.Error(), kernel.WrongSender{}.Error()) {
		t.Errorf("found error %v, expected a wrong sender in superstep 4", err)
	}
}
