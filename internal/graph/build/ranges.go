package build

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// ranges cut the input's ids into as many runs as there are ranks: rank d owns the directory
// entries of those from starts[d] on, before starts[d+1]. Some may be empty.
type ranges struct {
	starts []uint64
	ends   []uint64 // the next one's start; of the last, what no id is
	end    uint64   // ids are below it; it is at least 1
	table  []uint32
	shift  uint
}

// tableBits is the size of the table that says in which range the ids with the same high bits
// begin.
const tableBits = 12

// newRanges makes ranges of their first ids, rising, the first of them 0, and what all ids are
// below.
func newRanges(starts []uint64, end uint64) *ranges {
	r := &ranges{starts: starts, ends: append(slices.Clone(starts[1:]),
		math.MaxUint64), end: end, shift: uint(max(bits.Len64(end-1)-tableBits, 0))}
	r.table = make([]uint32, (end-1)>>r.shift+1)
	d := 0
	for i := range r.table {
		for d+1 < len(starts) && starts[d+1] <= uint64(i)<<r.shift {
			d++
		}
		r.table[i] = uint32(d)
	}
	return r
}

// of returns the range of an id. Which range that is cannot be predicted, so the first step, nearly
// always the last, is no branch.
func (r *ranges) of(id uint64) int {
	d := uint64(r.table[id>>r.shift])
	_, before := bits.Sub64(id, r.ends[d], 0)
	for d += 1 - before; r.ends[d] <= id; d++ {
	}
	return int(d)
}

// sizes returns how many ids each range has.
func (r *ranges) sizes() []int {
	n := make([]int, len(r.starts))
	for d := range n {
		end := r.end
		if d+1 < len(n) {
			end = r.starts[d+1]
		}
		n[d] = int(end - r.starts[d])
	}
	return n
}

// point is an id of a sample, and how much work it stands for.
type point struct{ ID, Cost uint64 }

// cut returns the first ids of n runs of the ids below end that are about the same work: that of
// the sample's points, and each for every id, whether it occurs or not. All together must be below
// 2^64.
func cut(sample []point, end, each uint64, n int) []uint64 {
	slices.SortFunc(sample, func(a, b point) int { return cmp.Compare(a.ID, b.ID) })
	total := each * end
	for _, p := range sample {
		total += p.Cost
	}
	starts := make([]uint64, n)
	before := uint64(0) // the points that were passed
	next := 0
	for d := 1; d < n; d++ {
		high, low := bits.Mul64(total, uint64(d))
		goal, _ := bits.Div64(high, low, uint64(n))
		for next < len(sample) && before+each*sample[next].ID+sample[next].Cost/2 < goal {
			before += sample[next].Cost
			next++
		}
		// The run begins between the point that was passed last and the next one.
		first := uint64(0)
		if each > 0 {
			first = (goal - min(before, goal)) / each
		}
		if next > 0 {
			first = max(first, sample[next-1].ID+1)
		}
		if next < len(sample) {
			first = min(first, sample[next].ID)
		}
		starts[d] = max(min(first, end-1), starts[d-1])
	}
	return starts
}
