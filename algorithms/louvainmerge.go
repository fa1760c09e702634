package algorithms

import (
	"cmp"
	"slices"

	"github.com/superstep-go/superstep/pregel"
)

// louvainSplit splits the communities of a level into their connected parts. A part is a community
// of its own, named by its leader, the member with the least id. Edges of weight 0 do not connect.
type louvainSplit struct{}

// louvainPart is the community of a vertex, and the least known id of its part.
type louvainPart struct{ From, Community, Least ID }

func (louvainSplit) Traits() traits {
	return traits{Columns: columns{louvainCommunity, louvainWeight}}
}

func (louvainSplit) Compute(v *pregel.Vertex[louvainPart, louvainPart], news []louvainPart) {
	part, before := v.Ref(), v.Value().Least
	if v.Superstep() == 0 {
		*part, before = louvainPart{v.ID(), louvainCommunity.Of(v), v.ID()}, pregel.None
		if part.Community == pregel.None || v.OutDegree() == 0 {
			louvainCommunity.Set(v, v.ID())
			v.Finish()
			return
		}
	}
	slices.SortFunc(news, func(a, b louvainPart) int { return cmp.Compare(a.From, b.From) })
	for e := range v.Edges() { // ordered by id, like news
		for len(news) > 0 && news[0].From < e.To {
			news = news[1:]
		}
		for i := 0; i < len(news) && news[i].From == e.To; i++ {
			if news[i].Community == part.Community && louvainWeight.Of(e) > 0 {
				part.Least = min(part.Least, news[i].Least)
			}
		}
	}
	if part.Least != before {
		louvainCommunity.Set(v, part.Least)
		v.SendToAllNeighbors(*part)
	}
	v.VoteToHalt()
}

// louvainMerge makes each community of a level one vertex: its leader.
//
//	0  a vertex sends its leader to its neighbours
//	1  a vertex sums the weights of its edges by the neighbours' leaders. It sends the sums to its
//	   own leader, and removes its edges
//	2  a leader adds up the sums. It adds an edge to each leader with a greater id
//	3  a leader sets the weights of its edges, which exist only now
//
// The other vertices stay in the graph, without edges. The weights of edges are a column, because a
// graph without weights has only edges of weight 1.
type louvainMerge struct{}

// louvainMerged is the number of vertices that were merged into others.
var louvainMerged = pregel.SumOf[int64]("merged").Persistent().Unreported()

func (louvainMerge) Traits() traits {
	return traits{
		Mutates: true, Aggregators: aggregates{louvainMerged},
		Columns: columns{louvainParent, louvainInside, louvainCommunity, louvainWeight},
	}
}

func (p louvainMerge) Compute(v *pregel.Vertex[struct{}, louvainNews], news []louvainNews) {
	switch v.Superstep() {
	case 0:
		if louvainParent.Of(v) != 0 || v.OutDegree() == 0 {
			v.Finish()
			return
		}
		v.SendToAllNeighbors(louvainNews{From: v.ID(), Community: louvainCommunity.Of(v)})
	case 1:
		p.give(v, news)
	case 2:
		p.join(v, news)
	default:
		slices.SortFunc(news,
			func(a, b louvainNews) int { return cmp.Compare(a.Community, b.Community) })
		i := 0
		for e := range v.Edges() { // ordered by id, like news
			louvainWeight.Set(e, news[i].Weight)
			i++
		}
		v.Finish()
	}
}

// give sends a vertex's sums to its leader, and removes its edges.
func (louvainMerge) give(v *pregel.Vertex[struct{}, louvainNews], news []louvainNews) {
	own := louvainCommunity.Of(v)
	weighEdges(v, news)
	sortByCommunity(news)
	inside := louvainInside.Of(v)
	eachSum(news, func(leader ID, sum float64) {
		if leader == own {
			inside += sum
			return
		}
		v.Send(own, louvainNews{Community: leader, Weight: sum})
	})
	v.Send(own, louvainNews{Community: own, Weight: inside})
	if removeEdges(v); own != v.ID() {
		louvainMerged.Add(v, 1)
		louvainParent.Set(v, own+1)
		louvainInside.Set(v, 0)
		v.Finish()
	}
}

// join makes a leader the vertex of its community.
func (louvainMerge) join(v *pregel.Vertex[struct{}, louvainNews], news []louvainNews) {
	sortByCommunity(news)
	eachSum(news, func(leader ID, sum float64) {
		if leader == v.ID() {
			louvainInside.Set(v, sum)
			return
		}
		if v.ID() < leader {
			v.Change().AddEdge(v.ID(), leader, sum)
		}
		v.Send(v.ID(), louvainNews{Community: leader, Weight: sum})
	})
}

// eachSum calls use with the sum of the weights of each community. news must be ordered by
// community.
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
