// Package spread is kernel 1 over the workers of a group: each has a share of the tuples, each gets its partitions, the
// very ones that graph.Build makes of the whole, and nobody ever holds more than a share of anything that grows with the
// graph: tuples, degrees, ids, labels.
//
// Between tuples and partitions stands a directory. Each rank directs a range of the input's ids, cut so that all have
// about as much to do. An edge lies with the rank that directs one of its ends, its row; the lowest bit of a hash says
// which end, so that a hub's edges lie with many.
//
//	tuples --route--> directory: store -> distinct -> degrees -> order: ids --vertices, arcs--> partitions -> link
//	                               ^           |                    |
//	                               |           +-- counts, ids -----+   between the rank of the row and that of the other end
//	                               +-- name: ids that are not dense are numbered first
//
// Whatever moves, moves in rounds of bounded size. An error anywhere ends all ranks with that error.
package spread
