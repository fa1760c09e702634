package pregel

import (
	"fmt"
	"iter"
)

// back holds the messages of a block's vertices to their in-neighbours, in a program of direction
// Either. The block's Sent and Out are for out-neighbours.
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
		v.sendOver(v.eachEdge("SendAlong", v.InEdges), m)
	}
}

// sentBits records what a vertex did in the current call: it sent a message to all neighbours
// (sentOne), or it changed its own edges (changed), so that later messages go along these edges one
// by one. If any bit is set, SendToAllNeighbors takes the slow path (sendAgain).
type sentBits uint8

const (
	sentOne sentBits = 1 << iota
	changed
	watching // set while a watched program runs: what it sends takes the slow way
)

// sendAgain is SendToAllNeighbors for a vertex that has called it before in this superstep: a
// neighbour gets both messages combined, or, in a list program and under combiners.Count, the
// second by itself. A vertex that has changed its edges sends along those that it has now.
func (v *Vertex[V, M]) sendAgain(m M) {
	switch {
	case v.sent&watching != 0:
		v.sendWatched(m)
	case v.sent&changed != 0:
		v.sendOver(v.edgesNow(), m)
	case v.b.combine != nil:
		v.message = v.b.combine(v.message, m)
	default:
		v.sendOver(v.eachEdge("SendToAllNeighbors", v.Edges), m)
	}
}

// sendOver sends m along each of some edges by itself.
func (v *Vertex[V, M]) sendOver(edges iter.Seq[Edge], m M) {
	for e := range edges {
		v.Send(e.To, m)
	}
}

// eachEdge returns edges, along which a message is sent by itself for it cannot be combined.
func (v *cursor) eachEdge(method string, edges func() iter.Seq[Edge]) iter.Seq[Edge] {
	v.needEdges(method + " twice in a superstep, without a combiner for the two")
	return edges()
}

// along returns whether a message in a direction goes the way of SendToAllNeighbors, and whether
// it goes to in-neighbours apart.
func (v *cursor) along(d Direction) (forth, back bool) {
	switch own := Direction(v.state.Direction); {
	case d > Both:
		panic(fmt.Sprintf("SendAlong(%v): want pregel.Out, pregel.In or pregel.Both", d))
	case v.state.Undirected || d == own:
		return true, false
	case own != Either:
		panic(fmt.Sprintf("SendAlong(%v) in a program of direction %v: its Traits must have "+
			"pregel.Either", d, own))
	}
	return d != In, d != Out
}
