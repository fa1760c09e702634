package kernel

import (
	"math"
	"math/bits"
)

// None is an id that no vertex has; it is pregel.None.
const None uint64 = math.MaxUint64

// Lists stores adjacency lists as BCSR (Nakao20, 3.1): only rows that are not empty have a start.
// Vertex (or slot) i has a row if bit i of Bits is set. The row's number r is Rank[i/64] plus the
// number of set bits below i in its word.
//
//	Bits    1 0 1 1 ...       one bit for each vertex
//	Rank    0       ...       rows before each word
//	Starts  0 2 5 6 ...       where row r begins in Adj; one more at the end
//	Adj     4 5 | 0 3 9 | 1   neighbours' slots, in ascending order of their ids
type Lists struct {
	Bits   []uint64
	Rank   []uint32
	Starts []uint32
	Adj    []uint32
	// Heads is Adj[Starts[r]] for each row r: a pull for which any one message is enough mostly
	// ends there. Seconds is the second neighbour of each row, or the first again if the row has
	// only one.
	Heads, Seconds []uint32
	// Same, if not nil, is the common length of all rows of each word, or 0 if they differ. In
	// degree order nearly all words have one, so Starts need not be read.
	Same []uint32
	// Weights32 or Weights64 has the weights of Adj, if the graph has weights.
	Weights32 []float32
	Weights64 []float64
}

// Row returns the range of vertex (or slot) i's list in Adj.
func (l *Lists) Row(i uint32) (lo, hi uint32) {
	w := i >> 6
	if int(w) >= len(l.Bits) || l.Bits[w]>>(i&63)&1 == 0 {
		return 0, 0
	}
	r := l.Rank[w] + uint32(bits.OnesCount64(l.Bits[w]&(1<<(i&63)-1)))
	return l.Starts[r], l.Starts[r+1]
}

// Bounds is Row for a vertex i that has a list, in a word with known Bits and Rank.
func (l *Lists) Bounds(i uint, rows uint64, rank uint32) (lo, hi uint32) {
	r := rank + uint32(bits.OnesCount64(rows&(1<<i-1)))
	return l.Starts[r], l.Starts[r+1]
}

// Words returns the range of Adj with the lists of the 64 vertices of word w.
func (l *Lists) Words(w int) (lo, hi uint32) { return l.Starts[l.Rank[w]], l.Starts[l.Rank[w+1]] }

// Slots maps the 32-bit slots of a partition to vertices: first the owned vertices, then, from
// Ghost on, the ghosts.
type Slots struct {
	First, Stride uint64 // slot s < Ghost is vertex First + s*Stride
	// Blocks, if not nil, has the numbers of the blocks of 2^Shift vertices that are the slots below
	// Ghost, instead.
	Blocks []uint32
	Shift  uint8
	Ghost  uint32
	Ghosts []uint64 // slot s >= Ghost is vertex Ghosts[s-Ghost], or None in padding
	// Bases, if not nil, speeds up ID: if Bases[w] is not None, slot 64*w+i is vertex Bases[w] +
	// i*Stride. This holds for owned vertices, and for ghosts of high degree, because nearly all
	// hubs of an owner have a neighbour in this partition.
	Bases []uint64
}

// FindBases computes Bases into the given array, for len(bases) words of slots.
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

// run reports whether the 64 slots from first on are the vertices id, id+Stride, id+2*Stride and so
// on.
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
		if s.Blocks != nil {
			return uint64(s.Blocks[slot>>s.Shift])<<s.Shift | uint64(slot&(1<<s.Shift-1))
		}
		return s.First + uint64(slot)*s.Stride
	}
	return s.Ghosts[slot-s.Ghost]
}

// EdgeLists has the lists of the owned vertices, for pregel.Vertex.Edges, and the slots' vertices.
type EdgeLists struct {
	Lists
	Slots
	// Offset is added to an edge's index in Adj to get its index in a pregel.EdgeColumn.
	Offset uint32
	// Other means that the program's messages do not cross these edges. They have no properties.
	Other bool
	// Properties has the partition's properties, indexed by their numbers.
	Properties []Column
}
