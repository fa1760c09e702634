package graph

import (
	"math/bits"

	"github.com/superstep-go/superstep/internal/mem"
)

// radixBits is the digit of the radix sorts here: its counters fit in the first-level cache.
const radixBits = 11

// order ranks the vertices by falling degree, of equals the smaller input vertex first, and fills Order and IDs: hot
// vertices get small handles, so that the bits and values looked at most lie together (Nakao20, 3.2).
func (b *builder) order() {
	g := b.g
	g.Order = mem.Make[uint32](g.arena, b.n)
	g.IDs = mem.Make[uint32](g.arena, b.n)
	total := func(i uint32) uint32 {
		if b.directed {
			return b.unique.out[i] + b.unique.in[i]
		}
		return b.unique.out[i]
	}
	largest := uint32(0)
	for i := range uint32(b.n) {
		d := total(i)
		largest = max(largest, d)
		if d > 0 {
			g.Connected++
		}
	}
	// Least significant digit first, each pass stable, from the array that makes the last one end in Order.
	passes := (bits.Len32(largest) + radixBits - 1) / radixBits
	from, to := g.IDs, g.Order
	if passes%2 == 0 {
		from, to = to, from
	}
	for i := range from {
		from[i] = uint32(i)
	}
	for pass := range passes {
		shift := uint(pass * radixBits)
		var next [1 << radixBits]uint32
		for _, v := range from {
			next[^(total(v)>>shift)&(1<<radixBits-1)]++
		}
		at := uint32(0)
		for i, c := range next {
			next[i] = at
			at += c
		}
		for _, v := range from {
			digit := ^(total(v) >> shift) & (1<<radixBits - 1)
			to[next[digit]] = v
			next[digit]++
		}
		from, to = to, from
	}
	b.team.For(b.n, 1<<14, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			g.IDs[g.Order[i]] = uint32(i)
		}
	})
}
