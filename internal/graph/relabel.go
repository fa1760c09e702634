package graph

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/mem"
)

// divider divides ids by a number of partitions above 1: a product says what a division would (Lemire, Kaser, Kurz 2019).
type divider struct {
	parts   uint32
	inverse uint64 // 2^64 / parts, rounded up
}

func newDivider(parts int) divider {
	return divider{uint32(parts), math.MaxUint64/uint64(parts) + 1}
}

// divide returns a vertex's place with its owner, and who that is.
func (d divider) divide(id uint32) (local, owner uint32) {
	high, _ := bits.Mul64(d.inverse, uint64(id))
	local = uint32(high)
	return local, id - local*d.parts
}

// ghostSlots finds the slots of one owner's ghosts.
type ghostSlots struct {
	bitmap.Ranked
	start, last uint32 // slot of the first, and the last word of the bits
}

// seen returns, for each partition of a line, which of its vertices are in the lists. It stops half-way when ctx ends.
func (p *Partition) seen(ctx context.Context, a *Adjacency, line []int, arena *mem.Arena) [][]uint64 {
	if len(line) == 0 {
		return nil
	}
	seen := make([][]uint64, p.Of)
	for _, q := range line {
		seen[q] = mem.Make[uint64](arena, bitmap.Words(owned(p.graph.N, q, p.Of)))
	}
	parts := newDivider(p.Of)
	for some := range slices.Chunk(a.Adj, limits.linkGrain) {
		if ctx.Err() != nil {
			break
		}
		for _, id := range some {
			if local, q := parts.divide(id); int(q) != p.Index {
				bitmap.Set(seen[q], local)
			}
		}
	}
	return seen
}

// relabel rewrites lists of ids to slots. It runs after the side's ghosts have their slots. As owned vertices and ghosts are mixed at
// random, it does for both all that is done for either, and takes one of the results.
func (p *Partition) relabel(ctx context.Context, a *Adjacency, s *Side) error {
	if p.Of == 1 {
		return nil
	}
	slots := make([]ghostSlots, p.Of)
	for q := range slots {
		slots[q] = ghostSlots{bitmap.Ranked{Bits: []uint64{0}, Rank: []uint32{0, 0}}, 0, 0}
		if s.Ghosts != nil && len(s.Ghosts[q].Bits) > 0 {
			slots[q] = ghostSlots{s.Ghosts[q], s.Groups[q].Start, uint32(len(s.Ghosts[q].Bits) - 1)}
		}
	}
	slots[p.Index].Bits[0] = math.MaxUint64
	parts, own, all := newDivider(p.Of), uint32(p.Index), uint64(1)
	for some := range slices.Chunk(a.Adj, limits.linkGrain) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for i, id := range some {
			local, q := parts.divide(id)
			of := &slots[q]
			w := min(local>>6, of.last)
			word, bit := of.Bits[w], local&63
			slot := of.start + of.Rank[w] + uint32(bits.OnesCount64(word&(1<<bit-1)))
			if q == own {
				slot = local
			}
			some[i] = slot
			all &= word >> bit
		}
		if all == 0 {
			return fmt.Errorf("partition %d has a neighbour that its owner does not know of: %w", p.Index, errMessage)
		}
	}
	return nil
}
