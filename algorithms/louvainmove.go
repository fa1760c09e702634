package algorithms

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/superstep-go/superstep/pregel"
)

// louvainMove is the local moving of one level: vertices move to neighbouring communities as long
// as this gains modularity. A community is named by the id of a vertex of the level. This vertex
// keeps the community's sums, and need not be a member. A round has five supersteps:
//
//	0  a vertex moves if both communities allow it. It sends its degree to its community
//	1  a community adds up degrees, and sends the total to its members
//	2  a vertex sends its community and the total to its neighbours
//	3  a vertex that would gain by moving asks its own community and the target community
//	4  a community allows moves: the first, and others as long as all gain together
//
// Vertices that move at once gain less than each computed, because each computed with the old
// communities. So in one round a community lets vertices only leave or only come, whichever the
// first request wants. Of the other requests it allows those whose gain exceeds the loss that the
// moves cause each other. So every round raises the modularity. In the first search the first
// request is the one with the largest gain; in other searches a hash gives the order. When nobody
// asks, vertices ask that gain by being alone. The phase ends when nobody asks, or after vertices
// left to be alone: louvainSplit makes communities of them.
type louvainMove struct {
	tolerance float64
	rounds    int
}

// louvainPlace is the state of a vertex.
type louvainPlace struct {
	Community, Target ID      // Target is the requested community; None for a new one
	Total, Degree     float64 // the community's total, and the vertex's degree
}

// louvainNews is the message type for all purposes.
type louvainNews struct {
	From, Community ID
	Weight          float64 // of the vertex, the community or, once received, the edge
	Total           float64 // of a community; in a request to move, the gain
	Members         int
}

var (
	louvainMoved = pregel.SumOf[int64]("moved").Persistent().Unreported()
	louvainAsked = pregel.SumOf[int64]("asked").Unreported()
	// set by the coordinator only
	louvainAlone = pregel.MaxOf("alone", 0).Persistent().Unreported()
)

// Values of louvainAlone: which vertices may ask, and when the phase ends.
const (
	anyAsk = iota
	aloneAsk
	aloneMove
)

// leastSquare is the least square of a total weight with which products of degrees, which are far
// smaller, keep their precision.
const leastSquare = 1e-270

func (louvainMove) Traits() traits {
	return traits{
		Aggregators: aggregates{totalWeight, louvainMoved, louvainAsked, louvainAlone},
		Columns:     columns{louvainInside, louvainCommunity, louvainBest, louvainWeight},
	}
}

// Coordinate ends the phase after a round without a request to move, followed by one without a
// request to be alone.
func (p louvainMove) Coordinate(c *pregel.Coordinator) {
	if total := totalWeight.Value(c); c.Superstep == 1 && total != 0 &&
		!(total*total >= leastSquare && total*total <= math.MaxFloat64) {
		c.Fail(fmt.Errorf("the weighted degrees add up to %g, whose square 64 bits cannot hold: multiply all weights by one number", total))
	}
	alone := louvainAlone.Value(c)
	switch asked := louvainAsked.Value(c) > 0; {
	case c.Superstep%5 == 4 && asked && alone == aloneAsk:
		louvainAlone.Replace(c, aloneMove)
	case c.Superstep%5 == 4 && !asked && alone == anyAsk:
		louvainAlone.Replace(c, aloneAsk)
	case c.Superstep%5 == 4 && !asked, c.Superstep%5 == 1 && alone == aloneMove,
		c.Superstep%5 == 1 && alone == anyAsk && c.Superstep/5 >= p.rounds:
		c.Halt()
	}
}

func (p louvainMove) Compute(v *pregel.Vertex[louvainPlace, louvainNews], news []louvainNews) {
	here := v.Ref()
	switch v.Superstep() % 5 {
	case 0:
		if v.Superstep() == 0 {
			if p.begin(v); v.OutDegree() == 0 {
				return
			}
		} else if len(news) == 2 || len(news) == 1 && here.Target == pregel.None {
			louvainMoved.Add(v, 1)
			if louvainCommunity.Set(v, here.Target); here.Target == pregel.None {
				return
			}
			here.Community = here.Target
		}
		v.Send(here.Community, louvainNews{From: v.ID(), Weight: here.Degree})
	case 1:
		total := 0.0
		slices.SortFunc(news, func(a, b louvainNews) int { return cmp.Compare(a.Weight, b.Weight) })
		for i := range news {
			total += news[i].Weight
		}
		for i := range news {
			v.Send(news[i].From, louvainNews{Total: total})
		}
	case 2:
		here.Total = news[0].Total
		v.SendToAllNeighbors(
			louvainNews{From: v.ID(), Community: here.Community, Total: here.Total, Members: 1})
	case 3:
		p.ask(v, news)
	case 4:
		p.let(v, news)
	}
}

// begin reads a vertex's community. A vertex without edges has nothing to do in the level.
func (louvainMove) begin(v *pregel.Vertex[louvainPlace, louvainNews]) {
	here := v.Ref()
	here.Community, here.Degree = louvainCommunity.Of(v), weightedDegree(v)
	totalWeight.Add(v, here.Degree)
	if v.OutDegree() == 0 {
		v.Finish()
	}
}

// ask finds the community with the largest gain, or the one with the least name of several. It asks
// both communities to allow the move.
func (p louvainMove) ask(v *pregel.Vertex[louvainPlace, louvainNews], news []louvainNews) {
	here, total := v.Ref(), totalWeight.Value(v)
	own := insideOf(v, news, here.Community)*total - here.Degree*(here.Total-here.Degree)
	most := own
	if here.Target = pregel.None; louvainAlone.Value(v) == anyAsk {
		t := louvainTables.Get().(*louvainTable)
		t.add(news)
		for _, community := range t.found {
			at := t.communities[community]
			gain := at.Weight*total - here.Degree*at.Total
			if community != here.Community && at.Weight > 0 && (gain > most || gain == most &&
				here.Target != pregel.None && community < here.Target) {
				here.Target, most = community, gain
			}
		}
		t.empty()
		louvainTables.Put(t)
	} else {
		most = 0
	}
	if gain := 2 * (most - own) / total / total; gain > p.tolerance {
		louvainAsked.Add(v, 1)
		wish := louvainNews{From: v.ID(), Community: here.Target, Weight: here.Degree, Total: gain}
		if v.Send(here.Community, wish); here.Target != pregel.None {
			v.Send(here.Target, wish)
		}
	}
}

// let answers the vertices that may move. If two vertices of degrees a and b both come or both
// leave, either gains up to 2ab/total² less. Half of a gain is reserved for this loss in the
// community that is left, and half in the other.
func (louvainMove) let(v *pregel.Vertex[louvainPlace, louvainNews], wishes []louvainNews) {
	search, round := uint64(louvainBest.Of(v).Searches), uint64(v.Superstep()/5)
	slices.SortFunc(wishes, func(a, b louvainNews) int {
		if search == 0 {
			return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.From, b.From))
		}
		salt := hash(search<<32 + round)
		return cmp.Compare(hash(uint64(a.From)^salt), hash(uint64(b.From)^salt))
	})
	total, moving := totalWeight.Value(v), 0.0
	for _, wish := range wishes {
		if (wish.Community == v.ID()) == (wishes[0].Community == v.ID()) &&
			wish.Total > 4*wish.Weight/total*moving/total {
			moving += wish.Weight
			v.Send(wish.From, louvainNews{})
		}
	}
}

// insideOf sets the weights of the messages of all of a vertex's edges, and returns the total
// weight of those from a community.
func insideOf[V any](
	v *pregel.Vertex[V, louvainNews], news []louvainNews, community ID,
) (inside float64) {
	weighEdges(v, news)
	for i := range news {
		if news[i].Community == community {
			inside += news[i].Weight
		}
	}
	return inside
}

// louvainTable sums weights by community. It has an element for each vertex that may name one.
type louvainTable struct {
	communities []louvainNews // Members is 0 in unused elements
	found       []ID          // the used elements
}

var louvainTables = sync.Pool{New: func() any { return new(louvainTable) }}

// add adds the weights of messages, in their order.
func (t *louvainTable) add(news []louvainNews) {
	for i := range news {
		c := news[i].Community
		if n := int(c) + 1; n > len(t.communities) {
			t.communities = append(t.communities, make([]louvainNews, n+n/4-len(t.communities))...)
		}
		if t.communities[c].Members == 0 {
			t.found = append(t.found, c)
			t.communities[c] = news[i]
		} else {
			t.communities[c].Weight += news[i].Weight
		}
	}
}

// empty clears the table.
func (t *louvainTable) empty() {
	for _, c := range t.found {
		t.communities[c].Members = 0
	}
	t.found = t.found[:0]
}

// weighEdges sets the weights of messages that came along all of a vertex's edges. It orders them
// by sender, and by weight so that sums are always the same. A loop gets weight 0, because it
// counts as inside.
func weighEdges[V any](v *pregel.Vertex[V, louvainNews], news []louvainNews) {
	bySender := func(a, b louvainNews) int { return cmp.Compare(a.From, b.From) }
	if !slices.IsSortedFunc(news, bySender) {
		slices.SortFunc(news, bySender)
	}
	i := 0
	for e := range v.Edges() { // ordered by id, like news
		if news[i].Weight = louvainWeight.Of(e); e.To == v.ID() {
			news[i].Weight = 0
		}
		i++
	}
	for rest := news; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].From == rest[0].From {
			n++
		}
		if n > 1 { // parallel edges
			slices.SortFunc(rest[:n],
				func(a, b louvainNews) int { return cmp.Compare(a.Weight, b.Weight) })
		}
		rest = rest[n:]
	}
}

// sortByCommunity orders messages by community, then by weight.
func sortByCommunity(news []louvainNews) {
	slices.SortFunc(news, func(a, b louvainNews) int {
		return cmp.Or(cmp.Compare(a.Community, b.Community), cmp.Compare(a.Weight, b.Weight))
	})
}
