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

// Claim pushes with one atomic operation for each receiver without a message. A receiver that has a
// message costs one load.
func (k *firstKernel[T]) Claim(p *kernel.Push, rows []kernel.Row, into *kernel.Inbox[T]) {
	has, skip := into.Has.Words, p.Skip
	for _, row := range rows {
		for _, d := range p.Adj[row.Lo:row.Hi] {
			if (skip[d>>6]|atomic.LoadUint64(&has[d>>6]))>>(d&63)&1 == 0 && into.Has.AddShared(d) {
				into.Msg[d] = k.Read[row.From]
			}
		}
	}
}
