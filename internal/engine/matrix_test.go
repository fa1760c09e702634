package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// shape is a small graph for running programs.
type shape struct {
	name     string
	n        int
	tuples   [][2]uint64
	weights  []float64
	directed bool
}

// shapes returns the graphs of the tests: special cases, and random graphs.
func shapes(seed uint64) []shape {
	var all []shape
	add := func(name string, n int, tuples ...[2]uint64) {
		all = append(all, shape{name: name, n: n, tuples: tuples})
	}
	add("single vertex", 1)
	add("loop", 1, [2]uint64{0, 0})
	add("no edges", 5)
	add("pair", 2, [2]uint64{0, 1})
	add("two components", 6, [2]uint64{0, 1}, [2]uint64{1, 2}, [2]uint64{4, 3})
	var star, path, both [][2]uint64
	long, sizes := uint64(70), []int{70, 300, largeShape}
	if raced {
		long = 30
	}
	for i := range uint64(200) {
		star = append(star, [2]uint64{0, i + 1})
		if i < long { // as many supersteps; more would prove nothing
			path = append(path, [2]uint64{i, i + 1})
		}
		both = append(both, [2]uint64{i % 7, i * i % 150}, [2]uint64{i * i % 150, i % 7})
	}
	add("star", 201, star...)
	add("path", int(long)+1, path...)
	add("multigraph", 160, both...)
	rng := rand.New(rand.NewPCG(seed, 2))
	for i, n := range sizes {
		var tuples [][2]uint64
		for range n * []int{1, 4, 6}[i] {
			u, v := rng.IntN(n), rng.IntN(n)
			if rng.IntN(2) == 0 {
				v = rng.IntN(v + 1) // skewed degrees
			}
			tuples = append(tuples, [2]uint64{uint64(u), uint64(v)})
		}
		add(fmt.Sprintf("random %d (seed %d)", n, seed), n, tuples...)
	}
	for _, s := range all {
		s.directed = true
		s.name += " directed"
		all = append(all, s)
	}
	for i := range all {
		rng := rand.New(rand.NewPCG(seed, 3))
		all[i].weights = make([]float64, len(all[i].tuples))
		for j := range all[i].weights {
			all[i].weights[j] = float64(rng.IntN(16)) / 16
		}
	}
	return all
}

func (s shape) load(t testing.TB, parts int, weights edges.Weights) *graph.Graph {
	t.Helper()
	return s.loadAs(t, setting{parts: parts}, weights)
}

func (s shape) loadAs(t testing.TB, way setting, weights edges.Weights) *graph.Graph {
	t.Helper()
	in := &edges.Input{Name: s.name, Edges: edges.Pack(uint64(s.n), s.tuples,
		s.weights), Vertices: s.n, Directed: s.directed}
	deal := []string{"", "64:", "64:1,3"}[(s.n+max(way.parts, way.grid.Partitions()))%3]
	g, err := build.Local(context.Background(), in,
		graph.Options{Partitions: way.parts, Grid: way.grid, Weights: weights, Deal: deal})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// partitioned has the graphs of a shape with one type of weights, each made once.
type partitioned struct {
	shape
	weights edges.Weights
	made    map[string]*graph.Graph
}

func (s shape) partitioned(weights edges.Weights) partitioned {
	return partitioned{s, weights, map[string]*graph.Graph{}}
}

func (p partitioned) in(t testing.TB, way setting) *graph.Graph {
	t.Helper()
	key := fmt.Sprint(way.parts, way.grid)
	if p.made[key] == nil {
		p.made[key] = p.loadAs(t, way, p.weights)
	}
	return p.made[key]
}

// setting is a way to run a program.
type setting struct {
	parts, threads int
	o              engine.Options
	grid           graph.Grid // of the partitions; zero for a flat grid
}

func (s setting) String() string {
	return fmt.Sprintf("%d partitions, grid %v, %d threads, delivery %v, encoding %v, uncombined %t, serial %t, deterministic %t",
		s.parts, s.grid, s.threads, s.o.Delivery, s.o.Encoding, s.o.Uncombined, s.o.Serial,
		s.o.Deterministic)
}

// settings returns partitions x deliveries x threads, with various other options.
func settings() []setting {
	var all []setting
	for _, parts := range []int{1, 2, 3, 4, 7} {
		for i, choice := range []delivery.Choice{
			delivery.ChooseAuto, delivery.ChoosePush, delivery.ChooseNaive, delivery.ChooseMirrored,
			delivery.ChooseLalp, delivery.ChoosePull,
		} {
			for _, threads := range []int{1, 3} {
				o := engine.Options{Delivery: choice, Experiment: delivery.Experiment{Encoding: delivery.Encoding((i + parts + threads) % 4), Serial: (i+parts)%2 == 0}}
				if choice == delivery.ChooseLalp { // 0: the model's threshold
					o.Sizes.HubWords = (parts + threads) % 3
				}
				all = append(all, setting{parts: parts, threads: threads, o: o})
				if choice == delivery.ChooseNaive {
					o.Uncombined = true
					all = append(all, setting{parts: parts, threads: threads, o: o})
				}
			}
		}
		// Some runs share the work of supersteps that are otherwise too small for it.
		for i := range all {
			if all[i].threads > 1 {
				all[i].o.Sizes.SerialEdges = 2 << 10
			}
			// Lists of vertices: whenever possible, in small supersteps, and as by default.
			all[i].o.Sizes.FewEdges = []int{1 << 20, 30, 0}[i%3]
		}
		all = append(all,
			setting{parts: parts, threads: 2, o: engine.Options{Deterministic: true, Experiment: delivery.Experiment{Serial: parts%2 == 1}}})
	}
	if raced {
		var some []setting
		for i := range all {
			if i%8 == 0 || all[i].o.Uncombined && i%4 == 0 {
				some = append(some, all[i])
			}
		}
		all = some
	}
	// More than four threads push by another method.
	return append(all,
		setting{parts: 1, threads: 6, o: engine.Options{
			Delivery:   delivery.ChoosePush,
			Experiment: delivery.Experiment{Sizes: delivery.Sizes{SerialEdges: 2 << 10}},
		}},
		setting{parts: 2, threads: 3, o: engine.Options{Delivery: delivery.ChooseBeamer}})
}

// grids returns settings in 2D grids up to 4 x 4, with the deliveries that every program supports
// there, and with others.
func grids(others ...delivery.Choice) []setting {
	var all []setting
	n := 0
	for rows := 2; rows <= 4; rows++ {
		for columns := 2; columns <= 4; columns++ {
			grid := graph.Grid{Rows: rows, Columns: columns}
			for _, choice := range append([]delivery.Choice{delivery.ChooseAuto, delivery.ChoosePush, delivery.ChooseBlockPull, delivery.ChooseBeamer}, others...) {
				n++
				threads := []int{1, 2 * grid.Partitions(), 2, 3 * grid.Partitions()}[n%4]
				o := engine.Options{Delivery: choice, Experiment: delivery.Experiment{Encoding: delivery.Encoding(n / 4 % 4), Serial: (n+n/5)%2 == 0}}
				all = append(all,
					setting{parts: grid.Partitions(), grid: grid, threads: threads, o: o})
			}
			all = append(all,
				setting{parts: grid.Partitions(), grid: grid, threads: 2, o: engine.Options{Experiment: delivery.Experiment{Uncombined: true, Serial: columns == 3}}})
		}
	}
	if raced {
		var some []setting
		for i := range all {
			if i%11 == 0 {
				some = append(some, all[i])
			}
		}
		all = some
	}
	return all
}

// inGrids returns settings in flat grids and in 2D grids. Deterministic settings are flat.
func inGrids(others ...delivery.Choice) []setting { return append(settings(), grids(others...)...) }

// aFew returns every eleventh of some settings, beginning with another for each i. If i numbers
// shapes, cases or tests, each setting occurs with some of them, and each of them with every delivery
// and number of partitions and threads. In make soak it returns all.
func aFew(i int, all []setting) []setting {
	if soak {
		return all
	}
	return part(i, 11, all)
}

// soak tells whether the tests run in make soak, in all settings.
var soak = os.Getenv("SUPERSTEP_SOAK") != ""

// forShape returns a part of some settings for shape i. Each setting is used with one of the twelve
// larger shapes, and half of them with one of the ten smallest. In make soak all are used with all.
func forShape(i int, s shape, all []setting) []setting {
	const undirected, smallest = 11, 5
	switch {
	case soak:
		return all
	case s.n < 10 && i >= undirected:
		return part(i-undirected+smallest, 18, all)
	case s.n < 10:
		return part(i, 18, all)
	case i >= undirected:
		return part(i-2*smallest, 12, all)
	}
	return part(i-smallest, 12, all)
}

// part returns every of-th of some settings, beginning with number i.
func part(i, of int, all []setting) []setting {
	var some []setting
	for i %= of; i < len(all); i += of {
		some = append(some, all[i])
	}
	return some
}

// teamed returns a setting's options with a new team, which is closed when the test ends.
func teamed(t testing.TB, s setting) engine.Options {
	s.o.Team = parallel.NewTeam(max(s.threads, 1), false)
	t.Cleanup(s.o.Team.Close)
	return s.o
}

// run runs a program in a setting and returns the values by input vertex.
func run[V, M any](t testing.TB, g *graph.Graph, p pregel.Program[V, M], s setting,
) ([]V, *bsp.Outcome) {
	t.Helper()
	values, o, err := tryRun(t, g, p, s)
	if err != nil {
		t.Fatalf("%s, %v: %v", g.Name, s, err)
	}
	return values, o
}

func tryRun[V, M any](t testing.TB, g *graph.Graph, p pregel.Program[V, M], s setting,
) ([]V, *bsp.Outcome, error) {
	t.Helper()
	s.o.Team = parallel.NewTeam(s.threads, false)
	defer s.o.Team.Close()
	if s.o.Checkpoints != nil { // a checkpoint has the state of all threads
		shareWork(&s.o, 1)
	}
	j, err := engine.NewJob(t.Context(), g, pregel.Erase(p), s.o)
	if err != nil {
		return nil, nil, err
	}
	defer j.Close()
	if s.o.Checkpoints != nil {
		cutChunks(t, g, pregel.Erase(p))
	}
	o, err := j.Run(t.Context())
	if err != nil {
		return nil, nil, err
	}
	values := make([]V, g.N)
	for v, id := range g.IDs {
		values[v] = j.Any(pregel.VertexID(id)).(V)
	}
	return values, o, nil
}
