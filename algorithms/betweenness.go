package algorithms

import (
	"fmt"
	"math"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/plan"
	"github.com/superstep-go/superstep/pregel"
)

// Betweenness finds the betweenness centrality of vertices (Freeman 1977). For each pair of other
// vertices, take the share of their shortest paths that lead through the vertex, or 0 if there is
// no path. The result is the mean over all pairs, the normalised betweenness of networkx. Paths are
// shortest by the number of edges. Parallel edges make different paths; loops are on no path.
//
// It is Brandes' algorithm (2001), from Sources or from a sample of vertices (Brandes and Pich
// 2007). The sums are divided by the share of vertices in the sample; if the sample has all
// vertices, the result is exact. From each source a forward search counts shortest paths, and a
// backward sweep adds up dependencies. Both send a message along every reached edge. The run fails
// if there are more shortest paths than a float64 counts, about 2^1024.
type Betweenness struct {
	Sources []ID `param:"sources" default:"" help:"vertices where paths start (default: a sample)"`
	Samples int  `param:"samples" default:"64" unless:"sources" zero:"refused" help:"number of vertices in the sample, at most 65536"`
}

var (
	// the level of a vertex in the search, -1 if unreached
	depth      = pregel.NewVertexColumn[int32]("level").Private()
	paths      = pregel.NewVertexColumn[float64]("paths").Private()
	centrality = pregel.NewVertexColumn[float64]("centrality").Private()
	deepest    = pregel.MaxOf("deepest", int32(-1)).Persistent()
	uncounted  = pregel.MinOf("least vertex with too many paths",
		uint64(math.MaxUint64)).Unreported()
)

func (p Betweenness) origins() origins { return chosen(p.Sources, p.Samples) }

// Validate checks the number of samples.
func (p Betweenness) Validate(*pregel.GraphInfo) error { return p.origins().check() }

// Plan chooses the sources, and runs two searches for each.
func (p Betweenness) Plan() pregel.Plan {
	return plan.Sequence(plan.Phase(p.origins()), plan.Repeat(noneLeft, plan.Phase(countPaths{}),
		plan.Phase(addDependencies{})))
}

// Combiner is required, although there are no messages after the plan.
func (Betweenness) Combiner() pregel.Combiner[float64] { return combiners.Sum[float64]() }

// Traits returns the traits. Aggregators: whether the values are estimates.
func (Betweenness) Traits() traits {
	return traits{Converges: true, Aggregators: aggregates{estimated}, Columns: columns{centrality}}
}

// Coordinate reports whether the values are estimates.
func (p Betweenness) Coordinate(c *pregel.Coordinator) { p.origins().tellEstimates(c) }

// Report returns the statistics for reports.
func (Betweenness) Report() pregel.Report[float64] { return scored[float64]("betweenness") }

// Compute scales the sum by the number of pairs.
func (p Betweenness) Compute(v *pregel.Vertex[float64, float64], _ float64) {
	if n := float64(v.NumVertices()); n > 2 {
		sources := float64(p.origins().count(v.NumVertices()))
		v.Set(centrality.Of(v) * n / sources / ((n - 1) * (n - 2)))
	}
	v.VoteToHalt()
}

// countPaths counts the shortest paths from the source of the next search to every vertex.
type countPaths struct{}

func (countPaths) Combiner() pregel.Combiner[float64] { return combiners.Sum[float64]() }
func (countPaths) Traits() traits {
	return traits{Columns: columns{search, depth, paths}}
}

func (p countPaths) Init(v *pregel.Vertex[struct{}, float64]) {
	depth.Set(v, -1)
	paths.Set(v, 0)
	if search.Set(v, search.Of(v)-1); search.Of(v) == 0 {
		p.Compute(v, 1)
	}
	v.VoteToHalt()
}

func (countPaths) Compute(v *pregel.Vertex[struct{}, float64], sum float64) {
	if depth.Of(v) < 0 {
		depth.Set(v, int32(v.Superstep()))
		paths.Set(v, sum)
		v.SendToAllNeighbors(sum)
	}
	v.VoteToHalt()
}

// addDependencies goes from the deepest level back to the source. Messages are (1 + dependency) /
// paths, along in-edges.
type addDependencies struct{}

func (addDependencies) Combiner() pregel.Combiner[float64] { return combiners.Sum[float64]() }
func (addDependencies) Traits() traits {
	return traits{
		Direction: pregel.In, Aggregators: aggregates{deepest, left, uncounted},
		Columns: columns{search, depth, paths, centrality},
	}
}

// Coordinate fails the run if a number of paths is infinite: no share of it can be computed.
func (addDependencies) Coordinate(c *pregel.Coordinator) {
	if v := uncounted.Value(c); v != math.MaxUint64 {
		c.Fail(fmt.Errorf(
			"more shortest paths lead from a source to vertex %d than a float64 counts", v))
	}
}

func (addDependencies) Init(v *pregel.Vertex[struct{}, float64]) {
	if math.IsInf(paths.Of(v), 1) {
		uncounted.Add(v, v.Label())
	}
	left.Add(v, search.Of(v))
	if deepest.Add(v, depth.Of(v)); depth.Of(v) < 0 {
		v.Finish()
	}
}

func (addDependencies) Compute(v *pregel.Vertex[struct{}, float64], sum float64) {
	if int(depth.Of(v)) != int(deepest.Value(v))-v.Superstep()+1 {
		return // not its turn yet
	}
	dependency := sum * paths.Of(v)
	if search.Of(v) != 0 {
		centrality.Set(v, centrality.Of(v)+dependency)
	}
	v.SendToAllNeighbors((1 + dependency) / paths.Of(v))
	v.Finish()
}
