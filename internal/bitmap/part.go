package bitmap

import "sort"

// word returns the word with the one of a rank.
func (r *Ranked) word(rank uint32) int {
	return sort.Search(len(r.Bits), func(w int) bool { return r.Rank[w+1] > rank })
}

// sharedPart is Shared for a part of a list.
func (l *List) sharedPart(in *Frontier, f func(w int, word, mask uint64, rank uint32)) {
	n := uint32(l.Head.Count())
	if l.from < min(l.to, n) {
		first, last := l.Head.word(l.from), l.Head.word(min(l.to, n)-1)
		for w := in.next(first); w >= 0 && w <= last; w = in.next(w + 1) {
			mask, rank := l.Head.Bits[w], l.Head.Rank[w]
			if w == first || w == last {
				mask, rank = l.within(w)
			}
			if word := in.Words[w] & mask; word != 0 {
				f(w, word, mask, rank-l.from)
			}
		}
	}
	if l.to > n {
		all := List{Tail: l.Tail[:l.to-n]}
		at := int(max(l.from, n) - n)
		all.sharedTail(at, in, n-l.from, f)
	}
}

// within returns the ones of a word of the head that belong to the part, and the rank of the first.
func (l *List) within(w int) (mask uint64, rank uint32) {
	mask, rank = l.Head.Bits[w], l.Head.Rank[w]
	places := ^uint64(0)
	if rank < l.from {
		places &^= Low(int(l.from - rank))
	}
	if rank+64 > l.to {
		places &= Low(int(l.to - rank))
	}
	return Expand(places, mask), max(rank, l.from)
}
