package algorithms

import (
	"cmp"
	"slices"

	"github.com/superstep-go/superstep/pregel"
)

// msfGrow is the step of MSF in which each tree takes the lightest edge that leaves it. It has four
// supersteps. Vertices send their root to their neighbours. Then each vertex sends its lightest
// leaving edge to its own root. Each root takes the lightest of all, hooks onto the root of the
// other tree, and tells that root and the ends of the edge. These record it.
type msfGrow struct{}

// msfMessage is an edge that leaves a tree, with the root at its other end. In a message to the
// ends of a taken edge, Root is pregel.None. In a message to the root of another tree, Root is the
// vertex that hooks onto it. In a message to neighbours, Low is the sender and Root its root; other
// fields are unused.
type msfMessage struct {
	Weight    float64
	Low, High ID
	Root      ID
}

func (m msfMessage) compare(n msfMessage) int {
	return cmp.Or(cmp.Compare(m.Weight, n.Weight), cmp.Compare(m.Low, n.Low),
		cmp.Compare(m.High, n.High))
}

func (msfGrow) Traits() traits {
	return traits{Aggregators: aggregates{msfGrown}, Columns: columns{msfRoot, msfInner, msfEdges}}
}

func (p msfGrow) Compute(v *pregel.Vertex[struct{}, msfMessage], messages []msfMessage) {
	if v.Superstep() > 0 || msfInner.Of(v) {
		v.VoteToHalt()
	}
	switch v.Superstep() {
	case 0:
		if !msfInner.Of(v) {
			v.SendToAllNeighbors(msfMessage{Low: v.ID(), Root: msfRoot.Of(v)})
		}
	case 1:
		if msfInner.Of(v) {
			return // its root may be out of date
		}
		if least, found := lightest(v, messages); found {
			v.Send(msfRoot.Of(v), least)
		} else {
			msfInner.Set(v, true)
		}
	case 2: // a root
		least := slices.MinFunc(messages, msfMessage.compare)
		other := least.Root
		msfRoot.Set(v, other)
		msfInner.Set(v, false) // until the next round, because it must find its new root
		least.Root = pregel.None
		v.Send(least.Low, least)
		v.Send(least.High, least)
		v.Send(other, msfMessage{Root: v.ID()})
	case 3:
		p.join(v, messages)
	}
}

// lightest returns the lightest edge of v that leaves its tree. told are the messages of
// neighbours; neighbours inside the tree may not have sent one.
func lightest(
	v *pregel.Vertex[struct{}, msfMessage], told []msfMessage,
) (least msfMessage, found bool) {
	slices.SortFunc(told, func(a, b msfMessage) int { return cmp.Compare(a.Low, b.Low) })
	own, i := msfRoot.Of(v), 0
	for e := range v.Edges() { // in ascending order of To
		for i < len(told) && told[i].Low < e.To {
			i++
		}
		if i == len(told) {
			break
		}
		if told[i].Low != e.To || told[i].Root == own {
			continue
		}
		m := msfMessage{e.Weight, min(v.ID(), e.To), max(v.ID(), e.To), told[i].Root}
		if !found || m.compare(least) < 0 {
			least, found = m, true
		}
	}
	return least, found
}

// join records the edges that were taken. If two roots have hooked onto each other, because both
// took the same edge, it makes the one with the lesser id the root.
func (msfGrow) join(v *pregel.Vertex[struct{}, msfMessage], messages []msfMessage) {
	msfGrown.Add(v, true) // the plan reads it after this last superstep
	for _, m := range messages {
		if m.Root != pregel.None {
			if m.Root == msfRoot.Of(v) && v.ID() < m.Root {
				msfRoot.Set(v, v.ID())
			}
			continue
		}
		e := TreeEdge{m.Low + m.High - v.ID(), m.Weight}
		if !slices.Contains(msfEdges.Of(v), e) { // the tree at the other end may have taken it too
			msfEdges.Set(v, append(msfEdges.Of(v), e))
		}
	}
}
