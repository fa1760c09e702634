package kernel

import (
	"math"
	"math/bits"
)

// None is the id of no vertex, pregel.None.
const None uint64 = math.MaxUint64

// Lists holds adjacency lists as BCSR (Nakao20, 3.1): only rows that are not empty have a start.
// The row of vertex (or slot) i exists if bit i of Bits is set, and is then number Rank[i/64] +
// popcount of the bits below i in its word.
//
//	Bits    1 0 1 1 ...       one bit for each vertex
//	Rank    0       ...       rows before each word
//	Starts  0 2 5 6 ...       where row r begins in Adj; one more at the end
//	Adj     4 5 | 0 3 9 | 1   neighbours' slots, in the rising order of their ids
type Lists struct {
	Bits   []uint64
	Rank   []uint32
	Starts []uint32
	Adj    []uint32
	// Heads is Adj[Starts[r]] for each row r: a combiner that needs any one sender mostly ends
	// there. Seconds is the neighbour after it, or, in rows that have one neighbour, the head
	// again.
	Heads, Seconds []uint32
	// Same, if not nil, is the common length of all rows of each word, or 0 where they differ. In
	// degree order nearly all words have one, which saves reading Starts.
	Same []uint32
	// Weights32 or Weights64 is as long as Adj when the graph has weights.
	Weights32 []float32
	Weights64 []float64
}

// Row returns where the list of vertex (or slot) i begins and ends in Adj.
func (l *Lists) Row(i uint32) (lo, hi uint32) {
	w := i >> 6
	if int(w) >= len(l.Bits) || l.Bits[w]>>(i&63)&1 == 0 {
		return 0, 0
	}
	r := l.Rank[w] + uint32(bits.OnesCount64(l.Bits[w]&(1<<(i&63)-1)))
	return l.Starts[r], l.Starts[r+1]
}

// Bounds is Row of a vertex i that has a list, of a word whose Bits and Rank are known.
func (l *Lists) Bounds(i uint, rows uint64, rank uint32) (lo, hi uint32) {
	r := rank + uint32(bits.OnesCount64(rows&(1<<i-1)))
	return l.Starts[r], l.Starts[r+1]
}

// Words returns where the lists of the 64 vertices of word w begin and end in Adj.
func (l *Lists) Words(w int) (lo, hi uint32) { return l.Starts[l.Rank[w]], l.Starts[l.Rank[w+1]] }

// Slots maps the 32-bit slots of a partition to vertices: first the owned, then, from Ghost on,
// those of others.
type Slots struct {
	First, Stride uint64 // slot s < Ghost is vertex First + s*Stride
	Ghost         uint32
	Ghosts        []uint64 // slot s >= Ghost is Ghosts[s-Ghost]; None where a slot is padding
	// Bases, if not nil, speed up ID: where Bases[w] is not None, slot 64*w+i is vertex Bases[w] +
	// i*Stride. That holds for owned vertices, and for ghosts of high degree, since nearly all hubs
	// of an owner have a neighbour here.
	Bases []uint64
}

// FindBases makes the Bases of so many words of slots, in place.
func (s *Slots) FindBases(bases []uint64) {
	for w := range bases {
		base, first := None, uint32(w)<<6
		if id := s.ID(first); id != None && s.run(first, id) {
			base = id
		}
		bases[w] = base
	}
	s.Bases = bases
}

// run reports whether the 64 slots from first on are id, id+Stride and so on.
func (s *Slots) run(first uint32, id uint64) bool {
	for i := range uint32(64) {
		if s.ID(first+i) != id+uint64(i)*s.Stride {
			return false
		}
	}
	return true
}

// ID returns the vertex of a slot.
func (s *Slots) ID(slot uint32) uint64 {
	if slot < s.Ghost {
		return s.First + uint64(slot)*s.Stride
	}
	return s.Ghosts[slot-s.Ghost]
}

// EdgeLists is what pregel.Vertex.Edges runs over: the lists of the owned vertices, and the
// vertices their slots stand for.
type EdgeLists struct {
	Lists
	Slots
	// Offset is added to an edge's place to find it in a pregel.EdgeColumn.
	Offset uint32
	// Other says that the program's messages do not cross these edges: they have no properties.
	Other bool
	// Properties are the partition's, indexed by their numbers.
	Properties []Column
}
