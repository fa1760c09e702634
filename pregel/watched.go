package pregel

import (
	"math/bits"
	"slices"
)

// watched wraps a program so that tests see its messages when they are sent, not after Compute: the
// program may change a message in between.
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

// watchedList wraps a list program. It passes a copy of the messages and clears the copy after the
// call, to expose programs that keep the slice.
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

// sendWatched is SendToAllNeighbors of a watched program: it first shows m to the observer.
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

// watchAll shows the observer the messages that vertices of the block sent to all their neighbours,
// after they were combined.
func (l *lane[V, M]) watchAll(sent uint64, out *[64]M) {
	for ; sent != 0; sent &= sent - 1 {
		i := bits.TrailingZeros64(sent)
		l.Block.watch(l.Block.ID(i), out[i])
	}
}
