package resultlines

import (
	"bytes"
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// Top keeps the lines of greatest value, or of least, of those it is offered; of equal values those that came first.
type Top struct {
	most    int
	least   bool
	kept    offers
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
	return &Top{most: most, least: least, kept: offers{least: least}}
}

// Offer keeps a line if it is one of those wanted so far. What is no number (NaN) is not.
func (t *Top) Offer(line []byte, value float64) {
	t.offered++
	if math.IsNaN(value) || t.most == 0 {
		return
	}
	o := offer{value: value, at: t.offered}
	switch {
	case len(t.kept.all) < t.most:
		o.line = bytes.Clone(line)
		heap.Push(&t.kept, o)
	case t.kept.order(o, t.kept.all[0]) < 0:
		o.line = append(t.kept.all[0].line[:0], line...)
		t.kept.all[0] = o
		heap.Fix(&t.kept, 0)
	}
}

// Lines are the lines that are kept, the greatest first, or the least.
func (t *Top) Lines() [][]byte {
	all := slices.SortedFunc(slices.Values(t.kept.all), t.kept.order)
	kept := make([][]byte, len(all))
	for i, o := range all {
		kept[i] = o.line
	}
	return kept
}

// offers is a heap: the last of them is the first.
type offers struct {
	all   []offer
	least bool
}

func (h *offers) order(a, b offer) int {
	c := cmp.Compare(b.value, a.value)
	if h.least {
		c = -c
	}
	return cmp.Or(c, cmp.Compare(a.at, b.at))
}

func (h *offers) Len() int           { return len(h.all) }
func (h *offers) Less(i, j int) bool { return h.order(h.all[i], h.all[j]) > 0 }
func (h *offers) Swap(i, j int)      { h.all[i], h.all[j] = h.all[j], h.all[i] }
func (h *offers) Push(x any)         { h.all = append(h.all, x.(offer)) }

func (h *offers) Pop() any {
	last := h.all[len(h.all)-1]
	h.all = h.all[:len(h.all)-1]
	return last
}
