package validate

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/parallel"
)

// TestMutationsAgainstTwin validates random trees of random graphs, and the same trees with one
// change. If broken finds no error, the validator must accept the tree. If the validator reports a
// rule, broken must have found this rule.
func TestMutationsAgainstTwin(t *testing.T) {
	team := parallel.NewTeam(2, false)
	defer team.Close()
	caught := map[int]int{}
	for seed := range uint64(1500) {
		rng := rand.New(rand.NewPCG(seed, 7))
		n, tuples := random(rng)
		root := rng.Uint32N(uint32(n))
		list := listOf(n, tuples)
		v := alone(t, list, n, team)
		check := func(what string, parent []uint32, dist []float32) (Result, bool) {
			t.Helper()
			want := broken(n, tuples, root, parent, dist)
			var got Result
			var err error
			if dist == nil {
				got, err = v.BFS(t.Context(), uint64(root), parent)
			} else {
				got, err = v.SSSP(t.Context(), uint64(root), parent, dist)
			}
			var violated *Violation
			if errors.As(err, &violated) {
				caught[violated.Rule]++
			}
			if (err != nil) != (len(want) > 0) || violated != nil && !want[violated.Rule] {
				t.Fatalf("seed %d, %s: got %v, want one of the rules %v\nroot %d, tuples %v\nparents %v\ndistances %v",
					seed, what, err, want, root, tuples, parent, dist)
			}
			return got, err == nil
		}
		tree := breadthFirst(rng, n, tuples, root)
		r, valid := check("breadth-first tree", tree, nil)
		if !valid || r.Edges != component(tuples, tree) {
			t.Fatalf("seed %d: valid tree: %v, %t, want %d edges", seed, r, valid,
				component(tuples, tree))
		}
		for range 5 {
			mutant := slices.Clone(tree)
			mutate(rng, mutant, nil)
			check("changed breadth-first tree", mutant, nil)
		}
		parent, dist := shortest(rng, n, tuples, root)
		if _, valid := check("shortest paths", parent, dist); !valid {
			t.Fatalf("seed %d: valid shortest paths", seed)
		}
		for range 5 {
			mutant, mutantDist := slices.Clone(parent), slices.Clone(dist)
			mutate(rng, mutant, mutantDist)
			check("changed shortest paths", mutant, mutantDist)
		}
		v.Close()
		list.Close()
	}
	for rule := range 6 {
		if caught[rule] < 20 {
			t.Errorf("rule %d was violated %d times only", rule, caught[rule])
		}
	}
}

func component(tuples []tuple, parent []uint32) (edges int64) {
	for _, t := range tuples {
		if t.u != t.v && parent[t.u] != Unreached {
			edges++
		}
	}
	return edges
}

// TestOfficialGraphs compares with the counts of the reference code for its own graphs.
func TestOfficialGraphs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, test := range []struct {
		scale  int
		root   uint32
		want   Result
		levels []int
		dist   float32
		sum    float64
	}{
		{8, 53, Result{4011, 5, 241}, []int{1, 2, 49, 178, 11}, 2.01752043, 264.546599746},
		{10, 458, Result{16239, 5, 897}, []int{1, 8, 500, 380, 8}, 1.12857687, 258.188860334},
	} {
		n := 1 << test.scale
		in, tuples := kronecker(t, test.scale, edges.Float32)
		v := alone(t, in.Edges, n, nil)
		got, err := v.BFS(t.Context(), uint64(test.root), breadthFirst(rng, n, tuples, test.root))
		if err != nil || got != test.want {
			t.Errorf("SCALE %d: BFS finds %v, %v, want %v", test.scale, got, err, test.want)
		}
		levels := make([]int, got.Levels)
		for _, depth := range v.own.depth {
			if depth != notReached {
				levels[depth]++
			}
		}
		if !slices.Equal(levels, test.levels) {
			t.Errorf("SCALE %d: levels of %v vertices, want %v", test.scale, levels, test.levels)
		}
		parent, dist := shortest(rng, n, tuples, test.root)
		got, err = v.SSSP(t.Context(), uint64(test.root), parent, dist)
		sum := 0.
		for _, d := range dist {
			sum += max(float64(d), 0)
		}
		if err != nil || got.Edges != test.want.Edges || got.Reached != test.want.Reached ||
			slices.Max(dist) != test.dist || math.Abs(sum-test.sum) > 1e-8 {
			t.Errorf("SCALE %d: SSSP finds %v, %v, greatest %v, sum %v", test.scale, got, err,
				slices.Max(dist), sum)
		}
		v.Close()
	}
}

// mutate changes one vertex, or swaps two.
func mutate(rng *rand.Rand, parent []uint32, dist []float32) {
	n := len(parent)
	x, y := rng.IntN(n), rng.IntN(n)
	switch kind := rng.IntN(7); {
	case kind == 0:
		parent[x] = Unreached
		if dist != nil && rng.IntN(4) > 0 {
			dist[x] = -1
		}
	case kind == 1:
		parent[x], parent[y] = parent[y], parent[x]
	case kind == 2:
		parent[x] = rng.Uint32N(uint32(n) + 1)
	case kind == 3 && dist != nil:
		dist[x] = []float32{dist[y], rng.Float32(), 0, -1, float32(math.NaN()), math.Nextafter32(dist[x], 9)}[rng.IntN(6)]
	case kind == 4 && dist != nil:
		parent[x], dist[x] = uint32(y), dist[y]+float32(rng.IntN(3))/4
	case kind == 5 && dist != nil:
		dist[x] -= dist[x] / 8
	default:
		parent[x] = uint32(y)
	}
}

// TestDeepTrees validates paths that are deeper than tags can store, and paths near the greatest
// depth of tags. The vertices are in orders that are hard for the search for levels.
func TestDeepTrees(t *testing.T) {
	team := parallel.NewTeam(2, false)
	defer team.Close()
	rng := rand.New(rand.NewPCG(8, 9))
	for _, n := range []int{maxTagDepth, maxTagDepth + 1, maxTagDepth + 2, maxTagDepth + 3, 255, 256, 257, 100_000} {
		rising := make([]int, n)
		for i := range rising {
			rising[i] = i
		}
		falling := slices.Clone(rising)
		slices.Reverse(falling)
		for _, order := range [][]int{rising, falling, rng.Perm(n)} {
			parent, tuples := make([]uint32, n), make([]tuple, n-1)
			parent[order[0]] = uint32(order[0])
			for i := range tuples {
				tuples[i] = tuple{uint64(order[i+1]), uint64(order[i]), 1}
				parent[order[i+1]] = uint32(order[i])
			}
			list := listOf(n, tuples)
			v := alone(t, list, n, team)
			got, err := v.BFS(t.Context(), uint64(order[0]), parent)
			if want := (Result{int64(n - 1), n, int64(n)}); err != nil || got != want {
				t.Errorf("path of %d: %v, %v", n, got, err)
			}
			root, last := uint64(order[0]), order[n-1]
			parent[last] = Unreached
			_, err = v.BFS(t.Context(), root, parent)
			wantRule(t, err, 4)
			parent[last] = uint32(order[n-3])
			_, err = v.BFS(t.Context(), root, parent)
			wantRule(t, err, 5)
			parent[last] = uint32(order[n-2])
			parent[order[1]] = uint32(last)
			_, err = v.BFS(t.Context(), root, parent)
			wantRule(t, err, 1)
			parent[order[1]] = uint32(root)
			for rule, more := range map[int][]tuple{
				// another component is allowed, and its edges do not count
				0: {{uint64(n), uint64(n + 1), 1}},
				3: {{uint64(last), uint64(order[n-3]), 1}},
				4: {{root, uint64(n), 1}},
			} {
				longer := listOf(n+2, append(tuples[:n-1:n-1], more...))
				v := alone(t, longer, n+2, team)
				got, err := v.BFS(t.Context(), root, append(parent[:n:n], Unreached, Unreached))
				if rule > 0 {
					wantRule(t, err, rule)
				} else if err != nil || got.Edges != int64(n-1) {
					t.Errorf("path of %d with an edge apart: %v, %v", n, got, err)
				}
				v.Close()
				longer.Close()
			}
			v.Close()
			list.Close()
		}
	}
}
