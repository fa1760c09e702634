// Package build is kernel 1: it makes graphs of lists of tuples, over the ranks of a group. Each
// rank has a part of the tuples and gets its partitions, and nobody ever holds more than a part of
// anything that grows with the graph: tuples, degrees, ids, labels. A group of one rank is the
// local case.
//
//	terms -> endpoints numbered -> degrees, duplicates -> order: ids -> facts, arcs -> graph.Builder: lists -> link
//
// A directory stands between tuples and partitions. Each rank owns the entries of a range of the
// input's ids, cut so that all have about as much to do. An edge is stored with the rank that owns
// the entry of one of its ends, its row; the lowest bit of a hash says which end, so that a hub's
// edges lie with many.
//
//	tuples --route--> directory: store -> duplicates -> degrees -> order: ids --vertices, arcs--> partitions -> link
//	  |                                        |                    |
//	  +-- name: ids that are not dense         +-- counts, ids -----+   between the rank of the row and that of the other end
//	      are numbered first
//
// A rank that is alone, and whose list of tuples stays, needs no store: it reads the list once for
// each step instead (tuples.go, keys.go). All else is the same.
//
// Edges and arcs travel in blocks of a cache line, each of edges of a tile of the store (tiling.go)
// or of arcs of a bucket of the lists (dealer.go): who sends them has put them there already, and
// who receives them copies a block at a time.
//
// Whatever moves, moves in rounds of bounded size. An error anywhere ends all ranks with that
// error.
package build
