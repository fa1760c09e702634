package algorithms

import (
	"cmp"
	"slices"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/plan"
	"github.com/superstep-go/superstep/pregel"
)

// Louvain finds communities of high modularity in an undirected graph (Blondel, Guillaume,
// Lambiotte, Lefebvre 2008). The value of a vertex is the representative of its community: the
// member with most edges, or the first of them in the input. Modularity is
//
//	sum over communities c of in(c)/W - (total(c)/W)²
//
// Here total is the sum of the weighted degrees of c's vertices, W the sum for all vertices, and in
// the weight of the edges inside c, counted from both ends. Without weights each edge has weight 1.
// Each parallel edge counts. A loop adds twice its weight to the degree of its vertex. A vertex
// without edges of positive weight to others is a community of one.
//
// The algorithm has levels. On each level, vertices move to the neighbouring community with the
// largest gain (louvainMove). Then communities are split into their connected parts (louvainSplit),
// and each part becomes a vertex of a smaller graph (louvainMerge), until no merge of two
// communities gains. Then the vertices of the loaded graph move again (louvainRestore), until
// nothing gains. In the result no move of a vertex, to another community or to a new one, and no
// merge of two communities gains more than Tolerance, and every community is connected. Graphs of
// at most 4096 vertices are searched four times in different orders, and the best result counts.
//
// The result is the same for any partitions and threads if sums of weights are whole numbers and
// the square of their total is below 2^53, and for all weights with Options.Deterministic. A round
// of moves takes five supersteps and a message along every edge; a merge takes four and a message
// along every edge. It looks at edges, so it cannot run in a grid of partitions with more than one
// row and column: use --grid Nx1.
type Louvain struct {
	Tolerance  float64 `param:"tolerance" default:"1e-12" zero:"refused" help:"a vertex moves only for a gain of modularity above this"`
	Iterations int     `param:"iterations" default:"100" zero:"refused" help:"largest number of rounds of moves before communities are merged"`
}

var (
	// plus 1, of a vertex that was merged into another; else 0
	louvainParent = pregel.NewVertexColumn[ID]("parent").Private()
	// weight of the edges inside the vertices that a vertex of the level represents, from both ends
	louvainInside = pregel.NewVertexColumn[float64]("inside").Private()
	// None for a new community
	louvainCommunity = pregel.NewVertexColumn[ID]("community").Private()
	// the arcs of the loaded graph
	louvainArcs = pregel.NewVertexColumn[[]louvainArc]("arcs").Private()
	// the result of the best search so far
	louvainBest = pregel.NewVertexColumn[louvainSearch]("best").Private()
	// the weight of an edge of a level; graphs without weights need it too
	louvainWeight = pregel.NewEdgeColumn[float64]("sum_weight").Private()

	modularity   = pregel.SumOf[float64]("modularity").Persistent()
	totalWeight  = pregel.SumOf[float64]("total_weight").Persistent().Unreported()
	insideWeight = pregel.SumOf[float64]("inside_weight").Persistent().Unreported()
	squareTotals = pregel.SumOf[float64]("square_totals").Persistent().Unreported()
	// number of finished searches
	searches = pregel.MaxOf("searches", 0).Persistent().Unreported()
)

// louvainArc is an edge of the loaded graph, seen from one of its ends. Parallel edges are merged.
// The first arc of a vertex has the weight of its loops.
type louvainArc struct {
	To     ID
	Weight float64
}

// louvainSearch is the result for a vertex in the best search so far.
type louvainSearch struct {
	Searches   int
	Modularity float64
	Community  ID
}

// Graphs of at most smallGraph vertices are searched mostSearches times.
const (
	smallGraph   = 4096
	mostSearches = 4
)

// quality returns the modularity of communities from their sums.
func quality(inside, squares, total float64) float64 {
	if total == 0 {
		return 0
	}
	return inside/total - squares/total/total
}

// Validate checks the limits, and rejects directed graphs, for which modularity has another
// definition.
func (p Louvain) Validate(g *pregel.GraphInfo) error {
	return cmp.Or(undirected(g, "louvain"),
		checkLimits(p.Iterations, p.Tolerance, "a number above 0"))
}

// Traits returns the traits. Aggregators: the modularity and its parts.
func (Louvain) Traits() traits {
	return traits{
		NonNegative: true, Converges: true,
		Aggregators: aggregates{modularity, totalWeight, insideWeight, squareTotals},
		Columns:     columns{louvainParent, louvainInside, louvainWeight},
	}
}

// Plan runs the searches. At the end each community of the best search is one vertex; its other
// members have no edges.
func (p Louvain) Plan() pregel.Plan {
	move := plan.Phase(pregel.List(louvainMove{p.Tolerance, p.Iterations}))
	merge := plan.Sequence(plan.Phase(pregel.List(louvainSplit{})),
		plan.Phase(pregel.List(louvainMerge{})))
	merged := func(r *plan.Round) bool { return louvainMerged.Value(r) == 0 }
	settled := func(r *plan.Round) bool { return louvainMoved.Value(r) == 0 }
	searched := func(r *plan.Round) bool {
		return searches.Value(r) == 0 || searches.Value(r) >= mostSearches
	}
	return plan.Sequence(
		plan.Phase(louvainBegin{}),
		plan.Repeat(searched,
			move,
			plan.Repeat(settled,
				merge, plan.Repeat(merged, move, merge),
				plan.Phase(pregel.List(louvainFind{})), plan.Phase(louvainRestore{}), move),
			plan.Phase(pregel.List(louvainJudge{}))),
		merge)
}

// Combiner is required; there are no messages.
func (Louvain) Combiner() pregel.Combiner[ID] { return combiners.Min[ID]() }

// Report returns the statistics for reports.
func (Louvain) Report() pregel.Report[ID] { return byRepresentative }

// Coordinate computes the modularity when all communities have added their sums.
func (Louvain) Coordinate(c *pregel.Coordinator) {
	if c.Superstep == 1 {
		modularity.Replace(c, quality(insideWeight.Value(c), squareTotals.Value(c),
			totalWeight.Value(c)))
	}
}

// Compute takes the result of the last merge. In the last graph the only vertex of a community has
// its sums.
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

// addCommunity adds a community's inside weight and sum of degrees to the aggregators that quality
// needs.
func addCommunity(s pregel.Context, inside, total float64) {
	insideWeight.Add(s, inside)
	squareTotals.Add(s, total*total)
	totalWeight.Add(s, total)
}

// louvainBegin is the first phase: every vertex stores its edges, and is a community.
type louvainBegin struct{}

func (louvainBegin) Combiner() pregel.Combiner[ID] { return combiners.Min[ID]() }

func (louvainBegin) Traits() traits {
	return traits{Columns: columns{louvainInside, louvainCommunity, louvainArcs, louvainWeight}}
}

func (louvainBegin) Compute(v *pregel.Vertex[struct{}, ID], _ ID) {
	weights := make([]louvainArc, 0, 1+v.OutDegree())
	for e := range v.Edges() {
		if louvainWeight.Set(e, e.Weight); e.To == v.ID() {
			weights = append(weights, louvainArc{e.To, 2 * e.Weight})
		} else if e.Weight > 0 {
			weights = append(weights, louvainArc{e.To, e.Weight})
		}
	}
	slices.SortFunc(weights, func(a, b louvainArc) int {
		return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.Weight, b.Weight))
	})
	arcs := append(make([]louvainArc, 0, 1+len(weights)), louvainArc{To: v.ID()})
	for _, w := range weights {
		switch last := &arcs[len(arcs)-1]; {
		case w.To == v.ID():
			arcs[0].Weight += w.Weight
		case w.To == last.To:
			last.Weight += w.Weight
		default:
			arcs = append(arcs, w)
		}
	}
	louvainArcs.Set(v, arcs)
	louvainInside.Set(v, arcs[0].Weight)
	louvainCommunity.Set(v, v.ID())
	v.VoteToHalt()
}

// louvainRestore restores the loaded graph. A vertex removes the edges of the level, then adds its
// own edges, and then sets their weights. It keeps the community that louvainFind found.
type louvainRestore struct{}

func (louvainRestore) Combiner() pregel.Combiner[ID] { return combiners.Min[ID]() }
func (louvainRestore) Traits() traits {
	return traits{
		Mutates: true,
		Columns: columns{
			louvainParent, louvainInside, louvainCommunity, louvainArcs, louvainWeight,
		},
	}
}

func (louvainRestore) Compute(v *pregel.Vertex[struct{}, ID], _ ID) {
	arcs := louvainArcs.Of(v)
	switch v.Superstep() {
	case 0:
		if louvainCommunity.Set(v, v.ID()); louvainParent.Of(v) != 0 {
			louvainCommunity.Set(v, louvainParent.Of(v)-1)
		}
		louvainParent.Set(v, 0)
		louvainInside.Set(v, arcs[0].Weight)
		removeEdges(v)
	case 1:
		for _, a := range arcs[1:] {
			if a.To > v.ID() {
				v.Change().AddEdge(v.ID(), a.To, a.Weight)
			}
		}
	default:
		i := 1
		for e := range v.Edges() { // ordered by id, like arcs
			louvainWeight.Set(e, arcs[i].Weight)
			i++
		}
		v.VoteToHalt()
	}
}

// removeEdges removes a vertex's edges. The end with the greater id removes an edge: ids are by
// falling degree, so hubs have little work.
func removeEdges[V, M any](v *pregel.Vertex[V, M]) {
	var ends []ID
	for e := range v.Edges() {
		if e.To <= v.ID() {
			ends = append(ends, e.To)
		}
	}
	for _, to := range slices.Compact(ends) {
		v.Change().RemoveEdge(v.ID(), to)
	}
}

// louvainJudge ends a search. If its communities are the best so far, they are stored. For the next
// search every vertex becomes a community again. After the last search every vertex gets its
// community of the best search.
type louvainJudge struct{}

func (louvainJudge) Traits() traits {
	return traits{
		Aggregators: aggregates{modularity, totalWeight, insideWeight, squareTotals, searches},
		Columns:     columns{louvainInside, louvainCommunity, louvainBest, louvainWeight},
	}
}

// Coordinate computes the modularity when all vertices have added their sums.
func (louvainJudge) Coordinate(c *pregel.Coordinator) {
	if c.Superstep == 2 {
		modularity.Replace(c, quality(insideWeight.Value(c), squareTotals.Value(c),
			totalWeight.Value(c)))
	}
}

func (louvainJudge) Compute(v *pregel.Vertex[struct{}, louvainNews], news []louvainNews) {
	community := louvainCommunity.Of(v)
	switch v.Superstep() {
	case 0:
		v.SendToAllNeighbors(louvainNews{From: v.ID(), Community: community})
		v.Send(community, louvainNews{Weight: weightedDegree(v), Members: 1})
	case 1:
		var degrees []float64
		near := make([]louvainNews, 0, len(news))
		for _, n := range news {
			if n.Members == 1 {
				degrees = append(degrees, n.Weight)
			} else {
				near = append(near, n)
			}
		}
		total := sortedSum(degrees)
		squareTotals.Add(v, total*total)
		totalWeight.Add(v, total)
		insideWeight.Add(v, louvainInside.Of(v)+insideOf(v, near, community))
	default:
		best := louvainBest.Of(v)
		if q := modularity.Value(v); best.Searches == 0 || q > best.Modularity+1e-12 {
			best.Modularity, best.Community = q, community
		}
		if best.Searches++; v.NumVertices() > smallGraph {
			best.Searches = mostSearches
		}
		if louvainCommunity.Set(v, v.ID()); best.Searches >= mostSearches {
			louvainCommunity.Set(v, best.Community)
		}
		louvainBest.Set(v, best)
		searches.Add(v, best.Searches)
		v.VoteToHalt()
	}
}

// weightedDegree returns the sum of a vertex's inside weight and of its edges to other vertices.
func weightedDegree[V, M any](v *pregel.Vertex[V, M]) float64 {
	weights := []float64{louvainInside.Of(v)}
	for e := range v.Edges() {
		if e.To != v.ID() {
			weights = append(weights, louvainWeight.Of(e))
		}
	}
	return sortedSum(weights)
}

// sortedSum adds numbers in ascending order, so that the sum is always the same. It sorts xs.
func sortedSum(xs []float64) (sum float64) {
	slices.Sort(xs)
	for _, x := range xs {
		sum += x
	}
	return sum
}

// louvainFind ends the levels. By pointer jumping every vertex finds the vertex that represents it
// in the last graph, in two supersteps for each doubling of the number of levels. The value of a
// vertex is an ancestor. Messages are the ids of vertices that ask for it, and the answers.
type louvainFind struct{}

func (louvainFind) Traits() traits { return traits{Columns: columns{louvainParent}} }

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
