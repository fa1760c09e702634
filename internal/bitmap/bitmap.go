// Package bitmap has sets of small integers as words of 64 bits: the presence of messages, the
// finished and the active vertices, the rows of BCSR, and the lists of vertices in columns. Read
// bitmap.go first, then list.go.
package bitmap

import "math/bits"

// Words returns the number of words for n bits.
func Words(n int) int { return (n + 63) >> 6 }

// Get reports whether bit i of set is one.
func Get(set []uint64, i uint32) bool { return set[i>>6]>>(i&63)&1 != 0 }

// Set makes bit i of set one.
func Set(set []uint64, i uint32) { set[i>>6] |= 1 << (i & 63) }

// Fill sets the first n bits of set to one and leaves the others.
func Fill(set []uint64, n int) {
	full := n >> 6
	for i := range set[:full] {
		set[i] = ^uint64(0)
	}
	if n&63 != 0 {
		set[full] |= Low(n & 63)
	}
}

// Low returns a word with the lowest n bits set, 0 <= n < 64.
func Low(n int) uint64 { return 1<<(uint(n)&63) - 1 }

// Count returns the number of ones.
func Count(set []uint64) int {
	n := 0
	for _, w := range set {
		n += bits.OnesCount64(w)
	}
	return n
}

// Each calls f with the position of every one, in ascending order.
func Each(set []uint64, f func(i uint32)) {
	for w, word := range set {
		for ; word != 0; word &= word - 1 {
			f(uint32(w<<6 + bits.TrailingZeros64(word)))
		}
	}
}

// Ranked is a bitmap with the number of ones before each word, so the rank of a bit costs one
// popcount. These are `bitmap` and `offset` of BCSR (Nakao20, 3.1), and NBp and RB with RO (Ueno13,
// 3.2).
//
// Invariant: Rank[w] is the number of ones in Bits[:w]. len(Rank) == len(Bits)+1, so the last
// element is their total.
type Ranked struct {
	Bits []uint64
	Rank []uint32
}

// Rank makes a Ranked of set, which it uses without a copy. It uses the memory of ranks if that is
// long enough.
func Rank(set []uint64, ranks []uint32) Ranked {
	if cap(ranks) < len(set)+1 {
		ranks = make([]uint32, len(set)+1)
	}
	ranks = ranks[:len(set)+1]
	n := uint32(0)
	for w, word := range set {
		ranks[w] = n
		n += uint32(bits.OnesCount64(word))
	}
	ranks[len(set)] = n
	return Ranked{set, ranks}
}

// Count returns the number of ones.
func (r Ranked) Count() int {
	if len(r.Rank) == 0 {
		return 0
	}
	return int(r.Rank[len(r.Rank)-1])
}

// Of returns the number of ones before bit i.
func (r Ranked) Of(i uint32) uint32 {
	return r.Rank[i>>6] + uint32(bits.OnesCount64(r.Bits[i>>6]&(1<<(i&63)-1)))
}

// Get reports whether bit i is one.
func (r Ranked) Get(i uint32) bool { return Get(r.Bits, i) }

// Compress moves the bits of word at the ones of mask to the low end (the instruction PEXT, which
// Go does not offer).
func Compress(word, mask uint64) uint64 {
	word &= mask
	if word == ^uint64(0) {
		return word
	}
	if word == mask {
		return Low(bits.OnesCount64(mask))
	}
	packed := uint64(0)
	for ; word != 0; word &= word - 1 {
		low := word & -word
		packed |= 1 << (uint(bits.OnesCount64(mask&(low-1))) & 63)
	}
	return packed
}

// Expand moves the low bits of packed to the ones of mask, in order (PDEP): the inverse of
// Compress.
func Expand(packed, mask uint64) uint64 {
	if packed == ^uint64(0) {
		return mask
	}
	word := uint64(0)
	for ; mask != 0 && packed != 0; mask &= mask - 1 {
		word |= mask & -mask & -(packed & 1)
		packed >>= 1
	}
	return word
}
