package graph

import (
	"fmt"
	"math"
)

const (
	// MaxVertices is the largest number of vertices. During the build an id, and one more than the
	// last id, must fit into 32 bits.
	MaxVertices = 1<<32 - 1<<20
	// MaxPartitions is the largest number of partitions.
	MaxPartitions = 4096

	// maxArcs is the largest number of arcs of a partition in one direction, including duplicates,
	// because positions in lists have 32 bits.
	maxArcs = math.MaxUint32
	// maxSlots is the largest number of slots of a partition: a multiple of 64 that fits into 32
	// bits.
	maxSlots = 1<<32 - 64
)

// limits has the sizes above which a graph is built by another method, in pieces, or not at all.
// Tests change them, so that small graphs are built like large ones.
var limits = struct {
	linkGrain int // number of neighbours between two checks for cancellation
	// Approximate number of arcs in a bucket: it is sorted within the second-level cache.
	bucketArcs    int
	narrowBuckets int // largest number of buckets with 32-bit arcs
	// Number of arcs from which on a bucket is sorted without indices of weights, which have only
	// indexBits bits.
	indexedArcs int
	// Approximate work of a chunk of a traversal: its number of edges, plus 64 for each word of
	// vertices.
	chunkCost   int
	idBits      int // least number of bits for a neighbour's id in an arc
	arcs, slots int // the most that a partition may have
}{1 << 20, 1 << 16, 8 << 10, 1 << indexBits, 1 << 14, 1, maxArcs, maxSlots}

// checkArcs returns an error if a partition has more arcs in one direction than 32-bit positions
// allow.
func checkArcs(arcs int) error {
	if arcs <= limits.arcs {
		return nil
	}
	return fmt.Errorf("%d edges in one partition: at most %d; use more partitions (--partitions, or --grid)", arcs, limits.arcs)
}

// checkSlots returns an error if a partition has more slots than 32-bit numbers allow. In a flat
// grid nearly all vertices may be ghosts of every partition, whatever the number of partitions. In
// a 2D grid of R rows and C columns, only one in R and one in C are.
func checkSlots(slots int) error {
	if slots <= limits.slots {
		return nil
	}
	return fmt.Errorf("%d vertices and ghosts in one partition: at most %d; use a grid with more rows and columns (--grid), or more partitions (--partitions)",
		slots, limits.slots)
}

// checkChanges returns an error if there are more changes of a partition's edges at a time than
// 32-bit numbers allow.
func checkChanges(edges int) error {
	if edges <= limits.arcs {
		return nil
	}
	return fmt.Errorf("%d changes of edges in one partition: at most %d at a time", edges,
		limits.arcs)
}

// TooManyVertices returns the error for a graph with more than MaxVertices vertices.
func TooManyVertices(n uint64) error {
	return fmt.Errorf("%d vertices: at most %d", n, uint64(MaxVertices))
}
