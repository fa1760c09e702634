package bitmap

import (
	"math/bits"
	"sync/atomic"
)

// Frontier is a bitmap with a summary, which has one bit for each word that may contain a one. So a
// small frontier in a large graph costs its own size and 1/4096 of the graph's.
//
// Invariant: the summary bit of each nonzero word is set, or All is true, which stands for all
// summary bits.
type Frontier struct {
	Words []uint64
	Top   []uint64
	All   bool
}

// NewFrontier makes an empty frontier over words, all zero.
func NewFrontier(words []uint64) *Frontier {
	return &Frontier{Words: words, Top: make([]uint64, Words(len(words)))}
}

// Mark records that word w may now contain a one. Only one goroutine may call it at a time.
func (f *Frontier) Mark(w int) { f.Top[w>>6] |= 1 << (w & 63) }

// MarkShared is Mark for several goroutines at once.
func (f *Frontier) MarkShared(w int) {
	if atomic.LoadUint64(&f.Top[w>>6])>>(w&63)&1 == 0 {
		f.markShared(w)
	}
}

//go:noinline
func (f *Frontier) markShared(w int) { atomic.OrUint64(&f.Top[w>>6], 1<<(w&63)) }

// SetShared is Set for several goroutines at once.
func SetShared(set []uint64, i uint32) {
	if w := &set[i>>6]; atomic.LoadUint64(w)>>(i&63)&1 == 0 {
		atomic.OrUint64(w, 1<<(i&63))
	}
}

// Add sets bit i to one. Only one goroutine may call it at a time.
func (f *Frontier) Add(i uint32) {
	Set(f.Words, i)
	f.Mark(int(i >> 6))
}

// AddShared sets bit i to one, atomically, and reports whether it was zero. Exactly one of
// concurrent callers gets true.
func (f *Frontier) AddShared(i uint32) bool {
	word, bit := &f.Words[i>>6], uint64(1)<<(i&63)
	before := atomic.OrUint64(word, bit)
	if before == 0 { // the caller that sets the first bit of a word marks the word
		f.MarkShared(int(i >> 6))
	}
	return before&bit == 0
}

// Clear makes every bit zero.
func (f *Frontier) Clear() {
	if f.All {
		clear(f.Words)
		clear(f.Top)
		f.All = false
		return
	}
	for t, top := range f.Top {
		if top == 0 {
			continue
		}
		for ; top != 0; top &= top - 1 {
			f.Words[t<<6+bits.TrailingZeros64(top)] = 0
		}
		f.Top[t] = 0
	}
}

// Tighten rebuilds the summary from the words, so that it has only the words that contain a one.
func (f *Frontier) Tighten() {
	for t := range f.Top {
		top := uint64(0)
		for i, word := range f.Words[t<<6 : min(t<<6+64, len(f.Words))] {
			if word != 0 {
				top |= 1 << i
			}
		}
		f.Top[t] = top
	}
	f.All = false
}

// Summary returns word t of the summary: the words of [64t, 64t+64) that may contain ones.
func (f *Frontier) Summary(t int) uint64 {
	if !f.All {
		return f.Top[t]
	}
	if rest := len(f.Words) - t<<6; rest < 64 {
		return Low(rest)
	}
	return ^uint64(0)
}

// next returns the first word from w on that may contain ones, or -1.
func (f *Frontier) next(w int) int {
	t := w >> 6
	if t >= len(f.Top) {
		return -1
	}
	top := f.Summary(t) &^ Low(w&63)
	for top == 0 {
		if t++; t >= len(f.Top) {
			return -1
		}
		top = f.Summary(t)
	}
	return t<<6 + bits.TrailingZeros64(top)
}

// Span is a range of words.
type Span struct{ From, To int }

// Spans appends to dst the ranges of words in [lo, hi) that may contain ones, relative to lo.
func (f *Frontier) Spans(lo, hi int, dst []Span) []Span {
	for w := f.next(lo); w >= 0 && w < hi; w = f.next(w) {
		rest := f.Summary(w>>6) >> (w & 63)
		end := min(w+bits.TrailingZeros64(^rest), w|63+1, hi)
		if n := len(dst); n > 0 && dst[n-1].To == w-lo {
			dst[n-1].To = end - lo
		} else {
			dst = append(dst, Span{w - lo, end - lo})
		}
		w = end
	}
	return dst
}
