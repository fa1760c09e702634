// Package edges holds graphs as lists of tuples: what readers and generators make, what kernel 1 builds partitions
// from, and what results are validated against. A tuple joins two input vertices, numbered densely from 0 in the
// rising order of their input ids.
package edges

// BlockSize is the number of tuples in a block of a list, the last block apart. It is a multiple of 64, so that blocks
// of a packed list start at word borders.
const BlockSize = 1024

// Block is a decoded run of tuples: U[i] -> V[i], with weight W[i] where the list has weights.
type Block struct {
	N    int
	U, V [BlockSize]uint64
	W    [BlockSize]float64
}

// List is a list of tuples that can be read any number of times, block by block, by several goroutines at once.
// Block i holds the tuples [i*BlockSize, min((i+1)*BlockSize, Len())), in the order of the input.
type List interface {
	// Len returns the number of tuples, loops and duplicates included.
	Len() int
	// Weighted reports whether tuples have weights.
	Weighted() bool
	// Read decodes block i into b.
	Read(i int, b *Block) error
}

// Blocks returns the number of blocks of a list.
func Blocks(l List) int { return (l.Len() + BlockSize - 1) / BlockSize }

// Input is a graph as it was read or generated.
type Input struct {
	// Name says where the graph came from: a file or a generator's text.
	Name string
	// Edges are the tuples. An undirected edge is one tuple, in either order.
	Edges List
	// Vertices is the number of vertices, isolated ones included; 0 means as many as the largest endpoint asks for.
	Vertices int
	// Labels maps vertices to input ids; the zero value is the identity.
	Labels Labels
	// Directed says whether tuples are arcs.
	Directed bool
	// Account says, for people, what was understood of the input: one line each.
	Account []string
	// Free releases the memory behind Edges, when it is not nil.
	Free func()
}

// Close releases the memory behind the tuples.
func (in *Input) Close() {
	if in.Free != nil {
		in.Free()
		in.Free = nil
	}
}

// Labels maps the numbers of input vertices to the ids they have in the input, rising. The zero value maps every number to itself.
type Labels struct {
	ids []uint64
}

// NewLabels makes the labels of vertices whose ids are given, rising and distinct.
func NewLabels(ids []uint64) Labels { return Labels{ids} }

// Identity reports whether every vertex's id is its number.
func (l Labels) Identity() bool { return l.ids == nil }

// Of returns the input id of vertex i.
func (l Labels) Of(i uint64) uint64 {
	if l.ids == nil {
		return i
	}
	return l.ids[i]
}

// Find returns the vertex, of n, whose input id is given.
func (l Labels) Find(id uint64, n int) (uint64, bool) {
	if l.ids == nil {
		return id, id < uint64(n)
	}
	lo, hi := 0, len(l.ids)
	for lo < hi {
		if mid := (lo + hi) / 2; l.ids[mid] < id {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return uint64(lo), lo < len(l.ids) && l.ids[lo] == id
}
