package verify

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/algorithms/reference"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/parallel"
)

// sample returns a random graph in both representations.
func sample(rng *rand.Rand, team *parallel.Team) (reference.Graph, Graph, *edges.Packed) {
	n := 1 + rng.IntN(30)
	r := reference.Graph{N: n, Directed: rng.IntN(2) == 0}
	var tuples [][2]uint64
	for range rng.IntN(3 * n) {
		u, v := rng.IntN(n), rng.IntN(n)
		r.Arcs = append(r.Arcs, [2]int{u, v})
		r.Weights = append(r.Weights, float64(rng.IntN(4))*rng.Float64()) // one in four is zero
		tuples = append(tuples, [2]uint64{uint64(u), uint64(v)})
	}
	list := edges.Pack(uint64(n), tuples, r.Weights)
	if rng.IntN(10) > 0 { // most with one goroutine, which is faster
		team = nil
	}
	return r, Graph{Edges: list, Vertices: n, Directed: r.Directed, Team: team}, list
}

// inCore counts, for each vertex of a k-core, its neighbours in the core.
func inCore(g Graph, k int64, cores []int64) []int64 {
	near, _ := g.adjacency(bothWays, multigraph)
	neighbours := make([]int64, g.Vertices)
	for v := range neighbours {
		for _, u := range near.of(v) {
			if min(cores[v], cores[u]) >= k {
				neighbours[v]++
			}
		}
	}
	return neighbours
}

// TestAgainstReference: certificates accept the reference's results. They reject changed results,
// unless these are right, too.
func TestAgainstReference(t *testing.T) {
	team := parallel.NewTeam(2, false)
	defer team.Close()
	for seed := range uint64(800) {
		rng := rand.New(rand.NewPCG(seed, 1))
		r, g, list := sample(rng, team)
		source, x, y := rng.IntN(r.N), rng.IntN(r.N), rng.IntN(r.N)
		expect := func(what string, right bool, err error) {
			t.Helper()
			if (err == nil) != right {
				t.Fatalf("seed %d, %s: right is %t, got %v; source %d of %+v", seed, what, right,
					err, source, r)
			}
		}

		level := reference.BFSLevels(r, source)
		expect("levels", true, Levels(g, source, level))
		changed := slices.Clone(level)
		changed[x] = []int64{level[y], level[x] + 1, math.MaxInt64, int64(rng.IntN(r.N))}[rng.IntN(4)]
		expect("changed levels", slices.Equal(changed, level), Levels(g, source, changed))

		parent := parents(rng, r, source, level)
		expect("parents", true, BFS(g, source, parent))
		parent[x] = int64(rng.IntN(r.N+2) - 1)
		expect("changed parents", treeIsRight(r, source, level, parent), BFS(g, source, parent))

		dist := reference.SSSP(r, source)
		expect("distances", true, SSSP(g, source, dist))
		lengths := slices.Clone(dist)
		for v := range lengths { // change several, so that vertices wrongly support each other
			if v != source && rng.IntN(3) == 0 {
				lengths[v] = []float64{dist[y], dist[v] / 2, math.Inf(1), dist[v]}[rng.IntN(4)]
			}
		}
		expect("changed distances", slices.Equal(lengths, dist), SSSP(g, source, lengths))

		label := representativesOf(r, reference.WCC(r))
		expect("components", true, WCC(g, label))
		other := slices.Clone(label)
		other[x] = other[y]
		expect("changed components", slices.Equal(other, label), WCC(g, other))

		strong := representativesOf(r, reference.SCC(r))
		expect("strong components", true, SCC(g, strong))
		others := slices.Clone(strong)
		others[x] = others[y]
		expect("changed strong components", slices.Equal(others, strong), SCC(g, others))

		labels := make([]uint64, r.N)
		for v, l := range reference.CDLP(r, 4) {
			labels[v] = uint64(l)
		}
		expect("propagated labels", true, CDLP(g, 4, labels))
		labels[x]++
		expect("a changed label", false, CDLP(g, 4, labels))

		lcc := reference.LCC(r)
		expect("coefficients", true, LCC(g, lcc))
		lcc[x] += 1e-9
		expect("a changed coefficient", false, LCC(g, lcc))

		triangles := reference.Triangles(r)
		expect("triangles", true, Triangles(g, triangles))
		triangles[x]++
		expect("a triangle more", false, Triangles(g, triangles))

		cores := reference.Cores(r)
		expect("cores", true, KCore(g, cores))
		k := 1 + rng.Int64N(3)
		neighbours := inCore(g, k, cores)
		expect("one core", true, InCore(g, k, neighbours))
		neighbours[x]++
		expect("a neighbour more", false, InCore(g, k, neighbours))
		cores[x]++
		expect("a core too high", false, KCore(g, cores))

		degrees := make([][3]int64, r.N)
		out, in := reference.Degrees(r)
		for v := range degrees {
			degrees[v] = [3]int64{int64(out[v]), int64(in[v]), int64(out[v])}
			if r.Directed {
				degrees[v][2] += int64(in[v])
			}
		}
		expect("degrees", true, Degrees(g, degrees))
		degrees[x][rng.IntN(3)]++
		expect("a degree more", false, Degrees(g, degrees))

		for _, k := range []int{0, 1, 5} {
			rank := reference.PageRank(r, 0.85, k)
			expect("ranks", true, Ranks(g, 0.85, k, 0, rank))
			rank[x] *= 1 + 1e-9
			expect("a rank too high", false, Ranks(g, 0.85, k, 0, rank))
		}
		list.Close()
	}
}

// parents returns a random tree that matches the levels.
func parents(rng *rand.Rand, r reference.Graph, source int, level []int64) []int64 {
	parent := slices.Repeat([]int64{-1}, r.N)
	parent[source] = int64(source)
	for _, i := range rng.Perm(len(r.Arcs)) {
		for _, a := range ways(r, r.Arcs[i]) {
			if level[a[0]] != math.MaxInt64 && level[a[1]] == level[a[0]]+1 {
				parent[a[1]] = int64(a[0])
			}
		}
	}
	return parent
}

func ways(r reference.Graph, a [2]int) [][2]int {
	if r.Directed {
		return [][2]int{a}
	}
	return [][2]int{a, {a[1], a[0]}}
}

// treeIsRight reports whether every reached vertex has a parent on the level above, from which an
// arc leads to it.
func treeIsRight(r reference.Graph, source int, level, parent []int64) bool {
	for v, p := range parent {
		switch {
		case v == source:
			if p != int64(source) {
				return false
			}
		case level[v] == math.MaxInt64 || p < 0 || p >= int64(r.N):
			if p != -1 || level[v] != math.MaxInt64 {
				return false
			}
		case level[p] != level[v]-1 || !slices.ContainsFunc(r.Arcs, func(a [2]int) bool {
			return slices.Contains(ways(r, a), [2]int{int(p), v})
		}):
			return false
		}
	}
	return true
}
