package algorithms

import (
	"cmp"
	"slices"

	"github.com/superstep-go/superstep/pregel"
)

// msfGrow is a step of MSF in which each tree takes the lightest edge that leaves it, in four
// supersteps: vertices tell their neighbours their root; then their own root the lightest edge here
// that leaves; roots take the lightest of all, and tell its ends and the root of the other tree, on
// which they hook; these take note.
type msfGrow struct{}

// msfMessage is an edge that leaves a tree, and the root at its other end. To the ends of an edge
// that is taken the root is pregel.None; to the root of another tree it is who hooks on it; and to
// neighbours Low is the sender, Root its root, and the rest nothing.
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
			return // it may not know its root
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
		msfInner.Set(v, false) // until the next round it is to find its new root
		least.Root = pregel.None
		v.Send(least.Low, least)
		v.Send(least.High, least)
		v.Send(other, msfMessage{Root: v.ID()})
	case 3:
		p.join(v, messages)
	}
}

// lightest returns the lightest edge of v that leaves its tree. Neighbours inside of the tree may
// have told nothing.
func lightest(v *pregel.Vertex[struct{},
	msfMessage], told []msfMessage,
) (least msfMessage, found bool) {
	slices.SortFunc(told, func(a, b msfMessage) int { return cmp.Compare(a.Low, b.Low) })
	own, i := msfRoot.Of(v), 0
	for e := range v.Edges() { // by rising To
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

// join takes note of edges that were taken, and makes one of two roots that have hooked on each
// other the root again: both took the same edge.
func (msfGrow) join(v *pregel.Vertex[struct{}, msfMessage], messages []msfMessage) {
	msfGrown.Add(v, true) // of the last superstep is what the plan sees
	for _, m := range messages {
		if m.Root != pregel.None {
			if m.Root == msfRoot.Of(v) && v.ID() < m.Root {
				msfRoot.Set(v, v.ID())
			}
			continue
		}
		e := TreeEdge{m.Low + m.High - v.ID(), m.Weight}
		if !slices.Contains(msfEdges.Of(v), e) { // the tree at the other end may take it too
			msfEdges.Set(v, append(msfEdges.Of(v), e))
		}
	}
}
