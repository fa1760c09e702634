// Package build is kernel 1: it makes graphs from lists of tuples, on the ranks of a group. Each
// rank has a part of the tuples and gets its partitions. No rank ever has more than a part of
// anything that grows with the graph: tuples, degrees, ids, labels. A group of one rank is the
// local case. Read build.go first.
//
//	terms -> endpoints numbered -> degrees, duplicates -> order: ids -> facts, arcs
//	  -> graph.Builder: lists -> link
//
// A directory connects tuples and partitions. Each rank owns the directory entries of a range of
// the input's ids. The ranges have about equal work. An edge is stored by the rank that owns the
// entry of one of its ends, the row. A bit of a hash selects the end, so the edges of a hub are
// distributed over many ranks.
//
//	tuples --route--> directory: store -> duplicates -> degrees -> order: ids --arcs--> partitions
//	  |                                        |                    |
//	  +-- numberIDs: ids not dense             +-- counts, ids -----+
//	      are numbered first                       between the ranks of the two ends
//
// A rank that is alone, and whose list of tuples is kept, has no store: it reads the list once for
// each step instead (tuples.go, keys.go). All other steps are the same.
//
// Edges and arcs are sent in blocks of a cache line. A block has edges of one tile of the store
// (tiling.go), or arcs of one bucket of the lists (arcsender.go). The sender groups them, and the
// receiver copies a block at a time.
//
// All transfers are in rounds of bounded size. An error on one rank ends the build on all ranks
// with that error.
package build
