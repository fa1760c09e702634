package verify

import (
	"cmp"
	"slices"

	"github.com/superstep-go/superstep/internal/edges"
)

// Branch is an edge of a forest, seen from one of its ends.
type Branch struct {
	To     int64
	Weight float64
}

// MSF checks a minimum spanning forest. A vertex has its tree's representative and its edges. MSF
// computes a forest by Kruskal's algorithm (1956); all minimum forests have the same weights:
//
//   - edge: each is an edge of the graph, with its weight, and both its ends have it;
//   - cycle: edges form no cycle;
//   - span: there are as many edges as in any spanning forest;
//   - weight: there are as many edges of each weight as in the computed forest;
//   - tree: vertices have the same tree if and only if edges join them; its name is its
//     representative (see Graph.representatives).
func MSF(g Graph, tree []uint64, branches [][]Branch) error {
	if err := g.fits(len(tree), "trees"); err != nil {
		return err
	}
	if err := g.fits(len(branches), "lists of edges"); err != nil {
		return err
	}
	g = g.passes(1)
	all, err := g.tuples()
	if err != nil {
		return err
	}
	forest, weights, ends := newUnion(g.Vertices), []float64{}, 0
	for u, list := range branches {
		ends += len(list)
		for _, e := range list {
			v := int(e.To)
			if e.To < 0 || e.To >= int64(g.Vertices) {
				return violation("edge", "vertex %d has an edge to %d, which is no vertex",
					g.name(u), e.To)
			}
			if _, found := slices.BinarySearchFunc(all, edge{e.Weight, min(u, v), max(u, v)},
				edge.compare); !found {
				return violation("edge",
					"the graph has no edge of vertices %d and %d with the weight %g", g.name(u),
					g.name(v), e.Weight)
			}
			if !slices.Contains(branches[v], Branch{int64(u), e.Weight}) {
				return violation("edge", "vertex %d has an edge to %d that this one has not",
					g.name(u), g.name(v))
			}
			if u < v {
				if !forest.join(u, v) {
					return violation("cycle", "the edge of vertices %d and %d closes a cycle",
						g.name(u), g.name(v))
				}
				weights = append(weights, e.Weight)
			}
		}
	}
	if ends != 2*len(weights) {
		return violation("edge", "%d edges are listed %d times, expected twice each", len(weights),
			ends)
	}
	slices.Sort(weights)
	spanning, want := newUnion(g.Vertices), []float64{}
	for _, e := range all {
		if spanning.join(e.low, e.high) {
			want = append(want, e.weight)
		}
	}
	if len(weights) != len(want) {
		return violation("span", "there are %d edges, and a spanning forest has %d", len(weights),
			len(want))
	}
	for i, w := range weights {
		if w != want[i] {
			return violation("weight",
				"by weight, edge %d of %d has %g, and in the lightest forest %g", i+1, len(weights),
				w, want[i])
		}
	}
	for v, t := range tree {
		if t >= uint64(g.Vertices) || forest.find(int(t)) != forest.find(v) {
			return violation("tree", "vertex %d is in a tree named after another, of vertex %d",
				g.name(v), g.Labels.Of(t))
		}
		if first := tree[forest.find(v)]; first != t {
			return violation("tree", "vertex %d has the tree %d, and others of it %d", g.name(v),
				g.Labels.Of(t), g.Labels.Of(first))
		}
	}
	return g.representatives("tree", tree)
}

// edge is an edge, ordered by weight, then by its ends.
type edge struct {
	weight    float64
	low, high int
}

func (e edge) compare(f edge) int {
	return cmp.Or(cmp.Compare(e.weight, f.weight), cmp.Compare(e.low, f.low),
		cmp.Compare(e.high, f.high))
}

// tuples returns all edges in ascending order.
func (g Graph) tuples() (all []edge, err error) {
	var b edges.Block
	for i := range edges.Blocks(g.Edges) {
		if err := g.read(i, &b); err != nil {
			return nil, err
		}
		for j, u := range b.U[:b.N] {
			all = append(all, edge{b.W[j], int(min(u, b.V[j])), int(max(u, b.V[j]))})
		}
	}
	slices.SortFunc(all, edge.compare)
	return all, nil
}

// union is a union-find of vertices (Tarjan 1975): the parent of each.
type union []int

func newUnion(n int) union {
	u := make(union, n)
	for v := range u {
		u[v] = v
	}
	return u
}

// find returns the representative of a vertex's set.
func (u union) find(v int) int {
	for u[v] != v {
		u[v] = u[u[v]]
		v = u[v]
	}
	return v
}

// join merges the sets of two vertices. It returns false if they are the same set.
func (u union) join(v, w int) bool {
	v, w = u.find(v), u.find(w)
	u[max(v, w)] = min(v, w)
	return v != w
}
