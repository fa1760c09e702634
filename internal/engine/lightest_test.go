package engine_test

import (
	"context"
	"errors"
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
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// waves is a program of shortest paths from several sources. Some sources begin when the others
// have already reached all vertices, so the least sent distance decreases again.
type waves[W combiners.Weight] struct{ late int }

func (waves[W]) Combiner() pregel.Combiner[W] { return combiners.MinPlus[W]() }
func (waves[W]) Traits() pregel.Traits {
	return pregel.Traits{Monotone: true, NonNegative: true}
}

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

// dense returns shapes whose lists are long enough for lightest arcs.
func dense(seed uint64) []shape {
	var all []shape
	for i, n := range []int{40, 60, 160} {
		rng := rand.New(rand.NewPCG(seed, uint64(n)))
		for _, directed := range []bool{false, true} {
			s := shape{name: fmt.Sprintf("%d vertices, directed %t", n,
				directed), n: n, directed: directed}
			for range 50 * n {
				// The minimum of random numbers: some vertices have far longer lists than others.
				u, v := min(rng.IntN(n), rng.IntN(n)), min(rng.IntN(n), rng.IntN(n), rng.IntN(n))
				s.tuples = append(s.tuples, [2]uint64{uint64(u), uint64(v)})
				if w := rng.Float64(); i%2 == 0 {
					s.weights = append(s.weights, w*w)
				} else {
					s.weights = append(s.weights, float64(rng.IntN(5))/4) // many are equal
				}
			}
			all = append(all, s)
		}
	}
	return all
}

// early is waves with messages that may be delivered early, even if they are less than all messages
// being delivered.
type early[W combiners.Weight] struct{ waves[W] }

func (early[W]) Traits() pregel.Traits {
	return pregel.Traits{Monotone: true, NonNegative: true, Asynchronous: true}
}

// lightestOf runs a program with whole lists, with the lightest arcs and, if it allows that, with
// early messages; each twice.
func lightestOf[V comparable, M any](
	t *testing.T, s shape, g *graph.Graph, way setting, p pregel.Program[V, M],
) (thinned, shared int) {
	t.Helper()
	team := parallel.NewTeam(way.threads, false)
	defer team.Close()
	way.o.Team = team
	var want []V
	var first *bsp.Outcome
	for _, how := range []string{"whole lists", "the lightest arcs", "early messages"} {
		o := way.o
		shareWork(&o, 64)
		o.WholeLists, o.Synchronous = how == "whole lists", how != "early messages"
		o.Sizes.FewArcs, o.Sizes.ThinFrom = 1, 1 // thinned as soon as some arcs do not matter
		work := probe(&o)
		job, err := engine.NewJob(t.Context(), g, pregel.Erase(p), o)
		check(t, err)
		defer job.Close()
		for range 2 {
			check(t, job.Restart(pregel.Erase(p)))
			found, err := job.Run(t.Context())
			check(t, err)
			var got []V
			for v := range s.n {
				got = append(got, job.Any(pregel.VertexID(v)).(V))
			}
			if want == nil {
				want, first = got, found
			}
			if _, pulls := work.take(delivery.SharedPulls); pulls > 0 {
				shared++
				if o.Synchronous {
					t.Fatalf("messages come early by %s", how)
				}
				sameDistances(t, s, g, got, want)
				continue
			}
			for v := range got {
				if got[v] != want[v] {
					t.Fatalf("vertex %d: %v by %s, %v by whole lists", v, got[v], how, want[v])
				}
			}
			if found.Supersteps != first.Supersteps || found.Messages != first.Messages {
				t.Fatalf("%d supersteps and %d messages by %s, %d and %d by whole lists",
					found.Supersteps, found.Messages, how, first.Supersteps, first.Messages)
			}
		}
		_, made := work.take(delivery.ThinnedLists)
		thinned += made
		if o.WholeLists && made > 0 {
			t.Fatal("whole lists are thinned")
		}
	}
	return thinned, shared
}

// sameDistances checks that distances are equal. In a tree, each vertex's parent must be nearer by
// the length of the edge.
func sameDistances[V comparable](t *testing.T, s shape, g *graph.Graph, got, want []V) {
	t.Helper()
	type hop = algorithms.Hop[float32]
	tree, ok := any(got).([]hop)
	if !ok {
		for v := range got {
			if got[v] != want[v] {
				t.Fatalf("vertex %d: %v with early messages, %v without", v, got[v], want[v])
			}
		}
		return
	}
	// the source, and vertices reached by an edge of the tree
	entered := map[pregel.VertexID]bool{0: true}
	enter := func(u, v pregel.VertexID, weight float64) {
		if tree[v].From == u && tree[u].Dist+float32(weight) == tree[v].Dist {
			entered[v] = true
		}
	}
	for i, e := range s.tuples {
		u, _ := g.Find(e[0])
		v, _ := g.Find(e[1])
		if enter(u, v, s.weights[i]); !g.Directed {
			enter(v, u, s.weights[i])
		}
	}
	for v, h := range tree {
		if at := any(want).([]hop)[v]; h.Dist != at.Dist ||
			(h.From == pregel.None) != (at.From == pregel.None) {
			t.Fatalf("vertex %d: %v with early messages, %v without", v, h, at)
		}
		if h.From != pregel.None && !entered[pregel.VertexID(v)] {
			t.Fatalf("vertex %d: %v with early messages: no edge leads there", v, h)
		}
		for at, steps := h.From, 0; at != 0 && at != pregel.None; at = tree[at].From {
			if steps++; steps > len(tree) {
				t.Fatalf("vertex %d: the way back does not lead to the source with early messages",
					v)
			}
		}
	}
}

// TestLightestArcs: with lightest arcs and thinned lists, programs of shortest paths have the same
// values, to the bit, and the same supersteps as with whole lists. With messages delivered in the
// superstep that sends them, they find the same distances.
func TestLightestArcs(t *testing.T) {
	type hop = algorithms.Hop[float32]
	thinned, shared := 0, 0
	seeds, least := uint64(2), 60
	if raced {
		seeds, least = 1, 20
	}
	for seed := range seeds {
		for _, s := range dense(seed) {
			for _, parts := range []int{1, 3} {
				wide, narrow := s.load(t, parts, edges.Float64), s.load(t, parts, edges.Float32)
				for i, choice := range []delivery.Choice{delivery.ChooseAuto, delivery.ChoosePull, delivery.ChoosePush} {
					way := setting{parts: parts, threads: 1 + (i+
						parts)%3, o: engine.Options{Delivery: choice, Deterministic: seed == 1}}
					t.Run(fmt.Sprintf("%s, seed %d, %v", s.name, seed, way), func(t *testing.T) {
						made, came := 0, 0
						count := func(m, e int) { made, came = made+m, came+e }
						// half of the programs each; the other half with another seed
						if (i+int(seed))%2 == 0 {
							count(lightestOf(t, s, wide, way,
								pregel.Program[float64, float64](algorithms.SSSP[float64]{})))
							count(lightestOf(t, s, wide, way, pregel.Program[float64,
								float64](early[float64]{waves[float64]{4}})))
							count(lightestOf(t, s, narrow, way,
								pregel.Program[hop, hop](algorithms.SSSPTree[float32]{})))
						} else {
							count(lightestOf(t, s, wide, way, pregel.Program[float64,
								float64](early[float64]{waves[float64]{2}})))
							count(lightestOf(t, s, wide, way, pregel.Program[float64,
								float64](early[float64]{waves[float64]{9}})))
							count(lightestOf(t, s, narrow, way, pregel.Program[float32,
								float32](algorithms.SSSP[float32]{Source: 1})))
						}
						if parts > 1 && made > 0 {
							t.Error("lists of one of several partitions are thinned")
						}
						if (parts > 1 || way.o.Deterministic) && came > 0 {
							t.Error("messages come early that must not")
						}
						thinned, shared = thinned+made, shared+came
					})
				}
			}
		}
	}
	if thinned < least || shared < least {
		t.Errorf("lists were thinned %d times, messages came early in %d runs: expected %d of each at the least", thinned, shared, least)
	}
}

// TestJobsAreNotMadeOnceTheContextEnded: a job that needs data of the graph that do not exist yet
// fails if the context has ended. The next job is made.
func TestJobsAreNotMadeOnceTheContextEnded(t *testing.T) {
	s := dense(0)[0]
	g := s.loadAs(t, setting{parts: 1, threads: 1}, edges.Float64)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := engine.NewJob(ended, g, pregel.Erase(algorithms.SSSP[float64]{}),
		engine.Options{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("the error is %v", err)
	}
	o := engine.Options{Delivery: delivery.ChoosePull}
	work := probe(&o)
	job, err := engine.NewJob(t.Context(), g, pregel.Erase(algorithms.SSSP[float64]{}), o)
	check(t, err)
	defer job.Close()
	_, err = job.Run(t.Context())
	check(t, err)
	if _, pulls := work.take(delivery.SharedPulls); pulls == 0 {
		t.Fatal("there are no lightest arcs")
	}
}
