package engine_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// waves is a program of shortest paths from several sources, of which some begin later, when the others have been everywhere: the least distance
// sent falls again.
type waves[W combiners.Weight] struct{ late int }

func (waves[W]) Combiner() pregel.Combiner[W] { return combiners.MinPlus[W]() }
func (waves[W]) Monotone()                    {}
func (waves[W]) NonNegative()                 {}

func (p waves[W]) Compute(v *pregel.Vertex[W, W], d W) {
	late := v.ID()%97 == 5
	switch {
	case v.Superstep() == 0:
		v.Set(W(math.Inf(1)))
		if v.ID() == 0 {
			v.Set(3)
			v.SendToAllNeighbors(3)
		}
	case v.HasMessage() && d < v.Value():
		v.Set(d)
		v.SendToAllNeighbors(d)
	}
	if late && v.Superstep() == p.late && v.Value() > 0.25 {
		v.Set(0.25)
		v.SendToAllNeighbors(0.25)
	}
	if !late || v.Superstep() >= p.late {
		v.VoteToHalt()
	}
}

// dense are shapes whose lists are long enough for their lightest arcs to be kept.
func dense(seed uint64) []shape {
	var all []shape
	for i, n := range []int{40, 60, 700, 3000} {
		rng := rand.New(rand.NewPCG(seed, uint64(n)))
		for _, directed := range []bool{false, true} {
			s := shape{name: fmt.Sprintf("%d vertices, directed %t", n, directed), n: n, directed: directed}
			for range 50 * n {
				// The lower of two numbers: some vertices have far longer lists than others.
				u, v := min(rng.IntN(n), rng.IntN(n)), min(rng.IntN(n), rng.IntN(n), rng.IntN(n))
				s.tuples = append(s.tuples, [2]uint64{uint64(u), uint64(v)})
				if w := rng.Float64(); i%2 == 0 {
					s.weights = append(s.weights, w*w)
				} else {
					s.weights = append(s.weights, float64(rng.IntN(5))/4) // many are the same
				}
			}
			all = append(all, s)
		}
	}
	return all
}

// lightestOf runs a program with whole lists, and by the lightest arcs, twice.
func lightestOf[V comparable, M any](t *testing.T, s shape, kind edges.Weights, way setting, p pregel.Program[V, M]) (thinned int) {
	t.Helper()
	team := parallel.NewTeam(way.threads, false)
	defer team.Close()
	way.o.Team = team
	g := s.loadAs(t, way, kind)
	var want []V
	var first *bsp.Outcome
	for _, whole := range []bool{true, false} {
		job, err := engine.NewJob(g, p, way.o)
		check(t, err)
		defer job.Close()
		job.ShareWork(0, 64)
		if whole {
			job.WholeLists()
		} else if !job.ThinEarly() {
			t.Fatal("there are no lightest arcs")
		}
		for range 2 {
			check(t, job.Restart(p))
			o, err := job.Run(t.Context())
			check(t, err)
			var got []V
			for v := range s.n {
				got = append(got, job.Value(pregel.VertexID(v)))
			}
			if want == nil {
				want, first = got, o
			}
			for v := range got {
				if got[v] != want[v] {
					t.Fatalf("vertex %d: %v by the lightest arcs, %v by whole lists", v, got[v], want[v])
				}
			}
			if o.Supersteps != first.Supersteps || o.Messages != first.Messages {
				t.Fatalf("%d supersteps and %d messages, %d and %d by whole lists", o.Supersteps, o.Messages, first.Supersteps, first.Messages)
			}
		}
		_, thinned = job.Thinned()
	}
	return thinned
}

// TestLightestArcs: programs of shortest paths find the same, to the bit and to the superstep, by pulls that look at the lightest arcs first and pushes
// through thinned lists as by whole lists.
func TestLightestArcs(t *testing.T) {
	thinned := 0
	for seed := range uint64(3) {
		for _, s := range dense(seed) {
			for _, parts := range []int{1, 3} {
				for i, choice := range []delivery.Choice{delivery.ChooseAuto, delivery.ChoosePull, delivery.ChoosePush} {
					way := setting{parts: parts, threads: 1 + (i+parts)%3, o: engine.Options{Delivery: choice, Deterministic: seed == 1}}
					t.Run(fmt.Sprintf("%s, seed %d, %v", s.name, seed, way), func(t *testing.T) {
						made := 0
						made += lightestOf(t, s, edges.Float64, way, pregel.Program[float64, float64](algorithms.SSSP[float64]{}))
						made += lightestOf(t, s, edges.Float32, way, pregel.Program[float32, float32](algorithms.SSSP[float32]{Source: 1}))
						made += lightestOf(t, s, edges.Float32, way, pregel.Program[algorithms.Hop[float32], algorithms.Hop[float32]](algorithms.SSSPTree[float32]{}))
						for _, late := range []int{2, 4, 9} {
							made += lightestOf(t, s, edges.Float64, way, pregel.Program[float64, float64](waves[float64]{late}))
						}
						if parts > 1 && made > 0 {
							t.Error("lists of one of several partitions are thinned")
						}
						thinned += made
					})
				}
			}
		}
	}
	if thinned < 100 {
		t.Errorf("lists were thinned %d times: expected 100 at the least", thinned)
	}
}
