package edges

import (
	"math/bits"
	"slices"

	"github.com/superstep-go/superstep/internal/mem"
)

// Labels maps the numbers of input vertices to their input ids, in ascending order. The zero value
// maps every number to itself.
type Labels struct {
	first uint64 // if the ids are consecutive
	ids   []uint64
}

// NewLabels makes labels from the ids of vertices, which must be ascending and distinct.
func NewLabels(ids []uint64) Labels { return Labels{ids: ids} }

// Consecutive makes the labels of vertices with consecutive ids.
func Consecutive(first uint64) Labels { return Labels{first: first} }

// Identity reports whether every vertex's id is its number.
func (l Labels) Identity() bool { return l.ids == nil && l.first == 0 }

// First returns the id of vertex 0, and whether the ids are stored as consecutive.
func (l Labels) First() (uint64, bool) { return l.first, l.ids == nil }

// Of returns the input id of vertex i.
func (l Labels) Of(i uint64) uint64 {
	if l.ids == nil {
		return l.first + i
	}
	return l.ids[i]
}

// Find returns the vertex, of n, with an input id.
func (l Labels) Find(id uint64, n int) (uint64, bool) {
	if l.ids == nil {
		return id - l.first, id >= l.first && id-l.first < uint64(n)
	}
	at, ok := slices.BinarySearch(l.ids, id)
	return uint64(at), ok
}

// Labelled returns a list whose endpoints are the labels of the endpoints of list.
func Labelled(list List, labels Labels) List { return labelled{list, labels} }

type labelled struct {
	List
	labels Labels
}

// Read implements List.
func (l labelled) Read(i int, b *Block) error {
	if err := l.List.Read(i, b); err != nil {
		return err
	}
	for j := range b.N {
		b.U[j], b.V[j] = l.labels.Of(b.U[j]), l.labels.Of(b.V[j])
	}
	return nil
}

// Index finds ids in an ascending list by their high bits. Its table has at most two entries per
// id, so evenly distributed ids are found at once.
//
// Invariant: starts[h] is the index of the first id whose bits from shift on are at least h.
type Index struct {
	ids    []uint64
	starts []uint32
	base   uint64 // of all ids
	shift  uint
}

// NewIndex makes an index of ids, which must be ascending, distinct and fewer than 2^32.
func NewIndex(arena *mem.Arena, ids []uint64) *Index {
	x := &Index{ids: ids}
	if len(ids) == 0 {
		return x
	}
	x.base = ids[0]
	last := ids[len(ids)-1] - x.base
	x.shift = uint(max(bits.Len64(last)-bits.Len(uint(len(ids))), 0))
	x.starts = mem.Make[uint32](arena, int(last>>x.shift+1))
	high := 0
	for i, id := range ids {
		for ; high <= int((id-x.base)>>x.shift); high++ {
			x.starts[high] = uint32(i)
		}
	}
	return x
}

// IDs returns the list.
func (x *Index) IDs() []uint64 { return x.ids }

// Find returns the index of an id in the list.
func (x *Index) Find(id uint64) (uint64, bool) {
	high := (id - x.base) >> x.shift
	if id < x.base || high >= uint64(len(x.starts)) {
		return 0, false
	}
	lo, hi := uint64(x.starts[high]), uint64(len(x.ids))
	if high+1 < uint64(len(x.starts)) {
		hi = uint64(x.starts[high+1])
	}
	at, ok := slices.BinarySearch(x.ids[lo:hi], id)
	return lo + uint64(at), ok
}
