package programs_test

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/algorithms/reference"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/pregel/pregeltest"
)

// Contract finds the minimum spanning forest of an undirected graph by Boruvka's algorithm (1926).
// Each vertex takes its lightest edge, and the connected vertices are contracted into one, until no
// edge is left. One vertex of each component remains. Its value has the weights of the component's
// tree.
type Contract struct{}

type piece struct {
	Root   id
	Picked edge
	Tree   []float64
}

// note contains the sender's id, a root, or the weights of a tree.
type note struct {
	From, Root id
	Tree       []float64
}

const (
	pick = iota
	join
	answer
	jump
	tell
	contract
)

// candidate is an edge, ordered by weight and then by the ids, which prevents cycles.
type candidate struct {
	Weight    float64
	Low, High id // its ends
}

func (a candidate) compare(b candidate) int {
	return cmp.Or(cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.Low, b.Low),
		cmp.Compare(a.High, b.High))
}

var jumped = pregel.AnyOf("jumped")

func (Contract) Traits() pregel.Traits {
	return pregel.Traits{Mutates: true, Aggregators: []pregel.Aggregate{jumped}}
}

func (Contract) Coordinate(c *pregel.Coordinator) {
	switch {
	case c.Superstep == 0, c.Phase == contract:
		c.SetPhase(pick)
	case c.Phase == jump && jumped.Value(c):
		c.SetPhase(answer)
	default:
		c.SetPhase(c.Phase + 1)
	}
}

func (Contract) Compute(v *pregel.Vertex[piece, note], notes []note) {
	x := v.Ref()
	switch v.Phase() {
	case pick:
		for _, n := range notes {
			x.Tree = append(x.Tree, n.Tree...)
		}
		slices.Sort(x.Tree)
		least := candidate{Weight: math.Inf(1)}
		for e := range v.Edges() {
			if c := (candidate{Weight: e.Weight, Low: min(v.ID(), e.To), High: max(v.ID(),
				e.To)}); e.To != v.ID() && c.compare(least) < 0 {
				least, x.Picked = c, edge{e.To, e.Weight}
			}
		}
		if x.Root = v.ID(); math.IsInf(least.Weight, 1) {
			v.VoteToHalt()
			return
		}
		v.Send(x.Picked.To, note{From: v.ID()})
	case join: // of two vertices that took each other, the first is the root
		if v.ID() > x.Picked.To ||
			!slices.ContainsFunc(notes, func(n note) bool { return n.From == x.Picked.To }) {
			x.Root, x.Tree = x.Picked.To, append(x.Tree, x.Picked.Weight)
			v.Send(x.Root, note{From: v.ID()})
		}
	case answer:
		for _, n := range notes {
			v.Send(n.From, note{Root: x.Root})
		}
	case jump:
		for _, n := range notes {
			jumped.Add(v, n.Root != x.Root)
			x.Root = n.Root
			v.Send(x.Root, note{From: v.ID()})
		}
	case tell:
		v.SendToAllNeighbors(note{From: v.ID(), Root: x.Root})
	case contract:
		roots := map[id]id{}
		for _, n := range notes {
			roots[n.From] = n.Root
		}
		edges := slices.Collect(v.Edges())
		if x.Root == v.ID() {
			for _, e := range edges {
				v.Change().RemoveEdge(v.ID(), e.To)
			}
		} else {
			v.Send(x.Root, note{Tree: x.Tree})
			v.Change().RemoveVertex(v.ID())
		}
		for _, e := range edges { // both ends know both roots
			if v.ID() < e.To && roots[e.To] != x.Root {
				v.Change().AddEdge(x.Root, roots[e.To], e.Weight)
			}
		}
	}
}

func TestContract(t *testing.T) {
	for name, g := range pregeltest.Graphs(t, 11) {
		if g.IsDirected() {
			continue
		}
		twin := reference.Graph{N: g.NumVertices()}
		for u, list := range edgesOf(t, g) {
			for _, e := range list {
				twin.Arcs, twin.Weights = append(twin.Arcs, [2]int{u, int(e.To)}),
					append(twin.Weights, e.Weight)
			}
		}
		want := map[id][]float64{} // by the lowest id of a component
		components := map[id]id{}
		for u := range g.NumVertices() {
			components[id(u)] = id(u)
			want[id(u)] = nil
		}
		for _, i := range reference.MSF(twin) {
			a, b := components[id(twin.Arcs[i][0])], components[id(twin.Arcs[i][1])]
			a, b = min(a, b), max(a, b)
			for v := range components {
				if components[v] == b {
					components[v] = a
				}
			}
			want[a] = append(append(want[a], want[b]...), twin.Weights[i])
			delete(want, b)
		}
		res := pregeltest.Matrix(t, g, pregel.List(Contract{}))
		got := map[id][]float64{}
		for label, x := range res.All() {
			v, ok := g.Vertex(label)
			if _, twice := got[components[v]]; !ok || twice {
				t.Errorf(
					"%s: a component has two vertices left, or %d is not a vertex", name, label)
			}
			got[components[v]] = x.Tree
		}
		for _, trees := range []map[id][]float64{got, want} {
			for _, tree := range trees {
				slices.Sort(tree)
			}
		}
		if !maps.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%s: the trees are %v, expected %v", name, got, want)
		}
		if n := res.Graph().NumVertices(); n != len(want) {
			t.Errorf("%s: %d vertices are left of %d components", name, n, len(want))
		}
		res.Graph().Close()
	}
}
