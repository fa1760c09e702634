// Package mode finds the most frequent of many labels without sorting them. CDLP does this at each
// vertex.
package mode

import (
	"slices"
	"sync"
)

// Of returns the most frequent label, or the least of several. It may reorder labels.
//
// Neighbours soon agree, so Of first looks for a label with a majority, in two passes (Boyer and
// Moore 1981). If there is none, it sorts few labels, and counts many in a hash table.
func Of(labels []uint64) uint64 {
	most, lead := labels[0], 0
	for _, l := range labels {
		switch {
		case l == most:
			lead++
		case lead == 0:
			most, lead = l, 1
		default:
			lead--
		}
	}
	n := 0
	for _, l := range labels {
		if l == most {
			n++
		}
	}
	switch {
	case 2*n > len(labels):
		return most
	case len(labels) <= Sorted:
		return sorted(labels)
	}
	t := tallies.Get().(*tally)
	most = t.mode(labels)
	tallies.Put(t)
	return most
}

// Sorted is the number of labels up to which sorting is faster than a table, by measurement.
const Sorted = 32

// sorted is Of for at most Sorted labels.
func sorted(labels []uint64) (most uint64) {
	slices.Sort(labels)
	for best := 0; len(labels) > 0; {
		n := 1
		for n < len(labels) && labels[n] == labels[0] {
			n++
		}
		if n > best {
			best, most = n, labels[0]
		}
		labels = labels[n:]
	}
	return most
}

// tally counts labels in a hash table with open addressing. A slot with count 0 is empty.
type tally struct {
	slots []labelCount
	best  labelCount
}

type labelCount struct {
	label uint64
	n     int
}

// take makes c the best label if it is more frequent, or as frequent and less.
func (t *tally) take(c labelCount) {
	if c.n > t.best.n || c.n == t.best.n && c.label < t.best.label {
		t.best = c
	}
}

var tallies = sync.Pool{New: func() any { return new(tally) }}

// Table is the greatest number of labels in one table. Such a table fits into a cache, and bounds
// the memory for a hub.
const Table = 1 << 16

// scramble is Knuth's multiplicative hashing. It is one-to-one.
func scramble(label uint64) uint64 { return label * 0x9e3779b97f4a7c15 }

// mode is Of for many labels.
func (t *tally) mode(labels []uint64) uint64 {
	t.best = labelCount{}
	t.count(labels, 56)
	return t.best.label
}

// count counts labels whose hashes are equal above bit shift+8. If they are too many for a table,
// it sorts them by the next 8 bits of their hashes, and counts each part.
func (t *tally) count(labels []uint64, shift int) {
	switch {
	case len(labels) <= Table:
		t.table(labels, max(56-shift, 0))
		return
	case shift < 0: // equal hashes mean equal labels
		t.take(labelCount{labels[0], len(labels)})
		return
	}
	ends := deal(labels, shift)
	at := 0
	for _, end := range ends {
		if end > at {
			t.count(labels[at:end], shift-8)
		}
		at = end
	}
}

// deal sorts labels by 8 bits of their hashes, in place (American flag sort; McIlroy, Bostic and
// McIlroy 1993). It returns the end of each part.
func deal(labels []uint64, shift int) (ends [256]int) {
	for _, l := range labels {
		ends[scramble(l)>>shift&255]++
	}
	var next [256]int
	at := 0
	for i, n := range ends {
		next[i] = at
		at += n
		ends[i] = at
	}
	for i := range next {
		for next[i] < ends[i] {
			l := labels[next[i]]
			for k := scramble(l) >> shift & 255; int(k) != i; k = scramble(l) >> shift & 255 {
				l, labels[next[k]] = labels[next[k]], l
				next[k]++
			}
			labels[next[i]] = l
			next[i]++
		}
	}
	return ends
}

// table counts labels whose hashes have equal upper bits; equal is the number of these bits.
func (t *tally) table(labels []uint64, equal int) {
	shift := 64
	for 1<<(64-shift) < 2*len(labels) {
		shift--
	}
	size := 1 << (64 - shift)
	if len(t.slots) < size {
		t.slots = make([]labelCount, size)
	}
	slots := t.slots[:size]
	clear(slots)
	for _, l := range labels {
		i := int(scramble(l) << equal >> shift)
		for slots[i].n > 0 && slots[i].label != l {
			i = (i + 1) & (size - 1)
		}
		s := &slots[i]
		s.label = l
		s.n++
		t.take(*s)
	}
}
