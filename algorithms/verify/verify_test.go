package verify

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/parallel"
)

const (
	far   = math.MaxInt64
	never = -1
)

var inf = math.Inf(1)

// graph makes a Graph from tuples.
func graph(t *testing.T, n int, directed bool, tuples [][2]uint64, weights []float64) Graph {
	t.Helper()
	list := edges.Pack(uint64(n), tuples, weights)
	team := parallel.NewTeam(2, false)
	t.Cleanup(func() { team.Close(); list.Close() })
	return Graph{Edges: list, Vertices: n, Directed: directed, Team: team}
}

// diamond is 0 -> 1 -> 3 -> 4, 0 -> 2 -> 3, 5 -> 4 and a loop at 3. The arc 0 -> 1 exists twice.
func diamond(t *testing.T, directed bool) Graph {
	return graph(t, 6, directed,
		[][2]uint64{{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}, {5, 4}, {3, 3}, {0, 1}},
		[]float64{1, 2.5, 1, 0.25, 0, 1, 1, 4})
}

func wantRule(t *testing.T, err error, rule string, words ...string) {
	t.Helper()
	var broken *Violation
	switch {
	case rule == "" && err != nil:
		t.Errorf("a right result: %v", err)
	case rule != "" && (!errors.As(err, &broken) || broken.Rule != rule):
		t.Errorf("got %v, want a violation of rule %q", err, rule)
	}
	for _, w := range words {
		if err != nil && !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

func TestBFSRules(t *testing.T) {
	for _, test := range []struct {
		directed bool
		rule     string
		parent   []int64
		words    []string
	}{
		{true, "", []int64{0, 0, 0, 2, 3, never}, nil},
		{true, "", []int64{0, 0, 0, 1, 3, never}, nil},
		{false, "", []int64{0, 0, 0, 1, 3, 4}, nil},
		{true, "source", []int64{never, 0, 0, 1, 3, never}, nil},
		{true, "source", []int64{1, 0, 0, 1, 3, never}, nil},
		{true, "tree", []int64{0, 0, 0, 1, 6, never}, []string{"vertex 4 is 6"}},
		{true, "tree", []int64{0, 0, 0, 1, -2, never}, []string{"vertex 4 is -2"}},
		{true, "tree", []int64{0, 0, 0, 4, 3, never}, []string{"cycle"}},
		{true, "tree", []int64{0, 0, 0, 1, 3, 5}, []string{"cycle, vertex 5"}},
		{true, "tree", []int64{0, 0, 0, 1, 5, never}, []string{"vertex 4 is reached", "5 is not"}},
		// against the direction of the arc
		{true, "parent", []int64{0, 0, 0, 1, 3, 4}, []string{"4 to 5"}},
		{false, "parent", []int64{0, 0, 0, 1, 3, 3}, []string{"3 to 5"}},
		{true, "reach", []int64{0, 0, 0, 1, never, never}, []string{"from 3", "to 4"}},
		{false, "reach", []int64{0, 0, 0, 1, 3, never}, []string{"from 4", "to 5"}},
		{false, "level", []int64{0, 0, 3, 1, 3, 4}, []string{"from 0, at level 0, to 2, at level 3"}},
	} {
		wantRule(t, BFS(diamond(t, test.directed), 0, test.parent), test.rule, test.words...)
	}
}

func TestLevelsRules(t *testing.T) {
	for _, test := range []struct {
		directed bool
		rule     string
		level    []int64
		words    []string
	}{
		{true, "", []int64{0, 1, 1, 2, 3, far}, nil},
		{false, "", []int64{0, 1, 1, 2, 3, 4}, nil},
		{true, "source", []int64{1, 1, 1, 2, 3, far}, nil},
		{true, "source", []int64{0, 0, 1, 2, 3, far}, []string{"vertex 1"}},
		{true, "range", []int64{0, 1, 1, 2, -3, far}, []string{"vertex 4"}},
		{true, "reach", []int64{0, 1, 1, 2, far, far}, []string{"from 3", "to 4"}},
		{true, "level", []int64{0, 1, 1, 2, 4, far}, []string{"from 3, at level 2, to 4, at level 4"}},
		{true, "parent", []int64{0, 1, 1, 1, 2, far}, []string{"vertex 3, at level 1"}},
		{true, "parent", []int64{0, 1, 1, 2, 3, 7}, []string{"vertex 5, at level 7"}},
	} {
		wantRule(t, Levels(diamond(t, test.directed), 0, test.level), test.rule, test.words...)
	}
}

func TestSSSPRules(t *testing.T) {
	for _, test := range []struct {
		directed bool
		rule     string
		dist     []float64
		words    []string
	}{
		{true, "", []float64{0, 1, 2.5, 2, 2, inf}, nil},
		{false, "", []float64{0, 1, 2.25, 2, 2, 3}, nil},
		{true, "shorter", []float64{0, 1, 2.5, 2 + 1e-12, 2 + 1e-12, inf}, nil},
		{true, "source", []float64{1, 1, 2.5, 2, 2, inf}, nil},
		{true, "range", []float64{0, -1, 2.5, 2, 2, inf}, []string{"vertex 1"}},
		{true, "range", []float64{0, 1, math.NaN(), 2, 2, inf}, []string{"vertex 2"}},
		{true, "reach", []float64{0, 1, 2.5, 2, inf, inf}, []string{"from 3", "to 4"}},
		{true, "shorter", []float64{0, 1, 2.5, 2.75, 2.75, inf}, []string{"from 1, at distance 1, to 3, at distance 2.75"}},
		{true, "tight", []float64{0, 1, 2.5, 1.5, 1.5, inf}, []string{"vertex 3"}},
		{true, "tight", []float64{0, 1, 2.5, 2, 2, 7}, []string{"vertex 5"}},
		// 3 and 4 support each other
		{false, "tight", []float64{0, 1, 1.75, 1.5, 1.5, 2.5}, []string{"vertex 3"}},
	} {
		wantRule(t, SSSP(diamond(t, test.directed), 0, test.dist), test.rule, test.words...)
	}
	for _, w := range []float64{-1, math.NaN()} {
		wantRule(t, SSSP(graph(t, 2, true, [][2]uint64{{0, 1}}, []float64{w}), 0, []float64{0, 0}),
			"weight", "from 0 to 1")
	}
}

func TestSSSPOfAlmostWeightlessEdge(t *testing.T) {
	// Within the tolerance, 1 supports the distance of 2, and 2 that of 1.
	g := graph(t, 3, false, [][2]uint64{{0, 1}, {1, 2}}, []float64{5, 1e-12})
	wantRule(t, SSSP(g, 0, []float64{0, 5, 5 + 1e-12}), "")
	wantRule(t, SSSP(g, 0, []float64{0, 1, 1 + 1e-12}), "tight", "vertex 1")
}

func TestSSSPOfWeightlessRing(t *testing.T) {
	// A ring of weightless arcs in the worst order for a scan, and one arc to it.
	n := 3000
	tuples, weights := [][2]uint64{{0, uint64(n - 1)}}, []float64{1}
	for v := 1; v < n; v++ {
		tuples = append(tuples, [2]uint64{uint64(v), uint64(max(v-1, 1))})
		weights = append(weights, 0)
	}
	g := graph(t, n, true, append(tuples, [2]uint64{1, uint64(n - 1)}), append(weights, 0))
	dist := slices.Repeat([]float64{1}, n)
	dist[0] = 0
	wantRule(t, SSSP(g, 0, dist), "")
	for v := 1; v < n; v++ {
		dist[v] = 0.5
	}
	wantRule(t, SSSP(g, 0, dist), "tight")
}

func TestUnitWeights(t *testing.T) {
	g := diamond(t, true)
	g.UnitWeights = true
	wantRule(t, SSSP(g, 0, []float64{0, 1, 1, 2, 3, inf}), "")
	bare := graph(t, 2, true, [][2]uint64{{0, 1}}, nil)
	wantRule(t, SSSP(bare, 0, []float64{0, 1}), "")
}

func TestWCCRules(t *testing.T) {
	g := graph(t, 5, true, [][2]uint64{{1, 0}, {3, 4}}, nil)
	wantRule(t, WCC(g, []uint64{0, 0, 2, 3, 3}), "")
	wantRule(t, WCC(g, []uint64{1, 1, 2, 3, 3}), "representative", "should be 0")
	wantRule(t, WCC(g, []uint64{0, 0, 1 << 40, 3, 3}), "representative")
	wantRule(t, WCC(g, []uint64{7, 8, 2, 0, 0}), "edge", "vertex 1 with label 8",
		"vertex 0 with label 7")
	wantRule(t, WCC(g, []uint64{7, 7, 2, 7, 7}), "distinct", "0 and 3")
	wantRule(t, WCC(g, []uint64{7, 7, 7, 0, 0}), "distinct", "0 and 2")
}

func TestErrorsNameLabels(t *testing.T) {
	g := diamond(t, true)
	g.Labels = edges.NewLabels([]uint64{10, 11, 12, 13, 14, 15})
	wantRule(t, Levels(g, 0, []int64{0, 1, 1, 2, 4, far}), "level",
		"from 13, at level 2, to 14, at level 4")
}

type failing struct{ edges.List }

func (failing) Read(int, *edges.Block) error { return errors.New("disk on fire") }

func TestArgumentsAndReading(t *testing.T) {
	short, broken := diamond(t, true), diamond(t, true)
	short.Vertices = 5
	broken.Edges = failing{broken.Edges}
	var violated *Violation
	for name, err := range map[string]error{
		"parents":         BFS(short, 0, make([]int64, 6)),
		"source":          Levels(short, 5, make([]int64, 5)),
		"negative source": SSSP(short, -1, make([]float64, 5)),
		"labels":          WCC(short, make([]uint64, 6)),
		"endpoint":        WCC(short, make([]uint64, 5)),
		"reading":         SSSP(broken, 0, make([]float64, 6)),
		"reading for WCC": WCC(broken, make([]uint64, 6)),
	} {
		if err == nil || errors.As(err, &violated) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestSSSPOfLongPaths: a distance that overflows is different from that of an unreached vertex, and
// an edge of weight 1 still counts after a distance of 2e9.
func TestSSSPOfLongPaths(t *testing.T) {
	g := graph(t, 4, true, [][2]uint64{{0, 1}, {1, 2}, {2, 3}}, []float64{1e308, 1e308, 1e308})
	wantRule(t, SSSP(g, 0, []float64{0, 1e308, inf, inf}), "reach", "from 1", "to 2")
	g = graph(t, 3, true, [][2]uint64{{0, 1}, {1, 2}}, []float64{2e9, 1})
	wantRule(t, SSSP(g, 0, []float64{0, 2e9, 2e9 + 1}), "")
	wantRule(t, SSSP(g, 0, []float64{0, 2e9, 2e9}), "tight", "vertex 2")
	wantRule(t, SSSP(g, 0, []float64{0, 2e9, 2e9 + 2}), "shorter")
}
