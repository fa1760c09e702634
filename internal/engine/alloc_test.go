package engine_test

import (
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/invariants"
	"github.com/superstep-go/superstep/pregel"
)

// layered returns a graph for many similar supersteps, whose work is shared among threads: every
// vertex of a layer has edges to three vertices of the next layer.
func layered(layers, width int) shape {
	rng := rand.New(rand.NewPCG(5, 5))
	s := shape{name: "layers", n: 1 + layers*width, directed: true}
	add := func(u, v int) {
		s.tuples = append(s.tuples, [2]uint64{uint64(u), uint64(v)})
		s.weights = append(s.weights, 1+rng.Float64()/16)
	}
	for i := range width {
		add(0, 1+i)
		for l := range layers - 1 {
			add(1+l*width+i, 1+(l+1)*width+i)
			add(1+l*width+i, 1+(l+1)*width+rng.IntN(width))
			add(1+l*width+i, 1+(l+1)*width+rng.IntN(width))
		}
	}
	return s
}

// allocated runs a program for some supersteps three times, and returns the minimum of the later
// runs' allocations in each superstep. In the first run buffers grow to their size. In a later run
// they grow if a worker gets more work than ever before.
func allocated[V, M any](t *testing.T, g *graph.Graph, p pregel.Program[V, M], way setting) []int {
	t.Helper()
	const supersteps = 12
	allocations := make([]int, 0, supersteps)
	var stats runtime.MemStats
	before := uint64(0)
	way.o.MaxSupersteps = supersteps
	way.o.Progress = func(bsp.Progress) {
		runtime.ReadMemStats(&stats)
		allocations = append(allocations, int(stats.Mallocs-before))
		before = stats.Mallocs
	}
	way.o.Sizes.SerialEdges, way.o.Sizes.RoundEdges = 2<<10, 64<<10
	j, err := engine.NewJob(t.Context(), g, pregel.Erase(p), teamed(t, way))
	check(t, err)
	defer j.Close()
	var least []int
	blockMany()
	for run := range 3 {
		allocations = allocations[:0]
		_, err := j.Run(t.Context())
		check(t, err)
		if len(allocations) != supersteps {
			t.Fatalf("%v: %d supersteps", way, len(allocations))
		}
		switch run {
		case 0:
		case 1:
			least = slices.Clone(allocations)
		default:
			for i, n := range allocations {
				least[i] = min(least[i], n)
			}
		}
	}
	return least[2:]
}

// noAllocation fails if supersteps after the second allocate: any of them with one thread, most of
// them with several. With several, a worker may get more work than ever before and grow its
// buffers.
func noAllocation[V, M any](
	t *testing.T, name string, graphs []*graph.Graph, p pregel.Program[V, M], o engine.Options,
) {
	t.Helper()
	for _, g := range graphs {
		for _, threads := range []int{1, 3, 6} {
			if threads != 3 && len(g.Parts) > 1 {
				continue // a partition still works with one or two threads
			}
			for _, o.Delivery = range []delivery.Choice{delivery.ChooseAuto, delivery.ChooseNaive, delivery.ChooseMirrored, delivery.ChooseLalp, delivery.ChoosePull} {
				if len(g.Parts) == 1 && o.Delivery == delivery.ChooseMirrored {
					continue // it is naive
				}
				if threads == 6 && o.Delivery == delivery.ChoosePull {
					continue // as with three; more than four threads push by another method
				}
				if o.Deterministic && o.Delivery != delivery.ChooseAuto || o.Uncombined &&
					o.Delivery != delivery.ChooseNaive {
					continue
				}
				way := setting{parts: len(g.Parts), threads: threads, o: o}
				each := allocated(t, g, p, way)
				slices.Sort(each)
				which := len(each) / 2
				if threads == 1 && way.parts == 1 {
					which = len(each) - 1
				}
				if each[which] > 0 {
					t.Errorf("%s, %v: supersteps allocate %v", name, way, each)
				}
			}
		}
	}
}

// chatter never ends: every vertex sends to all its neighbours, and separately to one.
type (
	chatter     struct{}
	chatterList struct{}
)

func (chatter) Combiner() pregel.Combiner[float64] { return combiners.Sum[float64]() }
func (chatter) Compute(v *pregel.Vertex[float64, float64], m float64) {
	v.Set(m)
	v.SendToAllNeighbors(1)
	v.Send(v.ID()*7%pregel.VertexID(v.NumVertices()), 2)
}

func (chatterList) Compute(v *pregel.Vertex[float64, float64], list []float64) {
	chatter{}.Compute(v, float64(len(list)))
}

// blockMany makes the runtime allocate its records of waiting goroutines, which it keeps. Otherwise
// it would make them one by one while partitions wait for each other.
func blockMany() {
	gate := make(chan struct{})
	var group sync.WaitGroup
	for range 1000 {
		group.Go(func() { <-gate })
	}
	close(gate)
	group.Wait()
}

func TestNoSuperstepAllocates(t *testing.T) {
	if raced || invariants.Enabled {
		t.Skip("the checks allocate, and the race detector shares work unevenly; without them this test runs")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would free them
	// small is for programs in which all vertices send in every superstep
	s, small := layered(14, 700), layered(5, 700)
	var deep, plain, weighted []*graph.Graph
	for _, parts := range []int{1, 3} {
		deep, weighted = append(deep, s.load(t, parts, edges.Unweighted)),
			append(weighted, s.load(t, parts, edges.Float64))
		plain = append(plain, small.load(t, parts, edges.Unweighted))
	}
	source, _ := deep[0].Find(0)
	o := engine.Options{}
	noAllocation(t, "BFS", deep, algorithms.BFS{Source: source}, o)
	noAllocation(t, "SSSP", weighted, algorithms.SSSP[float64]{Source: source}, o)
	noAllocation(t, "SSSPTree", weighted, algorithms.SSSPTree[float64]{Source: source}, o)
	noAllocation(t, "WCC", deep, algorithms.WCC{}, o)
	noAllocation(t, "PageRank", plain, algorithms.PageRank{Damping: 0.85, Iterations: 100}, o)
	noAllocation(t, "PageRank, deterministic", plain,
		algorithms.PageRank{Damping: 0.85, Iterations: 100}, engine.Options{Deterministic: true})
	noAllocation(t, "chatter", plain, chatter{}, o)
	noAllocation(t, "chatter, uncombined", plain, chatter{},
		engine.Options{Experiment: delivery.Experiment{Uncombined: true}})
	noAllocation(t, "chatter, deterministic", plain, chatter{}, engine.Options{Deterministic: true})
	noAllocation(t, "chatter as a list", plain, pregel.List(chatterList{}), o)
	noAllocation(t, "PageRank, uncombined", plain,
		algorithms.PageRank{Damping: 0.85, Iterations: 100},
		engine.Options{Experiment: delivery.Experiment{Uncombined: true}})
}
