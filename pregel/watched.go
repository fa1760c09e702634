package pregel

import (
	"math/bits"
	"slices"
)

// watched is a program whose messages are seen by tests when they are sent, not when the vertex has
// run: it may change them in between.
type watched[V, M any] struct{ of Program[V, M] }

func (w watched[V, M]) Compute(v *Vertex[V, M], m M) {
	v.sent = watching
	w.of.Compute(v, m)
}

func watchedInit[V, M any](init func(v *Vertex[V, M])) func(v *Vertex[V, M]) {
	return func(v *Vertex[V, M]) {
		v.sent = watching
		init(v)
	}
}

// watchedList is a list program that gets a copy of its messages, which is zero after the call: it
// may not keep them.
type watchedList[V, M any] struct{ of ListProgram[V, M] }

func (w watchedList[V, M]) Compute(v *Vertex[V, M], msgs []M) {
	v.sent = watching
	msgs = slices.Clone(msgs)
	w.of.Compute(v, msgs)
	clear(msgs)
}

func (l *lane[V, M]) listProgram() ListProgram[V, M] {
	if l.watched {
		return watchedList[V, M]{l.of.list}
	}
	return l.of.list
}

// sendWatched sends m to all neighbours.
func (v *Vertex[V, M]) sendWatched(m M) {
	if v.b.watch != nil {
		v.b.watch(v.id, m)
	}
	v.sent &^= watching
	v.SendToAllNeighbors(m)
	v.sent |= watching
}

func (l *lane[V, M]) Watch(f func(from VertexID, message any)) {
	if l.watched = true; f == nil {
		return
	}
	l.Block.watch = f
	lift := l.outbox.Lift
	l.outbox.Lift = func(from uint64, m M) (M, bool) {
		sent := true
		if lift != nil {
			m, sent = lift(from, m)
		}
		f(VertexID(from), m)
		return m, sent
	}
}

// watchAll passes on what some vertices of the block sent to all their neighbours, after it was
// combined.
func (l *lane[V, M]) watchAll(sent uint64, out *[64]M) {
	for ; sent != 0; sent &= sent - 1 {
		i := bits.TrailingZeros64(sent)
		l.Block.watch(l.Block.ID(i), out[i])
	}
}
