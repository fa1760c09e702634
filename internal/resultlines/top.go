package resultlines

import (
	"bytes"
	"cmp"
	"math"
	"slices"
)

// First keeps the first N of the added elements, in an order in which no two are equal.
type First[T any] struct {
	N     int
	Order func(a, b T) int
	kept  []T  // fewer than 2N elements
	full  bool // there were N elements, and kept[N-1] is the last of these
}

// Takes reports whether an element is one of the first N so far.
func (f *First[T]) Takes(x T) bool { return f.N > 0 && (!f.full || f.Order(x, f.kept[f.N-1]) < 0) }

// Add adds an element for which Takes returned true.
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

// Top keeps the lines with the greatest, or least, values. Of equal values it keeps the earlier
// lines.
type Top struct {
	first   First[offer]
	offered int
}

// offer is a line, its value, and its position among all lines.
type offer struct {
	line  []byte
	value float64
	at    int
}

// NewTop makes a Top of at most most lines.
func NewTop(most int, least bool) *Top {
	return &Top{first: First[offer]{N: most, Order: func(a, b offer) int {
		c := cmp.Compare(b.value, a.value)
		if least {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(a.at, b.at))
	}}}
}

// Offer adds a line if it is one of the wanted ones so far. It ignores NaN.
func (t *Top) Offer(line []byte, value float64) {
	t.offered++
	if o := (offer{value: value, at: t.offered}); !math.IsNaN(value) && t.first.Takes(o) {
		o.line = bytes.Clone(line)
		t.first.Add(o)
	}
}

// Lines returns the kept lines, ordered by value: the greatest, or the least, first.
func (t *Top) Lines() (lines [][]byte) {
	for _, o := range t.first.All() {
		lines = append(lines, o.line)
	}
	return lines
}
