package build

import (
	"math/bits"
	"slices"
)

const (
	// leastKey is the number of bits that every key has. A wide key has up to mostBytes more bytes.
	leastKey, mostBytes = 32, 2
)

// limits has sizes that tests change, so that small graphs are built like large ones.
var limits = struct {
	// Approximate number of edges in a tile: the data for its duplicates stay in a cache.
	tileEdges int
	// Approximate number of tiles above which keys get another byte: each rank has a cache line
	// for each tile.
	tiles     int
	textRound int // approximate bytes of names that a rank gets in a round
}{1 << 14, 1 << 16, 8 << 20}

// tiling divides the pairs of places, a row and another end, into tiles. A tile is a window of rows
// by a window of other ends, so small that the data about the places of both stay in a cache.
// Windows do not cross the borders of ranks' ranges. In a directed graph each way of storing edges
// has its own tiles.
//
//	            other ends of rank 0   of rank 1
//	          +---------+---------+----+---------+---+
//	rows of   | tile 0  |    1    | 2  |    3    | 4 |      key of an edge in its tile:
//	rank 0    +---------+---------+----+---------+---+
//	          |    5    |    6    | 7  |    8    | 9 |    | row in window | other end in window |
//	          +---------+---------+----+---------+---+
//	rows of 1 |    0    |   ...
type tiling struct {
	ways               int
	rowBits, otherBits uint // of a place in its window
	high               int  // bytes of a key in addition to its low 32 bits
	// Number of the first window of each rank's rows; the last element is the number of windows.
	firstRow   []int
	firstOther []int // the same for other ends
	// The same data in the form that lookups use.
	ranks       []rankWindows
	rankOfOther []int32 // by window
	boxes       boxes   // the tiles of all ranks
}

// rankWindows has the first place of a rank, and its first windows.
type rankWindows struct {
	start      uint64
	row, other uint32
}

// newTiling makes tiles for edges edges of all ranks. Rank r has places[r] places from starts[r]
// on.
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
		n := (t.firstRow[rank+1] - t.firstRow[rank]) * t.others() * ways
		t.boxes.first = append(t.boxes.first, len(t.boxes.rank))
		t.boxes.rank = append(t.boxes.rank, slices.Repeat([]int32{int32(rank)}, n)...)
		for range t.firstOther[rank+1] - t.firstOther[rank] {
			t.rankOfOther = append(t.rankOfOther, int32(rank))
		}
	}
	return t
}

// cut sets the sizes of windows so that a pair of places has pair bits. A place in a window has at
// most most bits.
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

// rows and others return the numbers of windows of all ranks' rows and other ends.
func (t *tiling) rows() int   { return t.firstRow[len(t.firstRow)-1] }
func (t *tiling) others() int { return t.firstOther[len(t.firstOther)-1] }

// tiles returns the number of tiles of all ranks' rows.
func (t *tiling) tiles() int { return t.rows() * t.others() * t.ways }

// keyBits returns the number of used bits of a key.
func (t *tiling) keyBits() uint { return t.rowBits + t.otherBits }

// split splits a key into the row and the other end, each in its window.
func (t *tiling) split(key uint64) (row, other uint32) {
	return uint32(key >> t.otherBits), uint32(key & (1<<t.otherBits - 1))
}
