package graph

import (
	"fmt"
	"math"
)

const (
	// MaxVertices is the largest number of vertices: while a graph is built ids take 32 bits, and
	// so does one beyond the last.
	MaxVertices = 1<<32 - 1<<20
	// MaxPartitions is the largest number of partitions.
	MaxPartitions = 4096

	// maxArcs is the largest number of arcs of a partition in one direction, duplicates included:
	// places in lists take 32 bits.
	maxArcs = math.MaxUint32
	// maxSlots is the largest number of slots of a partition: a multiple of 64 of which the end,
	// too, takes 32 bits.
	maxSlots = 1<<32 - 64
)

// limits are the sizes from which on a graph is built in another way, in pieces, or not at all.
// Tests change them, so that small graphs are built as large ones are.
var limits = struct {
	linkGrain int // neighbours that are linked between two looks at whether to go on
	// about how many arcs a bucket holds: its sort then works in the second-level cache
	bucketArcs    int
	narrowBuckets int // how many buckets there may be of arcs of 32 bits
	// from how many arcs on a bucket's weights are not sorted by their index: it has indexBits
	indexedArcs int
	// about how much work a chunk of a traversal is: edges, and 64 for each word of vertices
	chunkCost   int
	idBits      int // how many bits of an arc tell its neighbour, at the least
	arcs, slots int // the most that a partition may have
}{1 << 20, 1 << 16, 8 << 10, 1 << indexBits, 1 << 14, 1, maxArcs, maxSlots}

// checkArcs refuses more arcs of a partition, in one direction, than have places of 32 bits.
func checkArcs(arcs int) error {
	if arcs <= limits.arcs {
		return nil
	}
	return fmt.Errorf("%d edges in one partition: at most %d; use more partitions (--partitions, or --grid)", arcs, limits.arcs)
}

// checkSlots refuses more slots of a partition than have numbers of 32 bits. In a flat grid nearly
// all vertices may be ghosts of every partition, however many there are; in one of R rows and C
// columns one in R and one in C are.
func checkSlots(slots int) error {
	if slots <= limits.slots {
		return nil
	}
	return fmt.Errorf("%d vertices and ghosts in one partition: at most %d; use a grid with more rows and columns (--grid), or more partitions (--partitions)",
		slots, limits.slots)
}

// checkChanges refuses more changes of a partition's edges at a time than have numbers of 32 bits.
func checkChanges(edges int) error {
	if edges <= limits.arcs {
		return nil
	}
	return fmt.Errorf("%d changes of edges in one partition: at most %d at a time", edges,
		limits.arcs)
}

// TooManyVertices says that a graph has more than MaxVertices.
func TooManyVertices(n uint64) error {
	return fmt.Errorf("%d vertices: at most %d", n, uint64(MaxVertices))
}
