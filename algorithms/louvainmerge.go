package algorithms

import (
	"cmp"
	"slices"

	"github.com/superstep-go/superstep/pregel"
)

// louvainMerge makes a vertex of each community of a level: its leader, the member of the least id.
//
//	0  a vertex sends its community to its neighbours
//	1  a vertex that has none of these in its community leaves it, which gains (others may have left it meanwhile); the rest ask who leads
//	2  the vertex whose id names the community says it
//	3  a vertex sends its leader to its neighbours
//	4  it removes its edges, and sends the sum of their weights for each neighbouring leader to its own
//	5  a leader adds up the sums, and an edge for each, if its id is less than the other's: either end of an edge may add it
//	6  a leader weighs its edges, which it has only now
//
// The vertices that are not leaders stay in the graph, without edges. The weight of an edge is a column, for a graph without weights has only
// edges of weight 1.
type louvainMerge struct{}

var (
	louvainGain   = pregel.SumOf[float64]("gain").Persistent().Unreported()
	beforeInside  = pregel.SumOf[float64]("before_inside").Persistent().Unreported()
	beforeSquares = pregel.SumOf[float64]("before_squares").Persistent().Unreported()
)

// lastOfMerge is the last superstep.
const lastOfMerge = 6

func (louvainMerge) Mutations() pregel.Mutations { return pregel.Mutations{} }

func (louvainMerge) Columns() []pregel.Column {
	return []pregel.Column{louvainParent, louvainInside, louvainCommunity, louvainWeight}
}

func (louvainMerge) Aggregators() []pregel.Aggregate {
	return []pregel.Aggregate{louvainGain, beforeInside, beforeSquares, totalWeight, insideWeight, squareTotals}
}

// Coordinate computes what the level has gained.
func (louvainMerge) Coordinate(c *pregel.Coordinator) {
	if c.Superstep == lastOfMerge {
		total := totalWeight.Value(c)
		louvainGain.Replace(c, quality(insideWeight.Value(c), squareTotals.Value(c), total)-
			quality(beforeInside.Value(c), beforeSquares.Value(c), total))
	}
}

// Compute: the value of a vertex is its leader.
func (p louvainMerge) Compute(v *pregel.Vertex[ID, louvainNews], news []louvainNews) {
	switch v.Superstep() {
	case 0:
		p.begin(v)
	case 1:
		inside := 0.0
		weighEdges(v, news)
		for i := range news {
			if news[i].Community == louvainCommunity.Of(v) {
				inside += news[i].Weight
			}
		}
		if v.Set(v.ID()); inside > 0 {
			v.Send(louvainCommunity.Of(v), louvainNews{From: v.ID()})
		}
	case 2:
		least := pregel.None
		for i := range news {
			least = min(least, news[i].From)
		}
		for i := range news {
			v.Send(news[i].From, louvainNews{Community: least})
		}
	case 3:
		if len(news) > 0 {
			v.Set(news[0].Community)
		}
		v.SendToAllNeighbors(louvainNews{From: v.ID(), Community: v.Value()})
	case 4:
		p.give(v, news)
	case 5:
		p.join(v, news)
	case lastOfMerge:
		slices.SortFunc(news, func(a, b louvainNews) int { return cmp.Compare(a.Community, b.Community) })
		i := 0
		for e := range v.Edges() { // by rising ids, too
			louvainWeight.Set(e, news[i].Weight)
			i++
		}
		v.Finish()
	}
}

func (louvainMerge) begin(v *pregel.Vertex[ID, louvainNews]) {
	if louvainParent.Of(v) != 0 {
		v.Finish()
		return
	}
	inside, degree := louvainInside.Of(v), weightedDegree(v)
	beforeInside.Add(v, inside)
	beforeSquares.Add(v, degree*degree)
	if v.OutDegree() == 0 {
		addCommunity(v, inside, degree)
		v.Finish()
		return
	}
	v.SendToAllNeighbors(louvainNews{From: v.ID(), Community: louvainCommunity.Of(v)})
}

// give sends a vertex's sums to its leader and removes its edges. Of an edge's two ends the one of the greater id does it: ids are by falling
// degree, so hubs leave it to others.
func (louvainMerge) give(v *pregel.Vertex[ID, louvainNews], news []louvainNews) {
	weighEdges(v, news)
	sortByCommunity(news)
	inside := louvainInside.Of(v)
	eachSum(news, func(leader ID, sum float64) {
		if leader == v.Value() {
			inside += sum
			return
		}
		v.Send(v.Value(), louvainNews{Community: leader, Weight: sum})
	})
	v.Send(v.Value(), louvainNews{Community: v.Value(), Weight: inside})
	var ends []ID
	for e := range v.Edges() {
		if e.To <= v.ID() {
			ends = append(ends, e.To)
		}
	}
	for _, to := range slices.Compact(ends) {
		v.RemoveEdge(to)
	}
	if v.Value() != v.ID() {
		louvainParent.Set(v, v.Value()+1)
		louvainInside.Set(v, 0)
		v.Finish()
	}
}

// join makes a leader the vertex of its community.
func (louvainMerge) join(v *pregel.Vertex[ID, louvainNews], news []louvainNews) {
	sortByCommunity(news)
	var degrees []float64
	eachSum(news, func(leader ID, sum float64) {
		if degrees = append(degrees, sum); leader == v.ID() {
			louvainInside.Set(v, sum)
			return
		}
		if v.ID() < leader {
			v.AddEdge(leader, sum)
		}
		v.Send(v.ID(), louvainNews{Community: leader, Weight: sum})
	})
	addCommunity(v, louvainInside.Of(v), sortedSum(degrees))
}

// eachSum calls use with the sum of the weights of each community, by rising ids, of messages in that order.
func eachSum(news []louvainNews, use func(community ID, sum float64)) {
	for len(news) > 0 {
		community, sum := news[0].Community, 0.0
		for len(news) > 0 && news[0].Community == community {
			sum += news[0].Weight
			news = news[1:]
		}
		use(community, sum)
	}
}
