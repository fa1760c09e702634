// Package edges holds graphs as lists of tuples: what readers and generators make, what kernel 1
// builds partitions from, and what results are validated against. A tuple joins two input vertices,
// numbered densely from 0 in the rising order of their input ids.
package edges

import "github.com/superstep-go/superstep/internal/names"

// BlockSize is the number of tuples in a block of a list, the last block apart. It is a multiple of
// 64, so that blocks of a packed list start at word borders.
const BlockSize = 1024

// Block is a decoded run of tuples: U[i] -> V[i], with weight W[i] where the list has weights.
type Block struct {
	N    int
	U, V [BlockSize]uint64
	W    [BlockSize]float64
}

// List is a list of tuples that can be read any number of times, block by block, by several
// goroutines at once. Block i holds the tuples [i*BlockSize, min((i+1)*BlockSize, Len())), in the
// order of the input.
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
	// Vertices is the number of vertices, isolated ones included; 0 means as many as the largest
	// endpoint asks for.
	Vertices int
	// Labels maps vertices to input ids; the zero value is the identity.
	Labels Labels
	// Names are what the input calls its vertices, by their input ids, if it has names; else nil.
	// Of one of several ranks they are those of its range of the input ids: the ranges of all ranks
	// follow one another. Naming Texts has others.
	Names *names.Dictionary
	// Directed says whether tuples are arcs.
	Directed bool
	// Account says, for people, what was understood of the input: one line each.
	Account []string
	// Notes are what was found out about the input that its user did not say, and should see: one
	// line each, with the file's name.
	Notes []string
	// Skipped are the malformed lines that were left out, in order: where each is, and what is
	// wrong with it.
	Skipped []string
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
