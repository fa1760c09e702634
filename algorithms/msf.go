package algorithms

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/plan"
	"github.com/superstep-go/superstep/pregel"
)

// MSF finds a minimum spanning forest of an undirected graph: for each component a tree whose edges
// have the least total weight. Without weights each edge has weight 1. Weights may be negative. Of
// equal weights the edge with the lower VertexIDs counts as lighter, so the forest is the same for
// any number of partitions.
//
// The value of a vertex has the representative of its tree, which is the member with most edges, or
// the first of them in the input. Then it has the vertex's edges in the forest, as other:weight. In
// names a backslash precedes blanks, colons, semicolons and backslashes.
//
// It is Boruvka's algorithm (1926). In each round every tree takes the lightest edge that leaves
// it, and the trees that such edges join become one. So each round at least halves the number of
// trees that an edge leaves. A tree is known by its root. The roots of joined trees hook onto each
// other, and all vertices find the new root by pointer jumping (Chung and Condon 1996). A round
// takes seven supersteps, and two for each doubling of the length of a chain of hooks. There are at
// most log n rounds. Only vertices with an edge that leaves their tree send along their edges, and
// ask their root. It looks at edges, so it cannot run in a grid of partitions with more than one
// row and column: use --grid Nx1.
type MSF struct{}

// Branch is the result for a vertex: the representative of its tree, and its edges in the forest,
// ordered by To.
type Branch struct {
	Tree  ID
	Edges []TreeEdge
}

// TreeEdge is an edge of a spanning forest, seen from one of its ends.
type TreeEdge struct {
	To     ID
	Weight float64
}

var (
	msfRoot  = pregel.NewVertexColumn[ID]("root").Private()
	msfInner = pregel.NewVertexColumn[bool]("inner").Private() // no edge leaves the tree here
	msfEdges = pregel.NewVertexColumn[[]TreeEdge]("edges").Private()
	msfGrown = pregel.AnyOf("grown")

	treeWeight = pregel.SumOf[float64]("weight").Persistent()
	treeCount  = pregel.SumOf[int64]("trees").Persistent()
)

// Validate rejects directed graphs.
func (MSF) Validate(g *pregel.GraphInfo) error { return undirected(g, "msf") }

// Plan runs the rounds. Then all vertices find their root, and the representative of their tree.
func (MSF) Plan() pregel.Plan {
	done := func(r *plan.Round) bool { return !msfGrown.Value(r) }
	return plan.Sequence(
		plan.Phase(msfBegin{}),
		plan.Repeat(done, plan.Phase(pregel.List(msfJump{})), plan.Phase(pregel.List(msfGrow{}))),
		plan.Phase(pregel.List(msfJump{all: true})),
		plan.Phase(pregel.List(msfName{})))
}

// Combiner is required; there are no messages.
func (MSF) Combiner() pregel.Combiner[bool] { return combiners.Or() }

// Traits returns the traits. Aggregators: the weight of the forest and the number of trees.
func (MSF) Traits() pregel.Traits {
	return traits{
		Converges: true, Aggregators: aggregates{treeWeight, treeCount},
		Columns: columns{msfRoot, msfEdges},
	}
}

// Report returns the statistics for reports.
func (MSF) Report() pregel.Report[Branch] {
	return report[Branch]{Group: func(b Branch) ID { return b.Tree }}
}

// OutputLabels appends the tree, and each edge of the forest as other:weight.
func (MSF) OutputLabels(dst []byte, b Branch, label func(dst []byte, id ID) []byte) []byte {
	dst = label(dst, b.Tree)
	for _, e := range b.Edges {
		dst = append(label(append(dst, ' '), e.To), ':')
		dst = strconv.AppendFloat(dst, e.Weight, 'g', -1, 64)
	}
	return dst
}

// Compute takes the result of the rounds.
func (MSF) Compute(v *pregel.Vertex[Branch, bool], _ bool) {
	edges := slices.SortedFunc(slices.Values(msfEdges.Of(v)),
		func(a, b TreeEdge) int { return cmp.Compare(a.To, b.To) })
	v.Set(Branch{msfRoot.Of(v), edges})
	for _, e := range edges {
		if v.ID() < e.To {
			treeWeight.Add(v, e.Weight)
		}
	}
	if msfRoot.Of(v) == v.ID() {
		treeCount.Add(v, 1)
	}
	v.VoteToHalt()
}

// msfBegin makes each vertex a tree.
type msfBegin struct{}

func (msfBegin) Combiner() pregel.Combiner[bool] { return combiners.Or() }
func (msfBegin) Traits() traits                  { return traits{Columns: columns{msfRoot}} }

func (msfBegin) Compute(v *pregel.Vertex[struct{}, bool], _ bool) {
	msfRoot.Set(v, v.ID())
	v.VoteToHalt()
}

// msfJump finds the root of each vertex's tree. A vertex asks the vertex that it knows as root for
// that vertex's root, until the answer is the vertex asked. Vertices whose edges all stay inside
// their tree do so only in the last phase. Messages are the ids of vertices that ask, in odd
// supersteps, and the answers.
type msfJump struct{ all bool }

func (msfJump) Traits() traits { return traits{Columns: columns{msfRoot, msfInner}} }

func (p msfJump) Compute(v *pregel.Vertex[struct{}, ID], messages []ID) {
	v.VoteToHalt()
	root := msfRoot.Of(v)
	switch {
	case v.Superstep()%2 == 1:
		for _, from := range messages {
			v.Send(from, root)
		}
		return
	case v.Superstep() == 0 && (root == v.ID() || msfInner.Of(v) && !p.all):
		return
	case v.Superstep() > 0 && (len(messages) == 0 || messages[0] == root):
		return
	case v.Superstep() > 0:
		root = messages[0]
		msfRoot.Set(v, root)
	}
	v.Send(root, v.ID())
}

// msfName names each tree by its representative, the member with the least id. All vertices send
// their ids to the root, and the root answers.
type msfName struct{}

func (msfName) Traits() traits { return traits{Columns: columns{msfRoot}} }

func (msfName) Compute(v *pregel.Vertex[struct{}, ID], messages []ID) {
	v.VoteToHalt()
	switch v.Superstep() {
	case 0:
		v.Send(msfRoot.Of(v), v.ID())
	case 1:
		least := slices.Min(messages)
		for _, from := range messages {
			v.Send(from, least)
		}
	case 2:
		msfRoot.Set(v, messages[0])
	}
}
