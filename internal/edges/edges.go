// Package edges has graphs as lists of tuples. Readers and generators make them, kernel 1 builds
// partitions from them, and validators check results with them. A tuple joins two input vertices,
// which are numbered from 0 in ascending order of their input ids. Read edges.go first, then
// packed.go.
package edges

import "github.com/superstep-go/superstep/internal/names"

// BlockSize is the number of tuples in a block of a list, except the last block. It is a multiple
// of 64, so that blocks of a packed list begin at word boundaries.
const BlockSize = 1024

// Block is a decoded block of tuples: U[i] -> V[i], with weight W[i] if the list has weights.
type Block struct {
	N    int
	U, V [BlockSize]uint64
	W    [BlockSize]float64
}

// List is a list of tuples. Several goroutines can read it at once, block by block, any number of
// times. Block i has the tuples [i*BlockSize, min((i+1)*BlockSize, Len())), in the order of the
// input.
type List interface {
	// Len returns the number of tuples, including loops and duplicates.
	Len() int
	// Weighted reports whether tuples have weights.
	Weighted() bool
	// Read decodes block i into b.
	Read(i int, b *Block) error
}

// Blocks returns the number of blocks of a list.
func Blocks(l List) int { return (l.Len() + BlockSize - 1) / BlockSize }

// Kind returns "directed" or "undirected".
func Kind(directed bool) string {
	if directed {
		return "directed"
	}
	return "undirected"
}

// Input is a graph as it was read or generated.
type Input struct {
	// Name is the source of the graph: a file or a generator.
	Name string
	// Edges are the tuples. An undirected edge is one tuple, in either order.
	Edges List
	// Vertices is the number of vertices, including isolated ones; 0 means the largest endpoint
	// plus 1.
	Vertices int
	// Labels maps vertices to input ids; the zero value is the identity.
	Labels Labels
	// Names are the names of the vertices, by input id, or nil if the input has no names. On one of
	// several ranks they are the names of the rank's range of input ids; the ranges of all ranks
	// are consecutive. With Naming Texts they are the names of the rank's own tuples.
	Names *names.Dictionary
	// Directed means that tuples are arcs.
	Directed bool
	// Account describes, for people, how the input was read, one line each.
	Account []string
	// Notes are findings about the input that its user should see, one line each, with the file's
	// name.
	Notes []string
	// Skipped has the place and the defect of each malformed line that was left out, in order.
	Skipped []string
	// Free, if not nil, releases the memory of Edges.
	Free func()
}

// Close releases the memory of the tuples. It accepts nil.
func (in *Input) Close() {
	if in != nil && in.Free != nil {
		in.Free()
		in.Free = nil
	}
}
