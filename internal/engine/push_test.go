package engine_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// busiest gives each task, in order, to the worker that has the least, and returns the most that
// one has, of the mean.
func busiest(tasks []int, workers int) float64 {
	has := make([]int, workers)
	sum := 0
	for _, n := range tasks {
		least := slices.Index(has, slices.Min(has))
		has[least] += n
		sum += n
	}
	return float64(slices.Max(has)) * float64(workers) / float64(sum)
}

// TestSharesOfAPush: hubs do not keep one of many workers busy while the others wait (Nakao20,
// 3.4). The workers are simulated.
func TestSharesOfAPush(t *testing.T) {
	if raced {
		t.Skip("it counts, and one goroutine does so")
	}
	in, err := generate.Input(t.Context(),
		generate.Kronecker{Scale: 18, EdgeFactor: 16, Seed1: 2, Seed2: 3}, generate.Options{})
	check(t, err)
	defer in.Close()
	g, err := build.Local(t.Context(), in,
		graph.Options{Partitions: 1, DropLoops: true, Duplicates: graph.FirstDuplicate})
	check(t, err)
	defer g.Close()
	for _, threads := range []int{2, 8, 48} {
		team := parallel.NewTeam(threads, false)
		job, err := engine.NewJob(t.Context(), g,
			pregel.Erase(algorithms.PageRank{Iterations: 1, Damping: .85}),
			engine.Options{Team: team})
		check(t, err)
		for _, part := range []float64{1, 0.1, 0.01} { // of the vertices that send
			senders := make([]uint64, bitmap.Words(g.N))
			random := rand.New(rand.NewPCG(1, 2))
			for v := range uint32(g.N) {
				if random.Float64() < part || v < 4 {
					bitmap.Set(senders, v)
				}
			}
			apart, err := job.PushTasks(t.Context(), senders, true)
			check(t, err)
			whole, err := job.PushTasks(t.Context(), senders, false)
			check(t, err)
			a, w := busiest(apart, threads), busiest(whole, threads)
			t.Logf("%d threads, %g of the vertices send: the busiest has %.2f of the mean, %.2f without ranges for hubs", threads, part, a, w)
			sum := func(tasks []int) (n int) {
				for _, x := range tasks {
					n += x
				}
				return n
			}
			most := 1.35
			if sum(apart) < 4096*threads {
				most = 1.8 // so little is shared in few pieces
			}
			if a > most || sum(apart) != sum(whole) {
				t.Errorf("%d threads, %g of the vertices send: the busiest has %.2f of the mean; %d edges, want %d", threads, part, a, sum(apart), sum(whole))
			}
		}
		job.Close()
		team.Close()
	}
}

// TestHubsOfAPush: where hubs are pushed apart, by teams of any size and each way of sharing the
// others, the values are those of one thread.
func TestHubsOfAPush(t *testing.T) {
	in, err := generate.Input(t.Context(),
		generate.Kronecker{Scale: 14, EdgeFactor: 16, Seed1: 2, Seed2: 3},
		generate.Options{Weights: edges.Float32})
	check(t, err)
	defer in.Close()
	g, err := build.Local(t.Context(), in,
		graph.Options{Partitions: 1, DropLoops: true, Duplicates: graph.LeastDuplicate, Weights: edges.Float32})
	check(t, err)
	defer g.Close()
	for _, threads := range []int{2, 3, 8} {
		// The others go by bins, of a monotone program and of sums, whose order differs, and by
		// claims.
		pushesHubs(t, g, threads, algorithms.SSSP[float32]{Source: 0}, func(x float32) float64 { return float64(x) })
		pushesHubs(t, g, threads, algorithms.PageRank{Iterations: 4, Damping: .85}, func(x float64) float64 { return x })
		pushesHubs(t, g, threads, algorithms.BFSLevels{Source: 0}, func(x int64) float64 { return float64(x) })
	}
}

func pushesHubs[V, M any](t *testing.T, g *graph.Graph, threads int, p pregel.Program[V,
	M], number func(V) float64,
) {
	t.Helper()
	var want []float64
	for _, n := range []int{1, threads} {
		team := parallel.NewTeam(n, false)
		job, err := engine.NewJob(t.Context(), g, pregel.Erase(p),
			engine.Options{Team: team, Delivery: delivery.ChoosePush})
		check(t, err)
		job.ShareWork(64, 1<<10)
		if n > 1 {
			first := make([]uint64, bitmap.Words(g.N))
			first[0] = 1
			apart, err := job.PushTasks(t.Context(), first, true)
			check(t, err)
			if parts := len(slices.DeleteFunc(apart, func(n int) bool { return n == 0 })); parts < n {
				t.Fatalf("%T, %d threads: the first vertex's edges are in %d tasks", p, n, parts)
			}
		}
		_, err = job.Run(t.Context())
		check(t, err)
		var got []float64
		for v := range g.N {
			got = append(got, number(job.Any(pregel.VertexID(v)).(V)))
		}
		if n == 1 {
			want = got
		} else if !slices.EqualFunc(got, want, func(a, b float64) bool { return a == b || math.Abs(a-b) < 1e-12 }) {
			t.Errorf("%T, %d threads: other values than with one", p, n)
		}
		job.Close()
		team.Close()
	}
}
