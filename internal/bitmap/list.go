package bitmap

import (
	"math/bits"
	"slices"
)

// List is a set of vertices. The rank of a member is its position in a column. Vertices are ordered
// by degree: the set contains nearly every hub, and few of the other vertices. So the first part,
// the head, is a bitmap with ranks, and the rest, the tail, is a list of the members.
//
//	Head   1 1 1 1 1 0 1 1 ...     a bit for each of the first 64*len(Head.Bits) vertices
//	Tail   9001 9664 12071 ...     the members beyond
type List struct {
	Head     Ranked
	Tail     []uint32
	part     bool
	from, to uint32 // of a part: its range of ranks
}

// Part returns the members with ranks in [from, to), for Count and Shared only. Its ranks begin at
// its first member.
func (l *List) Part(from, to int) List {
	return List{Head: l.Head, Tail: l.Tail, part: true, from: uint32(from), to: uint32(to)}
}

// At returns the member with a rank.
func (l *List) At(rank int) uint32 {
	if n := l.Head.Count(); rank >= n {
		return l.Tail[rank-n]
	}
	w := l.Head.word(uint32(rank))
	return uint32(w<<6) + nth(l.Head.Bits[w], uint32(rank)-l.Head.Rank[w])
}

// Below returns the number of members below limit, a multiple of 64.
func (l *List) Below(limit uint32) int {
	if w := int(limit >> 6); w < len(l.Head.Bits) {
		return int(l.Head.Rank[w])
	}
	return l.Head.Count() + l.seek(0, limit)
}

// tailMembers is the number of members per word below which a list's tail begins. A word with its
// rank takes 12 bytes, a member 4. Looking a word up in the head takes about as long as one or two
// members of the tail (BenchmarkList).
const tailMembers = 2

// Cut returns the number of words of a set for the head of its list, so that no other border saves
// more memory, and the number of members in its tail.
func Cut(set []uint64) (words, tail int) {
	words = len(set)
	most, behind := 0, 0
	for w := len(set) - 1; w >= 0; w-- {
		behind += bits.OnesCount64(set[w])
		if saved := tailMembers*(len(set)-w) - behind; saved > most {
			most, words, tail = saved, w, behind
		}
	}
	return words, tail
}

// Fill makes a list of set in the memory of l, whose parts must have the lengths that Cut returns.
func (l *List) Fill(set []uint64) {
	head := copy(l.Head.Bits, set)
	l.Head = Rank(l.Head.Bits, l.Head.Rank)
	at := 0
	Each(set[head:], func(i uint32) {
		l.Tail[at] = uint32(head)<<6 + i
		at++
	})
}

// Count returns the number of members.
func (l *List) Count() int {
	if l.part {
		return int(l.to - l.from)
	}
	return l.Head.Count() + len(l.Tail)
}

// Each calls f for every member, in ascending order.
func (l *List) Each(f func(i uint32)) {
	Each(l.Head.Bits, f)
	for _, i := range l.Tail {
		f(i)
	}
}

// Shared calls f for the words in which the frontier and the list share members, in ascending
// order. Arguments are the word's index, the shared members, the list's word, and the rank of its
// first member. In the tail the list's words have one member each.
func (l *List) Shared(in *Frontier, f func(w int, word, mask uint64, rank uint32)) {
	if l.part {
		l.sharedPart(in, f)
		return
	}
	head := l.Head.Bits
	for t := range Words(len(head)) {
		for top := in.Summary(t); top != 0; top &= top - 1 {
			w := t<<6 + bits.TrailingZeros64(top)
			if w >= len(head) {
				break
			}
			if word := in.Words[w] & head[w]; word != 0 {
				f(w, word, head[w], l.Head.Rank[w])
			}
		}
	}
	l.sharedTail(0, in, uint32(l.Head.Count()), f)
}

// sharedTail is Shared for the members of the tail from index at on. rank is the rank of the tail's
// first member.
func (l *List) sharedTail(
	at int, in *Frontier, rank uint32, f func(w int, word, mask uint64, rank uint32),
) {
	for at < len(l.Tail) {
		t := int(l.Tail[at] >> 12)
		switch top := in.Summary(t); {
		case top == 0:
			next := in.next((t + 1) << 6)
			if next < 0 {
				return
			}
			at = l.seek(at, uint32(next)<<6)
		case bits.OnesCount64(top) < fewWords:
			for ; top != 0; top &= top - 1 {
				w := uint32(t<<6 + bits.TrailingZeros64(top))
				at = l.share(l.seek(at, w<<6), (w+1)<<6, in, rank, f)
			}
			at = l.seek(at, uint32(t+1)<<12)
		default:
			at = l.share(at, uint32(t+1)<<12, in, rank, f)
		}
	}
}

// fewWords is the number of words of a frontier, of 64, below which their members are searched in
// the tail. Looking at all members of the tail there, at most 128 or so, takes as long as about
// this many searches.
const fewWords = 4

// share is Shared for the members of the tail from index at on that are below end. rank is the rank
// of the tail's first member. It returns the index of the next member.
func (l *List) share(
	at int, end uint32, in *Frontier, rank uint32, f func(w int, word, mask uint64, rank uint32),
) int {
	for ; at < len(l.Tail) && l.Tail[at] < end; at++ {
		i := l.Tail[at]
		if bit := uint64(1) << (i & 63); in.Words[i>>6]&bit != 0 {
			f(int(i>>6), bit, bit, rank+uint32(at))
		}
	}
	return at
}

// seek returns the index of the first member of the tail, from index at on, that is at least i.
func (l *List) seek(at int, i uint32) int {
	k, _ := slices.BinarySearch(l.Tail[at:], i)
	return at + k
}

// Members appends to dst the members whose ranks are in places, a bitmap. places must have room for
// one bit more than the list has members.
func (l *List) Members(places []uint64, dst []uint32) []uint32 {
	for w, mask := range l.Head.Bits {
		if mask == 0 {
			continue
		}
		at := l.Head.Rank[w]
		packed := places[at>>6]>>(at&63) | places[at>>6+1]<<1<<(63-at&63)
		for word := Expand(packed, mask); word != 0; word &= word - 1 {
			dst = append(dst, uint32(w<<6+bits.TrailingZeros64(word)))
		}
	}
	before := l.Head.Count()
	for w := before >> 6; w < Words(l.Count()); w++ {
		word := places[w]
		if w == before>>6 {
			word &^= Low(before & 63)
		}
		for ; word != 0; word &= word - 1 {
			dst = append(dst, l.Tail[w<<6+bits.TrailingZeros64(word)-before])
		}
	}
	return dst
}

// Replace replaces ranks, in ascending order, by the members that have them. It searches each rank
// from the word of the one before on, and first where it would be if members were equally frequent
// everywhere.
func (l *List) Replace(ranks []uint32) {
	w, of, n := 0, l.Head.Rank, uint32(l.Head.Count())
	each := uint64(len(l.Head.Bits)) << 32 / uint64(n+1) // words per member
	for k, rank := range ranks {
		if rank >= n {
			ranks[k] = l.Tail[rank-n]
			continue
		}
		more := uint64(rank - of[w])
		if guess := w + int(more*each>>32); guess < len(of) && of[guess] <= rank {
			w = guess
		} else {
			w += int(more >> 6) // no word has more members
		}
		step := 1
		for w+step < len(of) && of[w+step] <= rank {
			w += step
			step *= 2
		}
		for step /= 2; step > 0; step /= 2 {
			if w+step < len(of) && of[w+step] <= rank {
				w += step
			}
		}
		ranks[k] = uint32(w<<6) + nth(l.Head.Bits[w], rank-of[w])
	}
}

// nth returns the index of a one of a word: its first one if n is 0, its second if n is 1, and so
// on. The word must have it. (Vigna, 2008, Broadword implementation of rank/select queries.)
func nth(word uint64, n uint32) uint32 {
	const bytes = 0x0101010101010101
	ones := word - word>>1&(0x55*bytes)
	ones = ones&(0x33*bytes) + ones>>2&(0x33*bytes)
	ones = (ones + ones>>4) & (0x0f * bytes) * bytes // each byte: the ones in it and below
	below := ((uint64(n)*bytes | 0x80*bytes) - ones) & (0x80 * bytes)
	at := uint32(bits.OnesCount64(below)) * 8
	word = word >> at & 0xff
	for n -= uint32(ones << 8 >> at & 0xff); n > 0; n-- {
		word &= word - 1
	}
	return at + uint32(bits.TrailingZeros64(word))
}
