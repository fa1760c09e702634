package graph

import "math/bits"

// radixBits is the digit size of radix sorts. The counters of a digit fit into the first-level
// cache.
const radixBits = 11

// ByFallingDegree sorts vertices by falling degree, stably. spare is a buffer of the same length.
func ByFallingDegree(vertices, spare []uint32, degree func(v uint32) uint32) {
	largest := uint32(0)
	for _, v := range vertices {
		largest = max(largest, degree(v))
	}
	// Least significant digit first; each pass is stable.
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
	if passes%2 == 1 {
		copy(vertices, spare)
	}
}
