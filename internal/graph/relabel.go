package graph

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/mem"
)

// slotWord describes 64 vertices of a partition: which of them have slots here, and the slot of the
// first of these.
type slotWord struct {
	bits  uint64
	first uint32
}

// slotsOf has the index of the first word of a partition's vertices. Owned vertices, whose slots
// are their local indices, have only one word.
type slotsOf struct {
	begin uint32
	owned uint32 // all ones, or 0
}

// seen returns, for each partition of a line, which of its vertices occur in the lists. It is
// incomplete if ctx ends.
func (p *Partition) seen(
	ctx context.Context, a *Adjacency, line []int, arena *mem.Arena,
) [][]uint64 {
	if len(line) == 0 {
		return nil
	}
	seen := make([][]uint64, p.Of)
	for _, q := range line {
		seen[q] = mem.Make[uint64](arena, bitmap.Words(p.Deal.Owned(p.graph.N, q)))
	}
	// Owned vertices are marked too, because a branch for them would be unpredictable.
	seen[p.Index] = mem.Make[uint64](arena, p.Words())
	deal := p.Deal
	for some := range slices.Chunk(a.Adj, limits.linkGrain) {
		if ctx.Err() != nil {
			break
		}
		for _, id := range some {
			q, local := deal.Of(id)
			bitmap.Set(seen[q], local)
		}
	}
	seen[p.Index] = nil
	return seen
}

// relabel converts the ids in lists to slots. It is called after the side's ghosts have slots.
// Owned vertices and ghosts are mixed at random, so it computes both results for each id and
// selects one without a branch.
func (p *Partition) relabel(ctx context.Context, a *Adjacency, s *Side) error {
	if p.Of == 1 {
		return nil
	}
	all := 1
	for q := range s.Ghosts {
		all += len(s.Ghosts[q].Bits)
	}
	// one element per 64 vertices of the line; growing the slice would need twice the memory
	words := append(make([]slotWord, 0, all), slotWord{bits: math.MaxUint64})
	of := make([]slotsOf, p.Of)
	for q := range of {
		of[q] = slotsOf{begin: uint32(len(words))}
		if s.Ghosts == nil || s.Ghosts[q].Bits == nil { // no neighbour belongs to this partition
			of[q] = slotsOf{owned: math.MaxUint32}
			continue
		}
		for w, bits := range s.Ghosts[q].Bits {
			words = append(words, slotWord{bits, s.Groups[q].Start + s.Ghosts[q].Rank[w]})
		}
	}
	deal := p.Deal
	for some := range slices.Chunk(a.Adj, limits.linkGrain) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for i, id := range some {
			q, local := deal.Of(id)
			t := of[q]
			word := words[t.begin+local>>6&^t.owned]
			slot := word.first + uint32(bits.OnesCount64(word.bits&(1<<(local&63)-1)))
			some[i] = slot&^t.owned | local&t.owned
		}
	}
	return nil
}
