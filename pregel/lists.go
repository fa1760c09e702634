package pregel

import (
	"slices"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// listKernel has the message column and the loops of a list program. Such a program has no
// combiner, so messages are gathered and never folded.
type listKernel[M any] struct {
	kernel.MessageColumn[M]
}

func newListKernel[M any](b kernel.Binding) *listKernel[M] {
	return &listKernel[M]{MessageColumn: kernel.NewMessageColumn[M](b)}
}

func (k *listKernel[M]) Reset() {}

func (k *listKernel[M]) Traits() kernel.Traits {
	return kernel.Traits{Ordered: true, Bytes: k.Bytes(), Raw: k.Raw}
}

// gather appends the messages of the senders in Adj[lo:hi] that sent one.
func (k *listKernel[M]) gather(p *kernel.Pull, lo, hi uint32, msgs []M) []M {
	list, read := p.Adj[lo:hi], k.Read
	if p.All {
		n := len(msgs)
		msgs = slices.Grow(msgs, len(list))[:n+len(list)]
		to := msgs[n:]
		for i, s := range list {
			to[i] = read[s]
		}
		return msgs
	}
	for _, s := range list {
		if p.Present[s>>6]>>(s&63)&1 != 0 {
			msgs = append(msgs, read[s])
		}
	}
	return msgs
}

func (k *listKernel[M]) Emit(p *kernel.Push, rows []kernel.Row, bins *kernel.Bins[M]) {
	kernel.Emit(p, rows, k.Read, bins)
}

const cannotFold = "pregel: the kernel of a list program does not combine"

func (k *listKernel[M]) Pull(*kernel.Pull, int, uint64, uint64, *[64]M) (uint64, int) {
	panic(cannotFold)
}

func (k *listKernel[M]) Push(*kernel.Push, []kernel.Row, *kernel.Inbox[M]) { panic(cannotFold) }

func (k *listKernel[M]) Fold([]uint32, []M, *kernel.Inbox[M]) { panic(cannotFold) }

// messageLists holds the messages of a list program, sorted by receiver.
type messageLists[M any] struct {
	receivers
	msg    []M
	sorted []M
}

// receivers holds the receivers of the messages in messageLists.
type receivers struct {
	store  *mem.Arena
	to     []uint32
	starts []uint32 // starts by local vertex, and the end; empty if no message came
}

func (l *messageLists[M]) add(to []uint32, msg []M) {
	l.to = mem.Grow(l.store, l.to, len(to))
	l.msg = mem.Grow(l.store, l.msg, len(msg))
	l.to = append(l.to, to...)
	l.msg = append(l.msg, msg...)
}

func (l *messageLists[M]) reset() { l.to, l.msg, l.starts = l.to[:0], l.msg[:0], l.starts[:0] }

// drop removes the messages whose receivers which selects.
func (l *messageLists[M]) drop(which func(to uint32) bool) {
	n := 0
	for i, to := range l.to {
		if !which(to) {
			l.to[n], l.msg[n] = to, l.msg[i]
			n++
		}
	}
	l.to, l.msg = l.to[:n], l.msg[:n]
}

// build sorts the messages by receiver, stably (counting sort).
func (l *messageLists[M]) build(owned int) {
	l.sorted = mem.Grow(l.store, l.sorted[:0], len(l.msg))[:len(l.msg)]
	starts := l.count(owned)
	for i, v := range l.to {
		l.sorted[starts[v+1]] = l.msg[i]
		starts[v+1]++
	}
	l.to, l.msg = l.to[:0], l.msg[:0]
}

// count makes starts, for a counting sort. It returns starts with one more element at the
// beginning: element v+1 is where the next message to v goes. After the caller placed all messages,
// element v+1 is where the messages to v end, so starts is then correct.
func (l *receivers) count(owned int) []uint32 {
	l.starts = l.starts[:0]
	if len(l.to) == 0 {
		return nil
	}
	if cap(l.starts) < owned+2 {
		l.starts = mem.Grow(l.store, l.starts, owned+2)
	}
	starts := l.starts[:owned+2]
	clear(starts)
	for _, v := range l.to {
		starts[v+2]++
	}
	for i := 2; i < len(starts); i++ {
		starts[i] += starts[i-1]
	}
	l.starts = starts[:owned+1]
	return starts
}

// of returns the messages to a vertex.
func (l *messageLists[M]) of(local uint32) []M {
	if len(l.starts) == 0 {
		return nil
	}
	return l.sorted[l.starts[local]:l.starts[local+1]]
}
