package graph

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/mem"
)

// divider divides ids by a number of partitions above 1: a product says what a division would
// (Lemire, Kaser, Kurz 2019).
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

// slotWord is 64 vertices of a partition: those that have slots here, and the slot of the first.
type slotWord struct {
	bits  uint64
	first uint32
}

// slotsOf is where the words of a partition's vertices begin. Owned vertices, whose slots are their
// places, have but one word.
type slotsOf struct {
	begin uint32
	owned uint32 // all ones, or 0
}

// seen returns, for each partition of a line, which of its vertices are in the lists. It stops
// half-way when ctx ends.
func (p *Partition) seen(ctx context.Context, a *Adjacency, line []int, arena *mem.Arena) [][]uint64 {
	if len(line) == 0 {
		return nil
	}
	seen := make([][]uint64, p.Of)
	for _, q := range line {
		seen[q] = mem.Make[uint64](arena, bitmap.Words(owned(p.graph.N, q, p.Of)))
	}
	// Nobody can predict which ids are of owned vertices: they are set, too.
	seen[p.Index] = mem.Make[uint64](arena, p.Words())
	parts := newDivider(p.Of)
	for some := range slices.Chunk(a.Adj, limits.linkGrain) {
		if ctx.Err() != nil {
			break
		}
		for _, id := range some {
			local, q := parts.divide(id)
			bitmap.Set(seen[q], local)
		}
	}
	seen[p.Index] = nil
	return seen
}

// relabel rewrites lists of ids to slots. It runs after the side's ghosts have their slots. As
// owned vertices and ghosts are mixed at random, it does for both all that is done for either, and
// takes one of the results.
func (p *Partition) relabel(ctx context.Context, a *Adjacency, s *Side) error {
	if p.Of == 1 {
		return nil
	}
	all := 1
	for q := range s.Ghosts {
		all += len(s.Ghosts[q].Bits)
	}
	// of one in 64 vertices of the line: growing would take as much again
	words := append(make([]slotWord, 0, all), slotWord{bits: math.MaxUint64})
	of := make([]slotsOf, p.Of)
	for q := range of {
		of[q] = slotsOf{begin: uint32(len(words))}
		if s.Ghosts == nil || s.Ghosts[q].Bits == nil { // no neighbour is of it
			of[q] = slotsOf{owned: math.MaxUint32}
			continue
		}
		for w, bits := range s.Ghosts[q].Bits {
			words = append(words, slotWord{bits, s.Groups[q].Start + s.Ghosts[q].Rank[w]})
		}
	}
	parts := newDivider(p.Of)
	for some := range slices.Chunk(a.Adj, limits.linkGrain) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for i, id := range some {
			local, q := parts.divide(id)
			t := of[q]
			word := words[t.begin+local>>6&^t.owned]
			slot := word.first + uint32(bits.OnesCount64(word.bits&(1<<(local&63)-1)))
			some[i] = slot&^t.owned | local&t.owned
		}
	}
	return nil
}
