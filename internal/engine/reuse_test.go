package engine_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/invariants"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// sparse returns a random graph whose columns are large enough for arrays outside Go's heap.
func sparse() shape {
	r := rand.New(rand.NewPCG(4, 8))
	s := shape{name: "sparse", n: 20_000, directed: true}
	for range 3 * s.n {
		s.tuples = append(s.tuples, [2]uint64{r.Uint64N(uint64(s.n)), r.Uint64N(uint64(s.n))})
		s.weights = append(s.weights, 1+float64(r.IntN(9)))
	}
	return s
}

// TestJobsReuseMemory compares jobs on one graph, several at once, with jobs on separate graphs.
// Values do not depend on the jobs whose memory they reuse.
func TestJobsReuseMemory(t *testing.T) {
	s := sparse()
	for _, parts := range []int{1, 2} {
		if raced && parts == 1 {
			continue
		}
		one := setting{parts: parts, threads: 1}
		g := s.loadAs(t, one, edges.Float64)
		load := func() *graph.Graph { return s.loadAs(t, one, edges.Float64) }
		sources := []pregel.VertexID{5, 7, 11}
		levels, distances := make([][]int64, 3), make([][]float64, 3)
		for i, source := range sources {
			levels[i] = aloneOn(t, load(), algorithms.BFSLevels{Source: source}, one)
			distances[i] = aloneOn(t, load(), algorithms.SSSP[float64]{Source: source}, one)
		}
		components := aloneOn(t, load(), algorithms.WCC{}, one)
		exact := one
		exact.o.Deterministic = true
		ranks := aloneOn(t, load(), algorithms.PageRank{Iterations: 3}, exact)
		var all sync.WaitGroup
		for k := range uint64(3) {
			all.Go(func() {
				r := rand.New(rand.NewPCG(k, 5))
				for range 4 {
					way := setting{parts: parts, threads: 1 + r.IntN(2)}
					way.o.Delivery = []delivery.Choice{
						delivery.ChooseAuto, delivery.ChoosePush, delivery.ChoosePull,
					}[r.IntN(3)]
					i := r.IntN(len(sources))
					switch r.IntN(4) {
					case 0:
						sameOn(t, g, algorithms.BFSLevels{Source: sources[i]}, way, levels[i])
					case 1:
						sameOn(t, g, algorithms.SSSP[float64]{Source: sources[i]},
							way, distances[i])
					case 2:
						way.o = exact.o
						sameOn(t, g, algorithms.PageRank{Iterations: 3}, way, ranks)
					default:
						sameOn(t, g, algorithms.WCC{}, way, components)
					}
				}
			})
		}
		all.Wait()
	}
}

// TestValuesOfALargeGraphAreFilled: in a graph with more vertices than a thread fills at a time,
// all get the initial value.
func TestValuesOfALargeGraphAreFilled(t *testing.T) {
	s := shape{name: "an edge", n: 1<<16 + 100, tuples: [][2]uint64{{0, 1}}, weights: []float64{1}}
	way := setting{parts: 1, threads: 2}
	levels := aloneOn(t, s.loadAs(t, way, edges.Float64), algorithms.BFSLevels{}, way)
	for v, level := range levels {
		if want := int64(v); v > 1 && level != math.MaxInt64 || v <= 1 && level != want {
			t.Fatalf("vertex %d of %d: level %d", v, len(levels), level)
		}
	}
}

// aloneOn runs a program on a separate graph.
func aloneOn[V, M any](t *testing.T, g *graph.Graph, p pregel.Program[V, M], way setting) []V {
	values, _ := run(t, g, p, way)
	return values
}

func sameOn[V comparable, M any](t *testing.T, g *graph.Graph, p pregel.Program[V, M],
	way setting, want []V,
) {
	got, _, err := tryRun(t, g, p, way)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%T in %v: other values than in memory of its own; error %v", p, way, err)
	}
}

// breaking is a program that sends until it calls end, which ends its run. Its values have another
// size than all other arrays.
type breaking struct{ end func() }

func (breaking) Combiner() pregel.Combiner[uint64] { return combiners.Sum[uint64]() }

func (p breaking) Compute(v *pregel.Vertex[uint32, uint64], m uint64) {
	if v.Set(v.Value() + uint32(m) + 1); v.Superstep() == 2 && v.ID() == 77 {
		p.end()
	}
	if v.SendToAllNeighbors(1); v.Superstep() == 4 {
		v.Finish()
	}
}

// leaves reports whether the arena of a graph of n vertices has the values of a job of breaking,
// and removes them.
func leaves(parent *mem.Arena, n int) bool {
	a := &mem.Arena{Parent: parent}
	defer a.Close()
	return mem.MakeAny[uint32](a, (n+63)&^63)[5] != 0
}

// TestMemoryOfRunsThatEndIsReused: the next job reuses the memory of a successful run, but not that
// of a run that failed, was cancelled or ended its goroutine.
func TestMemoryOfRunsThatEndIsReused(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("arrays are on Go's heap")
	}
	way := setting{parts: 1, threads: 2}
	g := sparse().loadAs(t, way, edges.Unweighted)
	o := teamed(t, way)
	o.Budget = mem.NewBudget(1<<30, "")
	run := func(end func(cancel func())) (at string, value any, err error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		j, err := engine.NewJob(ctx, g, pregel.Erase(breaking{func() { end(cancel) }}), o)
		check(t, err)
		defer j.Close()
		_, err = j.Run(ctx)
		return fmt.Sprintf("%p", j.Values(0).Slice()), j.Any(5), err
	}
	ends := func(func()) {}
	first, want, err := run(ends)
	check(t, err)
	for name, end := range map[string]func(cancel func()){
		"nothing": ends, "a panic": func(func()) { panic("a user's panic") },
		"a cancelled context": func(cancel func()) { cancel() },
		"an exit":             func(func()) { runtime.Goexit() },
	} {
		at, _, err := run(end)
		if at != first {
			t.Errorf(
				"%s: the values are at %s, those of the job before were at %s", name, at, first)
		}
		if (err != nil) != (name != "nothing") {
			t.Errorf("%s: error %v", name, err)
		}
		if left := leaves(g.Arena(), g.N); !invariants.Enabled && left != (err == nil) {
			t.Errorf("%s: another job may have the memory: %t", name, left)
		}
		again, value, err := run(ends)
		if err != nil || value != want {
			t.Errorf("the run after %s: value %v, want %v, error %v", name, value, want, err)
		}
		first = again
		if u := o.Budget.Use(); u.Memory != 0 {
			t.Errorf("after %s: %v", name, u)
		}
	}
}

// nonzero is a monotone program. No column except those of messages contains a zero, even after the
// last vertex.
type nonzero struct{}

func (nonzero) Combiner() pregel.Combiner[uint64] { return combiners.Min[uint64]() }

func (nonzero) Traits() pregel.Traits { return pregel.Traits{Monotone: true} }

func (nonzero) Start() (uint64, []pregel.VertexID) {
	return 7, []pregel.VertexID{1}
}
func (nonzero) Compute(v *pregel.Vertex[uint64, uint64], _ uint64) { v.VoteToHalt() }

// skipping is a program that adds vertices one by one, and skips an id before each.
type skipping struct{}

const skipped = 6

func (skipping) Combiner() pregel.Combiner[uint32] { return combiners.Sum[uint32]() }
func (skipping) Traits() pregel.Traits             { return pregel.Traits{Mutates: true} }

func (skipping) Compute(v *pregel.Vertex[uint64, uint32], _ uint32) {
	if v.Set(1); v.ID() == 0 && v.Superstep() < skipped {
		v.Change().AddVertex(v.Change().NextID()+1, 1)
	} else {
		v.VoteToHalt()
	}
}

// TestAddedVerticesAreZero: ids without a vertex have the value 0 after a change of the graph, not
// a value of the previous job.
func TestAddedVerticesAreZero(t *testing.T) {
	way := setting{parts: 1, threads: 1}
	s := sparse()
	g := s.loadAs(t, way, edges.Unweighted)
	_, _, err := tryRun(t, g, nonzero{}, way)
	check(t, err)
	j, err := engine.NewJob(t.Context(), g, pregel.Erase(skipping{}), teamed(t, way))
	check(t, err)
	defer j.Close()
	_, err = j.Run(t.Context())
	check(t, err)
	if ids := j.IDs(); ids != uint64(s.n+2*skipped) {
		t.Errorf("%d ids", ids)
	}
	values := j.Values(0).Slice().([]uint64)[:j.Owned(0)]
	for id := range values {
		if want := uint64(1); id < s.n || id < s.n+2*skipped && id%2 == 1 {
			if values[id] != want {
				t.Errorf("vertex %d has the value %d", id, values[id])
			}
		} else if values[id] != 0 {
			t.Errorf("id %d, which is no vertex's, has the value %d", id, values[id])
		}
	}
}

// TestChangedGraphFreesSpares: spares of a changed graph are freed with it, even if nobody closes
// it.
func TestChangedGraphFreesSpares(t *testing.T) {
	if runtime.GOOS != "linux" || invariants.Enabled {
		t.Skip("arrays are on Go's heap, or MakeAny overwrites them")
	}
	way := setting{parts: 1, threads: 1}
	g := sparse().loadAs(t, way, edges.Unweighted)
	run := func(g *graph.Graph, p kernel.Erased[pregel.VertexID]) *graph.Graph {
		j, err := engine.NewJob(t.Context(), g, p, teamed(t, way))
		check(t, err)
		defer j.Close()
		_, err = j.Run(t.Context())
		check(t, err)
		return j.TakeGraph()
	}
	changed := run(g, pregel.Erase(skipping{}))
	a, n := changed.Arena(), changed.N
	again := breaking{func() {}}
	if run(changed, pregel.Erase(again)); !leaves(a, n) {
		t.Fatal("a changed graph keeps nothing")
	}
	run(changed, pregel.Erase(again))
	runtime.KeepAlive(changed)
	changed = nil
	for range 1000 {
		if runtime.GC(); !leaves(a, n) {
			return
		}
		job := &mem.Arena{Parent: a}
		mem.Make[uint32](job, (n+63)&^63)[5] = 7
		job.Keep()
		<-time.After(time.Millisecond)
	}
	t.Error("a changed graph that was forgotten keeps spares")
}

// TestManyJobsHoldNoMore: 24 jobs on two graphs leave only as much memory as the first ones.
func TestManyJobsHoldNoMore(t *testing.T) {
	if raced {
		t.Skip("it counts bytes, after one job and another")
	}
	s := sparse()
	s.n = 1 << 17 // columns of 1 MiB
	way := setting{parts: 1, threads: 2}
	graphs := []*graph.Graph{s.loadAs(t, way, edges.Float64), s.loadAs(t, way, edges.Float64)}
	run := func(jobs int) int64 {
		for k := range jobs {
			var err error
			switch source := pregel.VertexID(k); k / 2 % 4 {
			case 0:
				_, _, err = tryRun(t, graphs[k%2], algorithms.BFSLevels{Source: source}, way)
			case 1:
				_, _, err = tryRun(t, graphs[k%2], algorithms.SSSP[float64]{Source: source}, way)
			case 2:
				_, _, err = tryRun(t, graphs[k%2], algorithms.PageRank{Iterations: 2}, way)
			default:
				_, _, err = tryRun(t, graphs[k%2], algorithms.WCC{}, way)
			}
			check(t, err)
		}
		debug.FreeOSMemory()
		return mem.Anonymous()
	}
	first := run(8)
	if more := run(24) - first; more > 8<<20 {
		t.Errorf("24 jobs left %s more than 8", mem.Text(more))
	}
}
