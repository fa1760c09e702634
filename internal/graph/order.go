package graph

import (
	"math/bits"

	"github.com/superstep-go/superstep/internal/mem"
)

// radixBits is the digit of the radix sorts here: its counters fit in the first-level cache.
const radixBits = 11

// order ranks the vertices by falling degree, of equals the smaller input vertex first, and fills Order and IDs: hot
// vertices get small handles, so that the bits and values looked at most lie together (Nakao20, 3.2). Asked for the input's
// order, it keeps that.
func (b *builder) order() {
	g := b.g
	g.Order = mem.Make[uint32](g.arena, g.N)
	g.IDs = mem.Make[uint32](g.arena, g.N)
	degree := func(v uint32) uint32 {
		if g.Directed {
			return b.unique.out[v] + b.unique.in[v]
		}
		return b.unique.out[v]
	}
	for v := range uint32(g.N) {
		g.Order[v] = v
		if degree(v) > 0 {
			g.Connected++
		}
	}
	if b.o.InputOrder {
		copy(g.IDs, g.Order)
		g.Connected = g.N
		return
	}
	if ByFallingDegree(g.Order, g.IDs, degree) {
		g.Order, g.IDs = g.IDs, g.Order
	}
	b.team.For(g.N, 1<<14, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			g.IDs[g.Order[i]] = uint32(i)
		}
	})
}

// ByFallingDegree sorts vertices by falling degree, stably, with the help of as much memory: it reports whether they are
// in there afterwards.
func ByFallingDegree(vertices, spare []uint32, degree func(v uint32) uint32) bool {
	largest := uint32(0)
	for _, v := range vertices {
		largest = max(largest, degree(v))
	}
	// Least significant digit first, each pass stable.
	passes := (bits.Len32(largest) + radixBits - 1) / radixBits
	from, to := vertices, spare
	for pass := range passes {
		shift := uint(pass * radixBits)
		var next [1 << radixBits]uint32
		for _, v := range from {
			next[^(degree(v)>>shift)&(1<<radixBits-1)]++
		}
		at := uint32(0)
		for i, c := range next {
			next[i] = at
			at += c
		}
		for _, v := range from {
			digit := ^(degree(v) >> shift) & (1<<radixBits - 1)
			to[next[digit]] = v
			next[digit]++
		}
		from, to = to, from
	}
	return passes%2 == 1
}
