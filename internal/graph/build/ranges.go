package build

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// ranges divides the input's ids into one range per rank. Rank d owns the directory entries of the
// ids in [starts[d], starts[d+1]). A range may be empty.
type ranges struct {
	starts []uint64
	ends   []uint64 // the start of the next range; for the last range the largest integer
	end    uint64   // all ids are below it; at least 1
	table  []uint32
	shift  uint
}

// tableBits is the number of high bits of an id that are looked up in the table of ranges.
const tableBits = 12

// newRanges makes ranges from their first ids, which are ascending from 0. All ids are below end.
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

// of returns the range of an id. The range is unpredictable, so the first step, which mostly is the
// last, has no branch.
func (r *ranges) of(id uint64) int {
	d := uint64(r.table[id>>r.shift])
	_, before := bits.Sub64(id, r.ends[d], 0)
	for d += 1 - before; r.ends[d] <= id; d++ {
	}
	return int(d)
}

// sizes returns the number of ids in each range.
func (r *ranges) sizes() []int {
	n := make([]int, len(r.starts))
	for d, start := range r.starts {
		n[d] = int(min(r.ends[d], r.end) - start)
	}
	return n
}

// point is an id of a sample, with the work that it represents.
type point struct{ ID, Cost uint64 }

// cut returns the first ids of n ranges of the ids below end with about equal work. The work is
// that of the sample's points, plus each for every id. The total must be below 2^64.
func cut(sample []point, end, each uint64, n int) []uint64 {
	slices.SortFunc(sample, func(a, b point) int { return cmp.Compare(a.ID, b.ID) })
	total := each * end
	for _, p := range sample {
		total += p.Cost
	}
	starts := make([]uint64, n)
	before := uint64(0) // work of the points passed so far
	next := 0
	for d := 1; d < n; d++ {
		high, low := bits.Mul64(total, uint64(d))
		goal, _ := bits.Div64(high, low, uint64(n))
		for next < len(sample) && before+each*sample[next].ID+sample[next].Cost/2 < goal {
			before += sample[next].Cost
			next++
		}
		// The range begins between the last passed point and the next one.
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
