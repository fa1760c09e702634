package combiners

import (
	"math/bits"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/kernel"
)

// Pull finds for each vertex the first in-neighbour that sent, and takes its message.
func (k *firstKernel[T]) Pull(p *kernel.Pull, w int, need, found uint64, in *[64]T) (uint64, int) {
	var slots [64]uint32
	hit, walked := find(p, w, need, &slots)
	for m := hit; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m) & 63
		in[i] = k.Read[slots[i]]
	}
	return found | hit, walked
}

// Claim pushes with one atomic operation for each receiver that has no message yet; receivers that have one cost a load.
func (k *firstKernel[T]) Claim(p *kernel.Push, w int, into *kernel.Inbox[T]) int {
	edges := 0
	has, skip := into.Has.Words, p.Skip
	for senders := p.Present[w]; senders != 0; senders &= senders - 1 {
		s := uint32(w<<6 + bits.TrailingZeros64(senders))
		lo, hi := p.Row(s)
		edges += int(hi - lo)
		for _, d := range p.Adj[lo:hi] {
			if (skip[d>>6]|atomic.LoadUint64(&has[d>>6]))>>(d&63)&1 == 0 && into.Has.AddShared(d) {
				into.Msg[d] = k.Read[s]
			}
		}
	}
	return edges
}
