package algorithms

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/plan"
	"github.com/superstep-go/superstep/pregel"
)

// Louvain finds communities of high modularity (Blondel, Guillaume, Lambiotte, Lefebvre 2008) in an undirected graph: the value of a vertex
// is the least VertexID of its community, which is its vertex of the highest degree. Modularity is
//
//	sum over communities c of in(c)/W - (total(c)/W)²
//
// where total is the sum of the weighted degrees of c's vertices, W that of all, and in the weight of the edges inside, counted from both
// ends. Weights are 1 in a graph without; parallel edges count each; a loop adds twice its weight to its vertex's degree. A vertex
// without edges of positive weight to others is a community by itself.
//
// It goes level by level. On each, vertices move to the community of a neighbour that gains most (louvainMove); then a community becomes
// one vertex of a smaller graph (louvainMerge, which changes the graph). It ends with the level that gains less than Tolerance.
//
// The result is the same for any partitions and threads where sums of weights are whole numbers and the square of their total is below 2^53, and
// with Options.Deterministic for all weights. A round of moves takes three supersteps and a message along every edge, merging
// seven and two along every edge. It looks at edges: in a grid of partitions with both sides above 1 it cannot run; that wants --grid Nx1.
type Louvain struct {
	Tolerance  float64 `param:"tolerance" default:"1e-6" zero:"refused" help:"end with a level that raises modularity by less"`                                         // 0 means 1e-6
	Iterations int     `param:"iterations" default:"100" zero:"refused" help:"how many rounds of moves a level has at most, 2 or more: moves are judged a round later"` // 0 means 100
}

var (
	louvainParent    = pregel.NewVertexColumn[ID]("parent").Private()        // and one more, of a vertex that was merged into another; else 0
	louvainInside    = pregel.NewVertexColumn[float64]("inside").Private()   // weight inside what a vertex of the level stands for, from both ends
	louvainCommunity = pregel.NewVertexColumn[ID]("community").Private()     // the best that a level's moves have found
	louvainWeight    = pregel.NewEdgeColumn[float64]("sum_weight").Private() // for graphs without weights, too

	modularity   = pregel.SumOf[float64]("modularity").Persistent()
	totalWeight  = pregel.SumOf[float64]("total_weight").Persistent().Unreported()
	insideWeight = pregel.SumOf[float64]("inside_weight").Persistent().Unreported()
	squareTotals = pregel.SumOf[float64]("square_totals").Persistent().Unreported()
)

// quality is the modularity of communities by their sums.
func quality(inside, squares, total float64) float64 {
	if total == 0 {
		return 0
	}
	return inside/total - squares/total/total
}

// Validate refuses limits that are none, and one round: its moves would be judged in the second (louvainMove.Coordinate).
func (p Louvain) Validate() error {
	err := checkLimits(0, p.Tolerance, "a number above 0")
	if p.Iterations < 2 && p.Iterations != 0 {
		err = errors.Join(fmt.Errorf("iterations is %d, want 2 or more: moves are judged a round later", p.Iterations), err)
	}
	return err
}

// ValidateGraph refuses directed graphs, of which modularity is another.
func (Louvain) ValidateGraph(g pregel.GraphInfo) error {
	if g.Directed {
		return errors.New("louvain is of undirected graphs: take edges as undirected, by LoadOptions.Kind or --undirected")
	}
	return nil
}

// NonNegative says that no weight may be negative.
func (Louvain) NonNegative() {}

// Plan is the levels, and the search for the communities of all vertices.
func (p Louvain) Plan() pregel.Plan {
	tolerance := cmp.Or(p.Tolerance, 1e-6)
	little := func(r *plan.Round) bool {
		return !(louvainGain.Value(r) > 0 && louvainGain.Value(r) >= tolerance)
	}
	return plan.Sequence(
		plan.Phase(louvainBegin{}),
		plan.Repeat(little, plan.Phase(pregel.List(louvainMove{tolerance, cmp.Or(p.Iterations, 100)})), plan.Phase(pregel.List(louvainMerge{}))),
		plan.Phase(pregel.List(louvainFind{})))
}

// Columns are what the phases have found.
func (Louvain) Columns() []pregel.Column {
	return []pregel.Column{louvainParent, louvainInside, louvainWeight}
}

// Aggregators are the modularity and its parts.
func (Louvain) Aggregators() []pregel.Aggregate {
	return []pregel.Aggregate{modularity, totalWeight, insideWeight, squareTotals}
}

// Combiner is that of no messages.
func (Louvain) Combiner() pregel.Combiner[ID] { return combiners.Min[ID]() }

// Group is the community.
func (Louvain) Group(community ID) ID { return community }

// Coordinate computes the modularity when all communities have given their sums.
func (Louvain) Coordinate(c *pregel.Coordinator) {
	if c.Superstep == 1 {
		modularity.Replace(c, quality(insideWeight.Value(c), squareTotals.Value(c), totalWeight.Value(c)))
	}
}

// Compute takes the result of the phases. A community's sums are those of its one vertex in the last graph.
func (Louvain) Compute(v *pregel.Vertex[ID, ID], _ ID) {
	if v.Superstep() > 0 {
		v.VoteToHalt()
		return
	}
	if v.Set(v.ID()); louvainParent.Of(v) != 0 {
		v.Set(louvainParent.Of(v) - 1)
		return
	}
	addCommunity(v, louvainInside.Of(v), weightedDegree(v))
}

// addCommunity gives a community's weight inside and its sum of degrees to the aggregators that quality takes.
func addCommunity(s pregel.Scope, inside, total float64) {
	insideWeight.Add(s, inside)
	squareTotals.Add(s, total*total)
	totalWeight.Add(s, total)
}

// louvainBegin is the first phase: the weights of the loaded graph.
type louvainBegin struct{}

func (louvainBegin) Combiner() pregel.Combiner[ID] { return combiners.Min[ID]() }
func (louvainBegin) Columns() []pregel.Column      { return []pregel.Column{louvainInside, louvainWeight} }

func (louvainBegin) Compute(v *pregel.Vertex[struct{}, ID], _ ID) {
	var loops []float64
	for e := range v.Edges() {
		if louvainWeight.Set(e, e.Weight); e.To == v.ID() {
			loops = append(loops, 2*e.Weight)
		}
	}
	louvainInside.Set(v, sortedSum(loops))
	v.VoteToHalt()
}

// weightedDegree returns the weight inside a vertex of a level and of its edges to others.
func weightedDegree[V, M any](v *pregel.Vertex[V, M]) float64 {
	weights := []float64{louvainInside.Of(v)}
	for e := range v.Edges() {
		if e.To != v.ID() {
			weights = append(weights, louvainWeight.Of(e))
		}
	}
	return sortedSum(weights)
}

// sortedSum adds numbers in an order that is always the same. It reorders them.
func sortedSum(xs []float64) (sum float64) {
	slices.Sort(xs)
	for _, x := range xs {
		sum += x
	}
	return sum
}

// louvainFind is the last phase: by pointer jumping, every vertex finds the one that stands for it in the last graph, in two supersteps for
// each doubling of the number of levels. The value of a vertex is an ancestor; messages are who asks for it, and the answers.
type louvainFind struct{}

func (louvainFind) Columns() []pregel.Column { return []pregel.Column{louvainParent} }

func (louvainFind) Compute(v *pregel.Vertex[ID, ID], messages []ID) {
	v.VoteToHalt()
	if v.Superstep()%2 == 1 {
		for _, from := range messages {
			v.Send(from, v.Value())
		}
		return
	}
	switch {
	case v.Superstep() == 0 && louvainParent.Of(v) == 0:
		v.Set(v.ID())
		return
	case v.Superstep() == 0:
		v.Set(louvainParent.Of(v) - 1)
	case len(messages) == 0 || messages[0] == v.Value():
		return
	default:
		v.Set(messages[0])
		louvainParent.Set(v, messages[0]+1)
	}
	v.Send(v.Value(), v.ID())
}
