package verify

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/algorithms/reference"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/parallel"
)

// TestMSFAgainstReference: the certificate accepts the reference's forest and rejects changed ones.
func TestMSFAgainstReference(t *testing.T) {
	team := parallel.NewTeam(2, false)
	defer team.Close()
	seen := map[string]int{}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 3))
		r, g, list := sample(rng, team)
		r.Directed, g.Directed = false, false
		weight := func(i int) float64 {
			if r.Weights == nil {
				return 1
			}
			return r.Weights[i]
		}
		made := func(chosen []int) ([]uint64, [][]Branch) {
			tree, branches := representativesOf(r, reference.WCC(r)), make([][]Branch, r.N)
			for _, i := range chosen {
				u, v := r.Arcs[i][0], r.Arcs[i][1]
				branches[u], branches[v] = append(branches[u], Branch{int64(v), weight(i)}),
					append(branches[v], Branch{int64(u), weight(i)})
			}
			return tree, branches
		}
		forest := reference.MSF(r)
		tree, branches := made(forest)
		wantRule(t, MSF(g, tree, branches), "")
		if len(forest) > 0 {
			seen["edge"]++
			tree, branches = made(forest[1:])
			wantRule(t, MSF(g, tree, branches), "span")
			tree, branches = made(forest)
			u := r.Arcs[forest[0]][0]
			branches[u] = branches[u][1:]
			wantRule(t, MSF(g, tree, branches), "edge")
			tree, branches = made(forest)
			tree[u] = uint64((int(tree[u]) + 1) % r.N)
			wantRule(t, MSF(g, tree, branches), "tree")
		}
		for i, a := range r.Arcs { // one edge too many, and a heavier edge in place of another
			if a[0] == a[1] || slices.Contains(forest, i) {
				continue
			}
			seen["cycle"]++
			tree, branches = made(append(slices.Clone(forest), i))
			wantRule(t, MSF(g, tree, branches), "cycle")
			for k, j := range forest {
				if other := slices.Replace(slices.Clone(forest), k, k+1,
					i); weight(i) > weight(j) && spans(r, other) {
					seen["weight"]++
					tree, branches = made(other)
					wantRule(t, MSF(g, tree, branches), "weight")
				}
			}
		}
		list.Close()
	}
	if seen["edge"] == 0 || seen["cycle"] == 0 || seen["weight"] == 0 {
		t.Errorf("cases: %v", seen)
	}
}

// TestMSFOfLoops: a forest contains neither a loop nor an edge twice.
func TestMSFOfLoops(t *testing.T) {
	r := reference.Graph{N: 3, Arcs: [][2]int{{0, 0}, {0, 1}, {1, 2}}, Weights: []float64{1, 1, 2}}
	list := edges.Pack(3, [][2]uint64{{0, 0}, {0, 1}, {1, 2}}, r.Weights)
	defer list.Close()
	g, tree := Graph{Edges: list, Vertices: 3}, representativesOf(r, reference.WCC(r))
	for _, c := range []struct {
		of   int
		more []Branch
		rule string
	}{
		{0, nil, ""},
		{0, []Branch{{0, 1}}, "edge"},
		{0, []Branch{{0, 1}, {0, 1}}, "edge"},
		{0, []Branch{{1, 1}}, "cycle"},
		{1, []Branch{{0, 1}}, "edge"},
	} {
		branches := [][]Branch{{{1, 1}}, {{0, 1}, {2, 2}}, {{1, 2}}}
		branches[c.of] = append(branches[c.of], c.more...)
		wantRule(t, MSF(g, tree, branches), c.rule)
	}
}

// spans reports whether the chosen edges are free of cycles.
func spans(r reference.Graph, chosen []int) bool {
	sets := newUnion(r.N)
	for _, i := range chosen {
		if !sets.join(r.Arcs[i][0], r.Arcs[i][1]) {
			return false
		}
	}
	return true
}
