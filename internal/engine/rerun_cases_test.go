package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

// rerunForms returns the forms of a program with random actions that use a job's memory
// differently.
func rerunForms[M any](p chaos[M]) []pregel.Program[uint64, M] {
	return []pregel.Program[uint64, M]{p, chaosInit[M]{p}, chaosSources[M]{p}, chaosBlock[M]{p}}
}

// rerunChaos stops runs of programs with random actions and a combiner, in half of the ways, and in a
// ring pull if ring is set. Some combiners have the other half. In make soak all ways are stopped.
func rerunChaos[M any](t *testing.T, kind edges.Weights, p chaos[M], ring bool) {
	ways := rerunWays(true)
	if ring {
		two := graph.Grid{Rows: 2, Columns: 2}
		ways = append(ways,
			setting{parts: 4, grid: two, threads: 4, o: engine.Options{Delivery: delivery.ChooseRingPull}})
	}
	p.blind = true
	for i, s := range ways {
		if !soak && !raced && (i+len(p.combiner.String()))%2 > 0 {
			continue
		}
		seed := uint64(i)
		form := (i + i/4) % 4
		if p.seed, p.direction = seed, pregel.Direction(seed%4); form == 3 &&
			p.direction == pregel.Either {
			p.direction = pregel.In // a ComputeBlock sends in one direction
		}
		rerun(t, s, seed, kind,
			func(f *fault) pregel.Program[uint64, M] { return rerunForms(hook(f, p))[form] })
	}
}

func TestAStoppedRunLeavesNothingToTheNext(t *testing.T) {
	sum := chaos[int64]{
		combiner: combiners.Sum[int64](),
		to:       func(_ who, h uint64) int64 { return int64(h % 100) },
		from:     func(x int64) uint64 { return uint64(x) },
	}
	t.Run("Sum", func(t *testing.T) { rerunChaos(t, 0, sum, false) })
	t.Run("MinPlus", func(t *testing.T) {
		rerunChaos(t, edges.Float64, chaos[float64]{
			combiner: combiners.MinPlus[float64](),
			to:       func(_ who, h uint64) float64 { return float64(h % 64) },
			from:     func(x float64) uint64 { return uint64(x * 16) },
		}, false)
	})
	t.Run("First", func(t *testing.T) {
		rerunChaos(t, 0, chaos[int64]{
			combiner: combiners.First[int64](), // all messages of a superstep are equal
			to:       func(v who, _ uint64) int64 { return int64(v.Superstep()) },
			from:     func(x int64) uint64 { return uint64(x) },
		}, true)
	})
	t.Run("Func", func(t *testing.T) {
		for i, s := range rerunWays(true) {
			if !soak && !raced && i%2 > 0 {
				continue
			}
			rerun(t, s, uint64(i), 0, func(f *fault) pregel.Program[uint64, string] {
				p := chaos[string]{
					seed: uint64(i), direction: pregel.Direction(i % 3), blind: true,
					to: func(_ who, h uint64) string { return fmt.Sprint(h % 10) }, from: text,
					combiner: combiners.Func("", func(a, b string) string {
						f.call(inCombiner)
						return merge(a, b)
					}),
				}
				return rerunForms(hook(f, p))[(i+i/4)%4]
			})
		}
	})
	t.Run("list", func(t *testing.T) {
		for i, s := range rerunWays(true) {
			if s.o.Delivery == delivery.ChooseBlockPull || !soak && !raced && i%2 == 0 {
				continue // list programs push there
			}
			p := sum
			p.seed, p.direction, p.blind, p.apart = uint64(i), pregel.Direction(i%4), true, true
			rerun(t, s, uint64(i), 0, func(f *fault) pregel.Program[uint64, int64] { return pregel.List(chaosList[int64]{hook(f, p)}) })
		}
	})
	t.Run("columns", func(t *testing.T) {
		for i, s := range rerunWays(false) {
			rerun(t, s, uint64(i), 0, func(f *fault) pregel.Program[string, int64] {
				return columned{looker{script{func(v talker, _ int64) {
					say(v, "%d", visits.Of(v))
					visits.Set(v, visits.Of(v)+1)
					for e := range v.Edges() {
						cost.Set(e, cost.Of(e)+1)
						say(v, "%g", cost.Of(e))
					}
					f.call(inProgram)
					if v.Superstep() == 3 {
						v.VoteToHalt()
					}
				}}, pregel.Out}}
			})
		}
	})
}

func TestAStoppedRunOfAnAlgorithmLeavesNothingToTheNext(t *testing.T) {
	for i, s := range rerunWays(true) {
		seed := uint64(i)
		rerun(t, s, seed, edges.Float64,
			func(*fault) pregel.Program[float64, float64] { return algorithms.SSSP[float64]{} })
		rerun(t, s, seed, 0,
			func(*fault) pregel.Program[int64, int64] { return algorithms.BFSLevels{} })
		rerun(t, s, seed, 0, func(*fault) pregel.Program[pregel.VertexID, pregel.VertexID] { return algorithms.WCC{} })
		s.o.Deterministic = s.grid.Rows > 1 && !s.o.Uncombined ||
			s.o.Delivery == delivery.ChoosePull
		if s.o.Deterministic {
			rerun(t, s, seed, 0, func(*fault) pregel.Program[pregel.VertexID, pregel.VertexID] { return algorithms.BFS{} })
			rerun(t, s, seed, edges.Float64, func(*fault) pregel.Program[arrival, arrival] { return algorithms.SSSPTree[float64]{} })
		}
	}
}

// A run that ends at a limit of supersteps leaves sent messages, which the next run must not
// deliver.
func TestARunThatReachedItsLimitLeavesNothingToTheNext(t *testing.T) {
	p := chaos[int64]{
		combiner: combiners.Sum[int64](), blind: true,
		to:   func(_ who, h uint64) int64 { return int64(h % 100) },
		from: func(x int64) uint64 { return uint64(x) },
	}
	for i, s := range rerunWays(true) {
		s.o = teamed(t, s)
		s.o.MaxSupersteps = 2 + i%3
		p.seed, p.direction = uint64(i), pregel.Direction(i%3)
		kinds := shapes(uint64(i))
		g := kinds[len(kinds)-2].loadAs(t, s, edges.Unweighted)
		j, err := engine.NewJob(t.Context(), g, pregel.Erase(rerunForms(p)[i%4]), s.o)
		check(t, err)
		var want []uint64
		for range 3 {
			o, err := j.Run(t.Context())
			check(t, err)
			if o.Supersteps != s.o.MaxSupersteps || o.Ended != trace.Limit {
				t.Fatalf("%v: %+v", s, o)
			}
			var got []uint64
			for v := range g.N {
				got = append(got, j.Any(pregel.VertexID(v)).(uint64))
			}
			if want == nil {
				want = got
			}
			for v := range got {
				if got[v] != want[v] {
					t.Fatalf("%v: vertex %d is %d, and %d at first", s, v, got[v], want[v])
				}
			}
		}
		j.Close()
	}
}

// TestAStoppedRunOfSharesLeavesNothingToTheNext stops runs of several jobs, as workers have them,
// and begins new ones.
func TestAStoppedRunOfSharesLeavesNothingToTheNext(t *testing.T) {
	owners := [][]int{{0, 3}, {1, 2}}
	for i, s := range rerunWays(true) {
		if s.parts != 4 {
			continue
		}
		f := new(fault)
		p := hook(f, chaos[int64]{
			seed: uint64(i), combiner: combiners.Sum[int64](), blind: true,
			to:   func(_ who, h uint64) int64 { return int64(h % 100) },
			from: func(x int64) uint64 { return uint64(x) },
		})
		kinds := shapes(uint64(i))
		g := kinds[len(kinds)-2].loadAs(t, s, edges.Unweighted)
		all, d := apart(t, g, pregel.Program[uint64, int64](p), s.o, owners)
		run := func(ctx context.Context) error {
			endpoint, broken := f.meet(s.parts)
			_, err := all.run(ctx, d, endpoint, broken)
			return err
		}
		f.arm(t, inProgram, 0, false)
		check(t, run(t.Context()))
		want := all.values(g)
		for n := int64(1); ; n += 5 {
			place := int(n) % s.parts
			stopped := run(f.arm(t, place, n, n%2 == 0))
			if f.happened.Load() < n {
				check(t, stopped)
				break
			}
			if !errors.Is(stopped, errFault) {
				t.Fatalf("%v, stopped at event %d of %d: the error is %v", s, n, place, stopped)
			}
			f.arm(t, inProgram, 0, false)
			check(t, run(t.Context()))
			for v, got := range all.values(g) {
				if got != want[v] {
					t.Fatalf("%v, after a run stopped at event %d of %d: vertex %d is %s, want %s",
						s, n, place, v, got, want[v])
				}
			}
		}
	}
}
