package reference

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// example is a graph of Graphalytics. Its vertices are numbered in the order of the .v file.
type example struct {
	Graph
	name   string
	number map[string]int
	source int
}

func examples(t *testing.T) []example {
	directed, undirected := read(t, "example-directed"), read(t, "example-undirected")
	directed.Directed = true
	directed.source, undirected.source = directed.number["1"], undirected.number["2"]
	return []example{directed, undirected}
}

func read(t *testing.T, name string) example {
	e := example{name: name, number: map[string]int{}}
	for _, f := range lines(t, name+".v") {
		e.number[f[0]] = e.N
		e.N++
	}
	for _, f := range lines(t, name+".e") {
		w, err := strconv.ParseFloat(f[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		e.Arcs = append(e.Arcs, [2]int{e.number[f[0]], e.number[f[1]]})
		e.Weights = append(e.Weights, w)
	}
	return e
}

// want returns the expected output of an algorithm, by vertex.
func (e example) want(t *testing.T, algorithm string) []string {
	values := make([]string, e.N)
	for _, f := range lines(t, e.name+"-"+algorithm) {
		values[e.number[f[0]]] = f[1]
	}
	return values
}

func (e example) wantFloats(t *testing.T, algorithm string) []float64 {
	var x []float64
	for _, text := range e.want(t, algorithm) {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		x = append(x, f)
	}
	return x
}

func lines(t *testing.T, name string) [][]string {
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all [][]string
	for s := bufio.NewScanner(file); s.Scan(); {
		all = append(all, strings.Fields(s.Text()))
	}
	return all
}

func close15(got, want []float64) bool {
	return slices.EqualFunc(got, want,
		func(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-14*math.Abs(b) })
}

func TestGraphalyticsExamples(t *testing.T) {
	for _, e := range examples(t) {
		var levels []string
		for _, l := range BFSLevels(e.Graph, e.source) {
			levels = append(levels, fmt.Sprint(l))
		}
		if want := e.want(t, "BFS"); !slices.Equal(levels, want) {
			t.Errorf("%s: BFS %v, want %v", e.name, levels, want)
		}
		if got, want := SSSP(e.Graph, e.source), e.wantFloats(t, "SSSP"); !close15(got, want) {
			t.Errorf("%s: SSSP %v, want %v", e.name, got, want)
		}
		if got, want := PageRank(e.Graph, 0.85, 2), e.wantFloats(t, "PR"); !close15(got, want) {
			t.Errorf("%s: PageRank %v, want %v", e.name, got, want)
		}
		label := map[int]string{}
		for v, want := range e.want(t, "WCC") {
			c := WCC(e.Graph)[v]
			if got, seen := label[c]; seen && got != want {
				t.Errorf("%s: component %d holds %s and %s", e.name, c, got, want)
			}
			label[c] = want
		}
	}
}

func TestLoopsAndDuplicates(t *testing.T) {
	g := Graph{N: 4, Arcs: [][2]int{{0, 1}, {1, 0}, {1, 1}, {2, 1}}, Directed: true}
	out, in := Degrees(g)
	if got, want := fmt.Sprint(out, in), "[1 2 1 0] [1 3 0 0]"; got != want {
		t.Errorf("directed: degrees %s, want %s", got, want)
	}
	g.Directed = false
	out, in = Degrees(g)
	if got, want := fmt.Sprint(out, in), "[2 4 1 0] [2 4 1 0]"; got != want {
		t.Errorf("undirected: degrees %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(WCC(g)), "[0 0 0 3]"; got != want {
		t.Errorf("components %s, want %s", got, want)
	}
}

func TestUnweightedSSSPCountsArcs(t *testing.T) {
	g := random(rand.New(rand.NewPCG(1, 1)))
	for v, level := range BFSLevels(g, 0) {
		if d := SSSP(g, 0)[v]; d != float64(level) &&
			!(math.IsInf(d, 1) && level == math.MaxInt64) {
			t.Errorf("vertex %d: level %d, distance %g", v, level, d)
		}
	}
}

// TestShortestPathsAgainstBellmanFord compares the reference with an even simpler implementation.
func TestShortestPathsAgainstBellmanFord(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 2))
		g := random(rng)
		g.Weights = make([]float64, len(g.Arcs))
		for i := range g.Weights {
			g.Weights[i] = rng.Float64() * float64(rng.IntN(3))
		}
		want64, want32 := make([]float64, g.N), make([]float32, g.N)
		for v := 1; v < g.N; v++ {
			want64[v], want32[v] = math.Inf(1), float32(math.Inf(1))
		}
		for range g.N {
			for i, a := range g.Arcs {
				for _, way := range [][2]int{a, {a[1], a[0]}}[:map[bool]int{true: 1, false: 2}[g.Directed]] {
					u, v := way[0], way[1]
					want64[v] = min(want64[v], want64[u]+g.Weights[i])
					want32[v] = min(want32[v], want32[u]+float32(g.Weights[i]))
				}
			}
		}
		if got := SSSP(g, 0); !slices.Equal(got, want64) {
			t.Fatalf("seed %d: %v, want %v", seed, got, want64)
		}
		if got := SSSP32(g, 0); !slices.Equal(got, want32) {
			t.Fatalf("seed %d: %v, want %v in single precision", seed, got, want32)
		}
	}
}

func TestPageRankAddsUpToOne(t *testing.T) {
	for seed := range uint64(50) {
		g := random(rand.New(rand.NewPCG(seed, 3)))
		sum := 0.0
		for _, r := range PageRank(g, 0.85, 10) {
			sum += r
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Errorf("seed %d: ranks add up to %g", seed, sum)
		}
	}
}

func random(rng *rand.Rand) Graph {
	g := Graph{N: 1 + rng.IntN(30), Directed: rng.IntN(2) == 0}
	for range rng.IntN(3 * g.N) {
		g.Arcs = append(g.Arcs, [2]int{rng.IntN(g.N), rng.IntN(g.N)})
	}
	return g
}
