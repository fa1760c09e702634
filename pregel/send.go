package pregel

import "fmt"

// back is what the vertices of a block send to their in-neighbours in a program of direction Either; the block's Sent and Out are for
// out-neighbours.
type back[M any] struct {
	sent uint64
	out  *[64]M
}

// sendBack sends m to all in-neighbours.
func (v *Vertex[V, M]) sendBack(m M) {
	if v.b.watch != nil {
		v.b.watch(v.id, m)
	}
	switch to := &v.b.back; {
	case to.sent&v.bit == 0:
		to.sent |= v.bit
		to.out[v.i&63] = m
	case v.b.combine != nil:
		to.out[v.i&63] = v.b.combine(to.out[v.i&63], m)
	default:
		v.sendEach("SendAlong", In, m)
	}
}

// sentBits say what a vertex has done in a call: sent a message to all neighbours, which goes along the lists, or changed its own
// edges, so that what it sends from here on goes along these one by one.
type sentBits uint8

const (
	sentOne sentBits = 1 << iota
	changed
	watching // set while a watched program runs: what it sends takes the slow way
)

// sendAgain is SendToAllNeighbors for a vertex that has called it before in this superstep: a neighbour gets both
// messages combined, or, in a list program and under combiners.Count, the second by itself. A vertex that has changed its edges sends
// along those that it has now.
func (v *Vertex[V, M]) sendAgain(m M) {
	if v.sent&watching != 0 {
		v.sendWatched(m)
		return
	}
	if v.sent&changed != 0 {
		v.sendChanged(m)
		return
	}
	if v.b.combine != nil {
		v.message = v.b.combine(v.message, m)
		return
	}
	v.sendEach("SendToAllNeighbors", Out, m)
}

// sendEach sends m along every edge by itself: along the in-edges, or those by the program's direction.
func (v *Vertex[V, M]) sendEach(method string, d Direction, m M) {
	if why := v.b.Worker.state.NoEdges; why != nil {
		panic(fmt.Errorf("%s twice in a superstep, without a combiner for the two: %w", method, why))
	}
	edges := v.Edges()
	if d == In {
		edges = v.InEdges()
	}
	for e := range edges {
		v.Send(e.To, m)
	}
}
