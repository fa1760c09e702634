package generate

import "github.com/superstep-go/superstep/internal/edges"

// The random numbers of all generators except Kronecker are SplitMix64 (Steele, Lea and Flood
// 2014). Its n-th output is a hash of n, so each output can be computed independently.

// golden is the increment of SplitMix64: 2^64 divided by the golden ratio, made odd.
const golden = 0x9e3779b97f4a7c15

// key selects one of the streams of a seed.
type key uint64

// Purposes of streams.
const (
	forEdges = 1 + iota
	forWeights
)

func newKey(seed, purpose uint64) key { return key(mix(mix(seed) + purpose)) }

// at returns the n-th number of the stream, with 64 random bits.
func (k key) at(n int) uint64 { return mix(uint64(k) + (uint64(n)+1)*golden) }

// mix is the output function of SplitMix64, a bijection.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// uniformWeights gives the tuples of b, which begin with tuple first, weights if they are wanted,
// uniformly distributed over the multiples of 2^-53 in [0, 1).
func uniformWeights(seed uint64, first int, b *edges.Block, wanted bool) {
	if !wanted {
		return
	}
	k := newKey(seed, forWeights)
	for j := range b.N {
		b.W[j] = float64(k.at(first+j)>>11) * (1.0 / (1 << 53))
	}
}
