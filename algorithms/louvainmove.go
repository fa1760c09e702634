package algorithms

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/superstep-go/superstep/pregel"
)

// louvainMove is the local moving of one level: every vertex begins as a community and moves to that of a neighbour as long as this gains.
// The name of a community is the id of any vertex of the level, which keeps its sums, member or not. A round is three supersteps:
//
//	0  a vertex moves, by what its neighbours have sent, and sends its degree to its community
//	1  a community adds up degrees, and sends the total to its members
//	2  a vertex sends its community and the total to its neighbours
//
// Vertices that move at once, by what was before, may swap for ever or gain less than they think. Against this vertices take turns, each once in
// two rounds, by a hash of id and round, and of two communities of one vertex only that of the greater name joins the other (Lu,
// Halappanavar and Kalyanaraman 2015). What is kept is the best of all rounds, by their modularity. It ends when two rounds move nothing, or
// four gain less than the tolerance.
type louvainMove struct {
	tolerance float64
	rounds    int
}

// louvainPlace is where a vertex is.
type louvainPlace struct {
	Community, Before ID // now, and before the last moves
	Total             float64
	Members           int
	Degree            float64 // the vertex's own
}

// louvainNews is a message of all kinds.
type louvainNews struct {
	From, Community ID
	Weight          float64 // of the vertex, the community or, once received, the edge
	Total           float64
	Members         int
}

// louvainState is what the coordinator knows of the rounds so far.
type louvainState struct {
	Round, Quiet, Idle int     // Quiet rounds have gained little, Idle ones have moved nothing
	Squares            float64 // of the communities that are looked at
	Best, Mark         float64 // the best modularity, and the one from which gains are counted
}

var (
	louvainMoved  = pregel.SumOf[int64]("moved").Unreported()
	louvainIn     = pregel.SumOf[float64]("moved_inside").Unreported()
	louvainSquare = pregel.SumOf[float64]("moved_squares").Unreported()
	louvainRounds = pregel.NewAggregator("rounds", nil, func(a, b louvainState) louvainState {
		if b.Round > a.Round {
			return b
		}
		return a
	}).Persistent().Unreported() // only the coordinator sets it
)

// leastSquare is of a total weight with which products of degrees, which are far less, keep their digits.
const leastSquare = 1e-270

// better is the phase of a superstep that knows that the last communities were the best so far.
const better = 1

func (louvainMove) Columns() []pregel.Column {
	return []pregel.Column{louvainParent, louvainInside, louvainCommunity, louvainWeight}
}

func (louvainMove) Aggregators() []pregel.Aggregate {
	return []pregel.Aggregate{totalWeight, louvainMoved, louvainIn, louvainSquare, louvainRounds}
}

// Coordinate judges in superstep 1 of a round the communities of the round before, whose inside weight is known only now.
func (p louvainMove) Coordinate(c *pregel.Coordinator) {
	s := louvainRounds.Value(c)
	switch {
	case c.Superstep%3 == 2:
		if s.Idle >= 2 || s.Quiet >= 4 || s.Round > p.rounds {
			c.Halt()
			return
		}
		s.Squares = louvainSquare.Value(c)
	case c.Superstep%3 == 1 && c.Superstep > 1:
		q := quality(louvainIn.Value(c), s.Squares, totalWeight.Value(c))
		c.SetPhase(0)
		if s.Round == 1 || q > s.Best {
			s.Best = q
			c.SetPhase(better)
		}
		if s.Quiet++; s.Round == 1 || s.Best-s.Mark >= p.tolerance {
			s.Quiet, s.Mark = 0, s.Best
		}
		if s.Idle++; louvainMoved.Value(c) > 0 {
			s.Idle = 0
		}
		s.Round++
	case c.Superstep == 1:
		s.Round = 1
		if total := totalWeight.Value(c); total != 0 && !(total*total >= leastSquare && total*total <= math.MaxFloat64) {
			c.Fail(fmt.Errorf("the weighted degrees add up to %g, whose square 64 bits cannot hold: multiply all weights by one number", total))
		}
	}
	louvainRounds.Replace(c, s)
}

func (p louvainMove) Compute(v *pregel.Vertex[louvainPlace, louvainNews], news []louvainNews) {
	here := v.Ref()
	switch v.Superstep() % 3 {
	case 0:
		if v.Superstep() == 0 {
			if p.begin(v); v.OutDegree() == 0 {
				return
			}
		} else {
			p.move(v, news)
		}
		v.Send(here.Community, louvainNews{From: v.ID(), Weight: here.Degree})
	case 1:
		if v.Superstep() > 1 && v.Phase() == better {
			louvainCommunity.Set(v, here.Before)
		}
		total, members := 0.0, len(news)
		slices.SortFunc(news, func(a, b louvainNews) int { return cmp.Compare(a.Weight, b.Weight) })
		for i := range news {
			total += news[i].Weight
		}
		louvainSquare.Add(v, total*total)
		for i := range news {
			v.Send(news[i].From, louvainNews{Total: total, Members: members})
		}
	case 2:
		here.Total, here.Members = news[0].Total, news[0].Members
		v.SendToAllNeighbors(louvainNews{From: v.ID(), Community: here.Community, Total: here.Total, Members: here.Members})
	}
}

// begin makes a vertex a community. One without edges has nothing to do in the level.
func (louvainMove) begin(v *pregel.Vertex[louvainPlace, louvainNews]) {
	here := v.Ref()
	here.Community, here.Degree = v.ID(), weightedDegree(v)
	louvainCommunity.Set(v, v.ID())
	totalWeight.Add(v, here.Degree)
	if v.OutDegree() == 0 {
		v.Finish()
	}
}

// move takes the community that gains most: of equals the vertex's own, and then the one of the least name.
func (louvainMove) move(v *pregel.Vertex[louvainPlace, louvainNews], news []louvainNews) {
	here, total := v.Ref(), totalWeight.Value(v)
	weighEdges(v, news)
	inside := 0.0
	for i := range news {
		if news[i].Community == here.Community {
			inside += news[i].Weight
		}
	}
	louvainIn.Add(v, louvainInside.Of(v)+inside)
	here.Before = here.Community
	round := uint64(v.Superstep() / 3)
	if hash(hash(v.Label())+round/2)&1 != round&1 {
		return // not its turn
	}
	best, members := here.Community, 0
	most := inside*total - here.Degree*(here.Total-here.Degree)
	t := louvainTables.Get().(*louvainTable)
	t.add(news)
	for _, community := range t.found {
		at := t.communities[community]
		gain := at.Weight*total - here.Degree*at.Total
		if community != here.Community && (gain > most || gain == most && best != here.Community && community < best) {
			best, members, most = community, at.Members, gain
		}
	}
	t.empty()
	louvainTables.Put(t)
	if best == here.Community || here.Members == 1 && members == 1 && best > here.Community {
		return
	}
	here.Community = best
	louvainMoved.Add(v, 1)
}

// louvainTable sums weights by community: a place for each vertex that may name one.
type louvainTable struct {
	communities []louvainNews // of no members where nothing was added
	found       []ID          // to which something was
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

// empty takes all out.
func (t *louvainTable) empty() {
	for _, c := range t.found {
		t.communities[c].Members = 0
	}
	t.found = t.found[:0]
}

// weighEdges sets the weights of messages that came along all of a vertex's edges, and orders them by sender, and by weight so that sums
// are always the same. A loop weighs nothing: it is inside.
func weighEdges[V any](v *pregel.Vertex[V, louvainNews], news []louvainNews) {
	bySender := func(a, b louvainNews) int { return cmp.Compare(a.From, b.From) }
	if !slices.IsSortedFunc(news, bySender) {
		slices.SortFunc(news, bySender)
	}
	i := 0
	for e := range v.Edges() { // by rising ids, too
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
			slices.SortFunc(rest[:n], func(a, b louvainNews) int { return cmp.Compare(a.Weight, b.Weight) })
		}
		rest = rest[n:]
	}
}

// sortByCommunity orders messages by community, and by weight.
func sortByCommunity(news []louvainNews) {
	slices.SortFunc(news, func(a, b louvainNews) int {
		return cmp.Or(cmp.Compare(a.Community, b.Community), cmp.Compare(a.Weight, b.Weight))
	})
}
