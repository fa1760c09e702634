package combiners

import "github.com/superstep-go/superstep/pregel"

// ListKernel is the column and the loops of a list program, which has no combiner. It is made by the engine.
type ListKernel[M any] struct{ plain[M] }

// NewListKernel makes the kernel of a list program.
func NewListKernel[M any](b pregel.Binding) *ListKernel[M] {
	var zero M
	return &ListKernel[M]{newPlain(b, zero, pregel.Traits{Ordered: true})}
}

// Gather appends the messages of the senders present among Adj[lo:hi].
func (k *ListKernel[M]) Gather(p *pregel.Pull, lo, hi uint32, msgs []M) []M {
	for _, s := range p.Adj[lo:hi] {
		if p.All || p.Present[s>>6]>>(s&63)&1 != 0 {
			msgs = append(msgs, k.read[s])
		}
	}
	return msgs
}

// Pull is never called: messages are gathered.
func (k *ListKernel[M]) Pull(*pregel.Pull, int, uint64, uint64, *[64]M) (uint64, int) {
	panic("combiners: a list kernel does not combine")
}

// Push is never called: messages are gathered.
func (k *ListKernel[M]) Push(*pregel.Push, int, *pregel.Inbox[M]) int {
	panic("combiners: a list kernel does not combine")
}

// Fold is never called: messages are gathered.
func (k *ListKernel[M]) Fold([]uint32, []M, *pregel.Inbox[M]) {
	panic("combiners: a list kernel does not combine")
}
