package programs_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/programtest"
	"github.com/superstep-go/superstep/plan"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/pregel/pregeltest"
)

// Forest finds the minimum spanning forest of an undirected graph by Boruvka's algorithm (1926): each component takes the lightest edge
// that leaves it, until none does. The value of a vertex is the list of its edges in the forest.
type Forest struct{}

var (
	component = pregel.NewVertexColumn[id]("component")
	tree      = pregel.NewVertexColumn[[]edge]("tree")
	grown     = pregel.AnyOf("grown")
)

func (Forest) Plan() pregel.Plan {
	return plan.Repeat(func(r *plan.Round) bool { return !grown.Value(r) }, plan.Phase(merge{}), plan.Phase(pregel.List(grow{})))
}

func (Forest) Combiner() pregel.Combiner[bool] { return combiners.Or() }
func (Forest) Columns() []pregel.Column        { return []pregel.Column{tree} }
func (Forest) Compute(v *pregel.Vertex[[]edge, bool], _ bool) {
	v.Set(slices.SortedFunc(slices.Values(tree.Of(v)), edge.compare))
	v.VoteToHalt()
}

// merge gives each vertex the least id of its component, which the edges of the tree join.
type merge struct{}

func (merge) Combiner() pregel.Combiner[id] { return combiners.Min[id]() }
func (merge) Columns() []pregel.Column      { return []pregel.Column{component, tree} }

func (p merge) Init(v *pregel.Vertex[struct{}, id]) {
	component.Set(v, pregel.None)
	p.Compute(v, v.ID())
}

func (merge) Compute(v *pregel.Vertex[struct{}, id], least id) {
	if least < component.Of(v) {
		component.Set(v, least)
		for _, e := range tree.Of(v) {
			v.Send(e.To, least)
		}
	}
	v.VoteToHalt()
}

// grow finds the lightest edge that leaves each component: all edges go to their ends, from there the lightest to the vertex that
// the component is named after, and from there the lightest of these to its ends. Of equal weights the ids decide.
type grow struct{}

type candidate struct {
	Weight    float64
	Low, High id // its ends
	Component id // at one end
}

func (a candidate) compare(b candidate) int {
	return cmp.Or(cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.Low, b.Low), cmp.Compare(a.High, b.High))
}

func (grow) Columns() []pregel.Column        { return []pregel.Column{component, tree} }
func (grow) Aggregators() []pregel.Aggregate { return []pregel.Aggregate{grown} }

func (grow) Compute(v *pregel.Vertex[struct{}, candidate], all []candidate) {
	v.VoteToHalt()
	own := component.Of(v)
	switch v.Superstep() {
	case 0:
		for e := range v.Edges() {
			v.Send(e.To, candidate{e.Weight, min(v.ID(), e.To), max(v.ID(), e.To), own})
		}
	case 3:
		for _, c := range all {
			e := edge{c.Low + c.High - v.ID(), c.Weight}
			if !slices.Contains(tree.Of(v), e) { // the component at the other end may take it too
				tree.Set(v, append(tree.Of(v), e))
			}
		}
		grown.Add(v, true)
	default:
		leaving := slices.DeleteFunc(all, func(c candidate) bool { return c.Component == own })
		if len(leaving) == 0 {
			return
		}
		least := slices.MinFunc(leaving, candidate.compare)
		if v.Superstep() == 1 {
			v.Send(own, least)
			return
		}
		v.Send(least.Low, least)
		v.Send(least.High, least)
	}
}

// kruskal finds the minimum spanning forest of a graph of handles: the lightest edges first, all that join two components.
func kruskal(n int, all []candidate) (forest []candidate) {
	components := make([]int, n)
	for v := range components {
		components[v] = v
	}
	slices.SortFunc(all, candidate.compare)
	for _, c := range all {
		a, b := components[c.Low], components[c.High]
		if a == b {
			continue
		}
		forest = append(forest, c)
		for v := range components {
			if components[v] == b {
				components[v] = a
			}
		}
	}
	return forest
}

func TestForest(t *testing.T) {
	for name, g := range pregeltest.Graphs(t, 11) {
		if g.IsDirected() {
			continue
		}
		var all []candidate
		for u, list := range edgesOf(t, g) {
			for _, e := range list {
				all = append(all, candidate{Weight: e.Weight, Low: min(id(u), e.To), High: max(id(u), e.To)})
			}
		}
		want := make([][]edge, g.NumVertices())
		for _, c := range kruskal(len(want), all) {
			want[c.Low] = append(want[c.Low], edge{c.High, c.Weight})
			want[c.High] = append(want[c.High], edge{c.Low, c.Weight})
		}
		res := pregeltest.Matrix(t, g, Forest{})
		for u, list := range want {
			slices.SortFunc(list, edge.compare)
			if got := res.Value(id(u)); !slices.Equal(got, list) {
				t.Errorf("%s: vertex %d has the edges %v in the forest, expected %v", name, g.Label(id(u)), got, list)
			}
		}
	}
	here, there := programtest.Load(t, cluster(t), "kronecker:scale=8", superstep.LoadOptions{Weights: superstep.Float64})
	programtest.Same(t, here, there, Forest{}, superstep.Options{})
}
