package validate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/parallel"
)

const none = Unreached

// house is the graph for which the tests corrupt results: a square with a tail, and a separate
// edge.
//
//	0 --.1-- 1 --.1-- 2 --.5-- 4     6 --.1-- 7
//	|                 |        |
//	.3               .5       .25    weights are exact in binary, but for the tenths
//	|                 |        |
//	+------- 3 -------+        5     and 3-3, a loop, and 0-1 again, heavier
var house = []tuple{
	{0, 1, .1},
	{2, 1, .1},
	{0, 3, .3},
	{3, 2, .5},
	{2, 4, .5},
	{5, 4, .25},
	{6, 7, .1},
	{3, 3, .1},
	{1, 0, .9},
}

func houseBFS() []uint32 { return []uint32{0, 0, 1, 0, 2, 4, none, none} }

func houseSSSP() ([]uint32, []float32) {
	two := float32(.1) + float32(.1)
	return houseBFS(), []float32{0, .1, two, .3, two + .5, two + .75, -1, -1}
}

// bfs validates a tree with teams of several sizes, which must agree.
func bfs(t *testing.T, n int, tuples []tuple, root uint64, parent []uint32) (Result, error) {
	t.Helper()
	got, err := judge(t, n, tuples,
		func(v *Validator) (Result, error) { return v.BFS(t.Context(), root, parent) })
	manyRanks(t, n, tuples, root, parent, nil, got, err)
	return got, err
}

func sssp(
	t *testing.T, n int, tuples []tuple, root uint64, parent []uint32, dist []float32,
) (Result, error) {
	t.Helper()
	got, err := judge(t, n, tuples,
		func(v *Validator) (Result, error) { return v.SSSP(t.Context(), root, parent, dist) })
	manyRanks(t, n, tuples, root, parent, dist, got, err)
	return got, err
}

// alone makes the validator of a single rank with the whole graph.
func alone(t testing.TB, list edges.List, n int, team *parallel.Team) *Validator {
	t.Helper()
	v, err := New(t.Context(), collective.Alone(), 0, list, 0, n, team)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func judge(t *testing.T, n int, tuples []tuple, run func(*Validator) (Result,
	error),
) (Result, error) {
	t.Helper()
	list := listOf(n, tuples)
	defer list.Close()
	single := alone(t, list, n, nil)
	defer single.Close()
	want, wantErr := run(single)
	team := parallel.NewTeam(3, false)
	defer team.Close()
	v := alone(t, list, n, team)
	defer v.Close()
	for range 2 { // the second time it reuses buffers
		got, err := run(v)
		if got != want || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("a team of three finds %v, %v; one worker %v, %v", got, err, want, wantErr)
		}
	}
	return want, wantErr
}

func wantRule(t *testing.T, err error, rule int, words ...string) {
	t.Helper()
	var violated *Violation
	if !errors.As(err, &violated) || violated.Rule != rule {
		t.Fatalf("got %v, want a violation of rule %d", err, rule)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

func TestValidTreePasses(t *testing.T) {
	got, err := bfs(t, 8, house, 0, houseBFS())
	if want := (Result{Edges: 7, Levels: 5, Reached: 6}); err != nil || got != want {
		t.Errorf("BFS: %v, %v, want %v", got, err, want)
	}
	parent, dist := houseSSSP()
	got, err = sssp(t, 8, house, 0, parent, dist)
	if want := (Result{Edges: 7, Levels: 5, Reached: 6}); err != nil || got != want {
		t.Errorf("SSSP: %v, %v, want %v", got, err, want)
	}
	if got, err := bfs(t, 1, nil, 0, []uint32{0}); err != nil || got != (Result{0, 1, 1}) {
		t.Errorf("one vertex: %v, %v", got, err)
	}
}

func TestRule1TreeHasNoCycles(t *testing.T) {
	parent := houseBFS()
	parent[1], parent[2] = 2, 1
	_, err := bfs(t, 8, house, 0, parent)
	wantRule(t, err, 1, "1", "2", "cycle")

	parent = houseBFS()
	parent[5] = 5
	_, err = bfs(t, 8, house, 0, parent)
	wantRule(t, err, 1, "vertex 5 is its own parent")

	parent = houseBFS()
	parent[4] = 6 // a tree edge to a vertex outside the tree
	_, err = bfs(t, 8, house, 0, parent)
	wantRule(t, err, 1, "vertex 4 has parent 6, which is not reached")

	// Two vertices with a weightless edge between them support each other. No other rule is
	// broken.
	zero := append(slices.Clone(house), tuple{4, 5, 0})
	parent, dist := houseSSSP()
	dist[5] = dist[4]
	parent[4], parent[5] = 5, 4
	_, err = sssp(t, 8, zero, 0, parent, dist)
	wantRule(t, err, 1, "on a cycle")
}

func TestRule2TreeEdgesJoinAdjacentLevels(t *testing.T) {
	// Levels are derived from parents, so no BFS tree breaks this rule. The test checks that the
	// levels are right.
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		n := 2 + rng.IntN(100_000)
		order := rng.Perm(n)
		parent, level := make([]uint32, n), make([]uint32, n)
		parent[order[0]] = uint32(order[0])
		back := 1 + rng.IntN(min(n, 1<<rng.IntN(12)))
		var tuples []tuple
		for i, x := range order[1:] {
			p := order[max(0, i-rng.IntN(back))]
			parent[x], level[x] = uint32(p), level[p]+1
			tuples = append(tuples, tuple{uint64(x), uint64(p), 1})
		}
		list := listOf(n, tuples)
		team := parallel.NewTeam(3, false)
		v := alone(t, list, n, team)
		got, err := v.BFS(t.Context(), uint64(order[0]), parent)
		if want := int(slices.Max(level)) + 1; err != nil || got.Levels != want ||
			got.Edges != int64(n-1) || !slices.Equal(v.own.depth, level) {
			t.Fatalf("%d vertices: %v, %v, want %d levels", n, got, err, want)
		}
		v.Close()
		team.Close()
		list.Close()
	}
}

func TestRule2TreeEdgesMakeUpTheDistance(t *testing.T) {
	parent, dist := houseSSSP()
	dist[5] -= .125 // a leaf that is nearer than its only edge allows
	_, err := sssp(t, 8, house, 0, parent, dist)
	wantRule(t, err, 2, "vertex 5", "parent 4", "0.25")

	parent, dist = houseSSSP()
	dist[5] = math.Nextafter32(dist[5], 0) // the reference compares exactly
	_, err = sssp(t, 8, house, 0, parent, dist)
	wantRule(t, err, 2, "vertex 5")

	// it has weight only from 1 to 2
	for _, between := range []tuple{{1, 2, .25}, {2, 1, .25}} {
		_, err = sssp(t, 3, []tuple{{0, 1, .25}, {0, 2, .5}, between}, 0, []uint32{0, 2, 0},
			[]float32{0, .25, .5})
		wantRule(t, err, 2, "vertex 1")
	}
}

func TestRule3EdgesJoinAdjacentLevels(t *testing.T) {
	parent := houseBFS()
	parent[3] = 2 // the path is too long, although all tree edges exist
	_, err := bfs(t, 8, house, 0, parent)
	wantRule(t, err, 3, "edge 0-3 joins levels 0 and 3")
}

func TestRule3NoEdgeShortensADistance(t *testing.T) {
	parent, dist := houseSSSP()
	parent[3], dist[3] = 2, dist[2]+.5
	_, err := sssp(t, 8, house, 0, parent, dist)
	wantRule(t, err, 3, "edge 0-3")

	parent, dist = houseSSSP()
	strange := append(slices.Clone(house), tuple{4, 1, float32(math.NaN())})
	_, err = sssp(t, 8, strange, 0, parent, dist)
	wantRule(t, err, 3, "edge 1-4", "NaN")
}

func TestRule4TreeSpansTheComponent(t *testing.T) {
	parent := houseBFS()
	parent[5] = none
	_, err := bfs(t, 8, house, 0, parent)
	wantRule(t, err, 4, "edge 4-5")

	parent, dist := houseSSSP()
	parent[5], dist[5] = none, -1
	_, err = sssp(t, 8, house, 0, parent, dist)
	wantRule(t, err, 4, "edge 4-5")

	// With weight 1, the -1 of an unreached vertex would equal its neighbour's distance less the
	// weight.
	_, err = sssp(t, 2, []tuple{{0, 1, 1}}, 0, []uint32{0, none}, []float32{0, -1})
	wantRule(t, err, 4, "edge 0-1")
}

func TestRule5TreeEdgesAreInTheGraph(t *testing.T) {
	parent := houseBFS()
	parent[4] = 3
	parent[2] = 3 // both keep their levels
	_, err := bfs(t, 8, house, 0, parent)
	wantRule(t, err, 5, "vertex 4", "parent 3")

	parent, dist := houseSSSP()
	parent[5] = 1
	_, err = sssp(t, 8, house, 0, parent, dist)
	wantRule(t, err, 5, "vertex 5", "parent 1")
}

func TestWhatMustHoldBeforeTheRules(t *testing.T) {
	nan := float32(math.NaN())
	for _, test := range []struct {
		name, want string
		corrupt    func(parent []uint32, dist []float32)
	}{
		{"parent out of range", "invalid range: the parent of vertex 3 is 8", func(p []uint32, _ []float32) { p[3] = 8 }},
		{"root not its own parent", "invalid root: the parent of root 0 is 1", func(p []uint32, _ []float32) { p[0] = 1 }},
		{"root not reached", "invalid root: root 0 is not reached", func(p []uint32, _ []float32) { p[0] = none }},
		{"root at a distance", "invalid root: the distance of root 0 is 0.5", func(_ []uint32, d []float32) { d[0] = .5 }},
		{"negative distance", "invalid range: the distance of vertex 2 is -2", func(_ []uint32, d []float32) { d[2] = -2 }},
		{"no number", "invalid range: the distance of vertex 2 is NaN", func(_ []uint32, d []float32) { d[2] = nan }},
		{"infinity", "invalid range: the distance of vertex 2 is +Inf", func(_ []uint32, d []float32) { d[2] = float32(math.Inf(1)) }},
		{"distance without parent", "invalid reached: vertex 6 has distance 1 and parent -1", func(_ []uint32, d []float32) { d[6] = 1 }},
		{"parent without distance", "invalid reached: vertex 5 has distance -1 and parent 4", func(_ []uint32, d []float32) { d[5] = -1 }},
	} {
		parent, dist := houseSSSP()
		test.corrupt(parent, dist)
		_, err := sssp(t, 8, house, 0, parent, dist)
		wantRule(t, err, 0, test.want)
		before, _ := houseSSSP()
		if _, err := bfs(t, 8, house, 0, parent); !slices.Equal(parent, before) &&
			(err == nil || !strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("%s: BFS says %v", test.name, err)
		}
	}
	if _, err := bfs(t, 8, house, 8, houseBFS()); err == nil {
		t.Error("root 8 of 8 passes")
	}
	if _, err := bfs(t, 8, house, 0, houseBFS()[:7]); err == nil {
		t.Error("7 parents pass for 8 vertices")
	}
}

func TestTupleOutOfRange(t *testing.T) {
	for _, bad := range []tuple{{7, 1, 1}, {1, 7, 1}} {
		tuples := append(slices.Clone(house[:6]), bad)
		list := listOf(8, tuples)
		v := alone(t, list, 6, nil)
		parent, dist := houseSSSP()
		_, err := v.BFS(t.Context(), 0, parent[:6])
		_, err2 := v.SSSP(t.Context(), 0, parent[:6], dist[:6])
		for _, err := range []error{err, err2} {
			if err == nil || !strings.Contains(err.Error(), "tuple 6 of the edge list joins") {
				t.Errorf("got %v", err)
			}
		}
		v.Close()
		list.Close()
	}
}

type failing struct{ edges.List }

func (failing) Read(int, *edges.Block) error { return errors.New("disk on fire") }

func TestReadErrorIsNoViolation(t *testing.T) {
	list := listOf(8, house)
	defer list.Close()
	v := alone(t, failing{list}, 8, nil)
	defer v.Close()
	_, err := v.BFS(t.Context(), 0, houseBFS())
	var violated *Violation
	if err == nil || errors.As(err, &violated) || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("got %v", err)
	}
}

func TestValidatorStops(t *testing.T) {
	in, _ := kronecker(t, 8, 0)
	v := alone(t, in.Edges, in.Vertices, nil)
	defer v.Close()
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	parent := make([]uint32, in.Vertices)
	if _, err := v.BFS(ctx, 0, parent); !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
}
