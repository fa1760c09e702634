package validate

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/wire"
)

// vertexGrain and blockGrain are the numbers of vertices and blocks that a worker takes at a time:
// some 50 to 200 microseconds of work.
const (
	vertexGrain = 1 << 15
	blockGrain  = 16
)

// Validator checks the results of many searches of one graph by the rules of the specification,
// with the edge list. The tuples and the results are distributed over the ranks of a group. Each
// rank has a range of the vertices, of equal size. It holds at most two ranges of a result at a
// time: its own and one other.
//
// New sends every tuple to a rank that has one of its endpoints. The tuple is stored in the tile of
// the rank that has the other endpoint. To check a result the ranges go round the ring of ranks: in
// step k rank r has its own range and that of rank r+k, which is all that its tile r+k needs.
//
//	        v of rank 0   of rank 1   of rank 2
//	rank 0     step 0       step 1      step 2        u is of the rank that has the tile
//	rank 1     step 2       step 0      step 1
//	rank 2     step 1       step 2      step 0
//
// A rank that finds a tree edge confirms it: after the step it sends back one bit for each vertex
// of the other range. On a single rank the only tile is the list itself, and nothing is sent.
//
// New, BFS and SSSP are collective: all ranks must call the same in the same order. All of them
// return the same result or the same violation.
type Validator struct {
	ranks    ranks
	n, per   int
	weighted bool
	// by the rank of v; both endpoints are relative to the first vertex of their ranges
	tiles []edges.List
	team  *parallel.Team

	own, other vertexState
	reached    int64    // number of own vertices in the tree
	back       []uint64 // another rank's confirmations for the own vertices
	scratch    []scratch
	arena      *mem.Arena
	free       []func() // free the tiles that New made
}

// vertexState is the state of one rank's vertices.
type vertexState struct {
	base      uint64 // the first vertex
	parent    []uint32
	depth     []uint32 // in the tree, or notReached
	dist      []float32
	tags      []uint16 // see parentBits
	confirmed []uint64 // vertices whose tree edge was found in the list
}

// scratch is a worker's memory for a decoded block. Its loops each do one step for the whole block:
// gather the vertices' data, compare, look at the parents of possible tree edges. A loop with few
// instructions has more reads in flight. One tuple in twenty is a tree edge, so a branch would be
// mispredicted.
type scratch struct {
	edges.Block
	tagU, tagV   [edges.BlockSize]uint16
	distU, distV [edges.BlockSize]float32
	maybe        [edges.BlockSize]uint16 // positions of possible tree edges
}

// Tags is the number of tags of its group that a Validator uses, from its first tag on.
const Tags = 3

// New makes the validator of a graph of n vertices, n < 2^32 - 2. list has this rank's tuples;
// first is the number of its first tuple in the whole list. A single rank reads the list for each
// result; other ranks no longer need it. Besides the tuples a Validator takes some 17 bytes per
// vertex of its range until it is closed, 6 on a single rank. team may be nil.
func New(
	ctx context.Context, group *collective.Group, tag uint32, list edges.List, first, n int,
	team *parallel.Team,
) (*Validator, error) {
	if n < 0 || n >= int(pending) {
		return nil, fmt.Errorf("a validator of %d vertices: at most %d are possible", n, pending-1)
	}
	count, rank := group.Link().Size(), group.Link().Rank()
	v := &Validator{
		ranks: ranks{group, tag}, n: n, per: max((n+count-1)/count, 1), weighted: list.Weighted(),
		team: team, arena: new(mem.Arena), scratch: make([]scratch, team.Size()),
	}
	words, own := bitmap.Words(v.per), v.size(rank)
	v.own = vertexState{
		base: uint64(v.per) * uint64(rank), depth: mem.Make[uint32](v.arena, own),
		tags: mem.Make[uint16](v.arena, own), confirmed: mem.Make[uint64](v.arena, words),
	}
	if count == 1 {
		v.tiles = []edges.List{list}
		return v, nil
	}
	// The memory for another rank's state is also used to find depths, which needs two words per
	// vertex.
	v.other = vertexState{
		parent: mem.Make[uint32](v.arena, v.per), depth: mem.Make[uint32](v.arena, v.per),
		tags: mem.Make[uint16](v.arena, v.per), confirmed: mem.Make[uint64](v.arena, words),
	}
	v.other.dist = wire.Slice[float32](wire.Bytes(v.other.depth)) // never both at once
	v.back = mem.Make[uint64](v.arena, words)
	if err := v.deal(ctx, list, first); err != nil {
		v.Close()
		return nil, err
	}
	return v, nil
}

// Close frees the validator, which must not be used afterwards. It is idempotent.
func (v *Validator) Close() {
	for _, free := range v.free {
		free()
	}
	v.arena.Close()
	v.free, v.tiles, v.own, v.other, v.back = nil, nil, vertexState{}, vertexState{}, nil
}

func (v *Validator) size(rank int) int { return min(max(v.n-rank*v.per, 0), v.per) }

// vertices runs body on ranges that cover the own vertices, relative to the first. body returns the
// error of the first wrong vertex.
func (v *Validator) vertices(ctx context.Context, body func(lo, hi int) error) error {
	var f parallel.First
	v.team.For(len(v.own.depth), vertexGrain, func(_, lo, hi int) {
		if f.Before(lo) {
			return
		}
		err := context.Cause(ctx)
		if err == nil {
			err = body(lo, hi)
		}
		if err != nil {
			f.Report(lo, err)
		}
	})
	return f.Err()
}

// gather sets to[i] to from[at[i]]. It returns the first i whose vertex does not exist, or -1.
func gather[T any](to *[edges.BlockSize]T, from []T, at []uint64) int {
	for i, x := range at {
		if x >= uint64(len(from)) {
			return i
		}
		to[i&(edges.BlockSize-1)] = from[x]
	}
	return -1
}

// isZero returns 1 for zero and 0 for any other x below 1<<63, without a branch.
func isZero(x uint64) int { return int((x - 1) >> 63) }

// confirm records that the tree edge of vertex x is in the list.
func confirm(confirmed []uint64, x uint64) {
	word, bit := &confirmed[x>>6], uint64(1)<<(x&63)
	if atomic.LoadUint64(word)&bit == 0 {
		atomic.OrUint64(word, bit)
	}
}

// unconfirmed returns the least own vertex, relative to the first, that is in the tree and whose
// tree edge was not found.
func (v *Validator) unconfirmed() (uint64, bool) {
	if int64(bitmap.Count(v.own.confirmed)) == v.reached {
		return 0, false
	}
	for x, depth := range v.own.depth {
		if depth != notReached && !bitmap.Get(v.own.confirmed, uint32(x)) {
			return uint64(x), true
		}
	}
	return 0, false
}
