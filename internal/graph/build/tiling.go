package build

import (
	"math"
	"math/bits"
)

const (
	// leastKey is the number of bits of a key that every edge has; a wide key has up to mostBytes
	// bytes more.
	leastKey, mostBytes = 32, 2
)

// limits are sizes that tests change, so that small graphs are built as large ones are.
var limits = struct {
	// about how many edges lie in a tile: what looks for duplicates among them stays in a cache
	tileEdges int
	// about how many tiles there may be before keys get another byte: each rank has a cache line
	// for each
	tiles     int
	textRound int // about how many bytes of names a rank gets in a round
	// sureTuples is of how many tuples no vertex can have more edges than a counter of 32 bits
	// counts.
	sureTuples uint64
}{1 << 14, 1 << 16, 8 << 20, math.MaxUint32}

// tiling cuts the pairs of places, a row and another end, into tiles: a window of rows by a window
// of other ends, small enough for what is known of the places of both to stay in a cache. Windows
// do not cross the borders of ranks' ranges. Each way in which edges may be reversed has a tile of
// its own.
//
//	            other ends of rank 0   of rank 1
//	          +---------+---------+----+---------+---+
//	rows of   | tile 0  |    1    | 2  |    3    | 4 |      key of an edge in its tile:
//	rank 0    +---------+---------+----+---------+---+
//	          |    5    |    6    | 7  |    8    | 9 |      | row, from the first of its window | other end, likewise |
//	          +---------+---------+----+---------+---+
//	rows of 1 |    0    |   ...
type tiling struct {
	ways               int
	rowBits, otherBits uint // of a place in its window
	high               int  // bytes of a key beside its first 32 bits
	// number of the first window of each rank's rows, and the number of all
	firstRow   []int
	firstOther []int // the same of other ends
	// The same once more, as it is looked up.
	ranks                  []rankWindows
	rankOfRow, rankOfOther []int32 // by window
}

// rankWindows is the first place of a rank, and its first windows.
type rankWindows struct {
	start      uint64
	row, other uint32
}

// newTiling makes tiles for so many edges of all ranks, of which each has so many places, from
// starts on.
func newTiling(places []int, starts []uint64, edges, ways int) *tiling {
	all, most := 0, 1
	for _, n := range places {
		all += n
		most = max(most, n)
	}
	t := &tiling{ways: ways}
	all = max(all, 1)
	ideal := max(2*bits.Len(uint(all-1))+1-bits.Len(uint(max(edges/limits.tileEdges, 1))), 0)
	for t.high = 0; ; t.high++ {
		if t.cut(places, uint(min(ideal, leastKey+8*t.high)),
			uint(bits.Len(uint(most-1)))); t.tiles() <= limits.tiles || t.high == mostBytes {
			break
		}
	}
	for rank := range places {
		t.ranks = append(t.ranks,
			rankWindows{starts[rank], uint32(t.firstRow[rank]), uint32(t.firstOther[rank])})
		for range t.firstRow[rank+1] - t.firstRow[rank] {
			t.rankOfRow = append(t.rankOfRow, int32(rank))
		}
		for range t.firstOther[rank+1] - t.firstOther[rank] {
			t.rankOfOther = append(t.rankOfOther, int32(rank))
		}
	}
	return t
}

// cut makes windows of pairs of so many bits; a place in a window needs no more than most.
func (t *tiling) cut(places []int, pair, most uint) {
	t.rowBits = min((pair+1)/2, most)
	t.otherBits = min(pair-t.rowBits, most)
	windows := func(bits uint) []int {
		first := make([]int, len(places)+1)
		for rank, n := range places {
			first[rank+1] = first[rank] + (n+1<<bits-1)>>bits
		}
		return first
	}
	t.firstRow, t.firstOther = windows(t.rowBits), windows(t.otherBits)
}

// rows and others are how many windows there are of all ranks' rows, and of other ends.
func (t *tiling) rows() int   { return t.firstRow[len(t.firstRow)-1] }
func (t *tiling) others() int { return t.firstOther[len(t.firstOther)-1] }

// tiles is how many there are of all ranks' rows.
func (t *tiling) tiles() int { return t.rows() * t.others() * t.ways }

// keyBits is how many bits of a key are used.
func (t *tiling) keyBits() uint { return t.rowBits + t.otherBits }

// split splits a key into the row and the other end, in their windows.
func (t *tiling) split(key uint64) (row, other uint32) {
	return uint32(key >> t.otherBits), uint32(key & (1<<t.otherBits - 1))
}
