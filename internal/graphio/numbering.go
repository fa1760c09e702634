package graphio

import (
	"context"
	"math"
	"math/bits"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/names"
	"github.com/superstep-go/superstep/internal/parallel"
)

// numbering maps input ids to dense numbers in the same order. It has four forms:
//
//	consecutive ids:  id - first
//	dense ids:        the rank of the id's bit in a bitmap of all ids
//	sparse ids:       the index of the id in the sorted list of ids
//	names:            the index of the name in the sorted list of names
//
// Invariant: ids[i] is the id of vertex i. But consecutive ids leave ids nil.
type numbering struct {
	n      int
	first  uint64
	ids    []uint64
	ranked bitmap.Ranked
	index  *edges.Index   // of sparse ids
	named  *names.Numbers // of the provisional ids of names
}

// consecutive returns the numbering of the n ids from first.
func consecutive(first uint64, n int) *numbering { return &numbering{n: n, first: first} }

// labels returns the input ids of all numbers.
func (x *numbering) labels() edges.Labels {
	if x.ids != nil {
		return edges.NewLabels(x.ids)
	}
	return edges.Consecutive(x.first)
}

// translate replaces ids by numbers. It stops at the first id without a number and returns its
// index, or -1.
func (x *numbering) translate(ids []uint64) int {
	switch {
	case x.named != nil:
		for i, id := range ids {
			ids[i] = x.named.Of(id)
		}
	case x.ids == nil:
		for i, id := range ids {
			number := id - x.first
			if number >= uint64(x.n) {
				return i
			}
			ids[i] = number
		}
	case x.index == nil:
		limit := uint64(len(x.ranked.Bits)) * 64
		for i, id := range ids {
			if id >= limit || !x.ranked.Get(uint32(id)) {
				return i
			}
			ids[i] = uint64(x.ranked.Of(uint32(id)))
		}
	default:
		for i, id := range ids {
			number, ok := x.index.Find(id)
			if !ok {
				return i
			}
			ids[i] = number
		}
	}
	return -1
}

// of returns the number of an id.
func (x *numbering) of(id uint64) (number uint64, ok bool) {
	one := [1]uint64{id}
	ok = x.translate(one[:]) < 0
	return one[0], ok
}

// number makes a numbering of all ids in t.
func number(ctx context.Context, team *parallel.Team, t *table) (*numbering, error) {
	if t.n == 0 {
		return consecutive(0, 0), nil
	}
	// If the id space is at most 64 times as large as the list, its bitmap takes at most one word a
	// tuple, as much as the list.
	if t.max <= math.MaxUint32 && t.max/64 <= uint64(t.n)+1024 {
		return rankIDs(ctx, team, t)
	}
	return sortIDs(ctx, team, t)
}

// rankIDs numbers ids below 2^32 by a bitmap.
func rankIDs(ctx context.Context, team *parallel.Team, t *table) (*numbering, error) {
	words := bitmap.Words(int(t.max) + 1)
	t.slabs.admission.admit(8*int64(words), "the set of its vertices")
	set := make([]uint64, words)
	team.For(len(t.batches), 1, func(_, i, _ int) {
		if ctx.Err() != nil {
			return
		}
		t.each(i, func(ids []uint64) {
			for _, id := range ids {
				bitmap.SetShared(set, uint32(id))
			}
		})
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	n := bitmap.Count(set)
	if uint64(n) == t.max+1 {
		return consecutive(0, n), nil
	}
	t.slabs.admission.admit(8*int64(n), "the list of its vertices")
	x := &numbering{n: n, ids: make([]uint64, n), ranked: bitmap.Rank(set, nil)}
	team.For(len(set), 1<<14, func(_, lo, hi int) {
		at := x.ranked.Rank[lo]
		for w := lo; w < hi; w++ {
			for word := set[w]; word != 0; word &= word - 1 {
				x.ids[at] = uint64(w*64 + bits.TrailingZeros64(word))
				at++
			}
		}
	})
	return x, nil
}

// tooMany is the fault of an input with more than maxVertices vertices.
func tooMany(n uint64) *fault {
	return wrong(Thousands(n)+" vertices", "at most "+Thousands(uint64(maxVertices)))
}
