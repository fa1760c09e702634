package engine

import "github.com/superstep-go/superstep/internal/kernel"

// listKernel is the column and the loops of a list program, which has no combiner: messages are gathered, and never folded.
type listKernel[M any] struct{ kernel.MessageColumn[M] }

func newListKernel[M any](b kernel.Binding) *listKernel[M] {
	return &listKernel[M]{kernel.NewMessageColumn[M](b)}
}

func (k *listKernel[M]) Traits() kernel.Traits {
	return kernel.Traits{Ordered: true, Bytes: k.Bytes(), Raw: k.Raw}
}

func (k *listKernel[M]) Reset() {}

// gather appends the messages of the senders present among Adj[lo:hi].
func (k *listKernel[M]) gather(p *kernel.Pull, lo, hi uint32, msgs []M) []M {
	for _, s := range p.Adj[lo:hi] {
		if p.All || p.Present[s>>6]>>(s&63)&1 != 0 {
			msgs = append(msgs, k.Read[s])
		}
	}
	return msgs
}

func (k *listKernel[M]) Emit(p *kernel.Push, w int, bins *kernel.Bins[M]) int {
	return kernel.Emit(p, w, k.Read, bins)
}

const cannotFold = "engine: the kernel of a list program does not combine"

func (k *listKernel[M]) Pull(*kernel.Pull, int, uint64, uint64, *[64]M) (uint64, int) {
	panic(cannotFold)
}

func (k *listKernel[M]) Push(*kernel.Push, int, *kernel.Inbox[M]) int { panic(cannotFold) }

func (k *listKernel[M]) Fold([]uint32, []M, *kernel.Inbox[M]) { panic(cannotFold) }
