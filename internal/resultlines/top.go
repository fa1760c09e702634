package resultlines

import (
	"bytes"
	"cmp"
	"math"
	"slices"
)

// First keeps the first N of what it is given, in an order in which no two are equal.
type First[T any] struct {
	N     int
	Order func(a, b T) int
	kept  []T  // fewer than twice as many
	full  bool // N were there, and the last of those is kept[N-1]
}

// Takes reports whether an element is one of the first so far.
func (f *First[T]) Takes(x T) bool {
	return f.N > 0 && (!f.full || f.Order(x, f.kept[f.N-1]) < 0)
}

// Add takes an element that Takes would take.
func (f *First[T]) Add(x T) {
	if f.kept = append(f.kept, x); len(f.kept)-f.N >= f.N {
		f.kept, f.full = f.All(), true
	}
}

// All returns the first N in order.
func (f *First[T]) All() []T {
	slices.SortFunc(f.kept, f.Order)
	return f.kept[:min(max(f.N, 0), len(f.kept))]
}

// Top keeps the lines of greatest value, or of least, of those it is offered; of equal values those
// that came first.
type Top struct {
	first   First[offer]
	offered int
}

// offer is a line with the value it goes by, and its place among all.
type offer struct {
	line  []byte
	value float64
	at    int
}

// NewTop makes a Top of at most so many lines.
func NewTop(most int, least bool) *Top {
	return &Top{first: First[offer]{N: most, Order: func(a, b offer) int {
		c := cmp.Compare(b.value, a.value)
		if least {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(a.at, b.at))
	}}}
}

// Offer keeps a line if it is one of those wanted so far. What is no number (NaN) is not.
func (t *Top) Offer(line []byte, value float64) {
	t.offered++
	if o := (offer{value: value, at: t.offered}); !math.IsNaN(value) && t.first.Takes(o) {
		o.line = bytes.Clone(line)
		t.first.Add(o)
	}
}

// Lines are the lines that are kept, the greatest first, or the least.
func (t *Top) Lines() (lines [][]byte) {
	for _, o := range t.first.All() {
		lines = append(lines, o.line)
	}
	return lines
}
