package build

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
)

// registerVertices sends each declared vertex id to the rank that owns its directory entry.
// b.declared becomes a bitmap if ids are dense, else an ascending list. An id that is listed twice
// is an error.
func (b *builder) registerVertices(ctx context.Context) error {
	first := b.ranges.starts[b.rank]
	var twice atomic.Bool
	if b.dense {
		b.declared = mem.Make[uint64](b.kept, bitmap.Words(b.sizes[b.rank]))
	}
	err := b.eachListed(ctx, func(from int, id, _ uint64) {
		if !b.dense {
			b.declared = append(mem.Grow(b.kept, b.declared, 1), id)
		} else if at := id - first; bitmap.Get(b.declared, uint32(at)) {
			twice.Store(true)
		} else {
			bitmap.Set(b.declared, uint32(at))
		}
	})
	if err != nil {
		return err
	}
	if !b.dense {
		slices.Sort(b.declared)
		n := len(b.declared)
		b.declared = slices.Compact(b.declared)
		twice.Store(len(b.declared) < n)
	}
	again, err := b.any(ctx, twice.Load())
	if err != nil || !again {
		return err
	}
	return b.repeated(ctx)
}

// eachListed sends all listed ids, with their positions in the whole list, to the owners of their
// entries. The owners call f for each.
func (b *builder) eachListed(ctx context.Context, f func(from int, id, place uint64)) error {
	next, count := 0, b.roundRecords(b.all.listed, 16)
	return b.shuffle(ctx, &shuffle{
		stride: 2,
		produce: func(out [][]sendBuffer) (bool, error) {
			end := min(next+count, len(b.in.IDs))
			for i := next; i < end; i++ {
				id := b.in.IDs[i]
				p := &out[0][b.ranges.of(id)]
				p.words[0] = append(p.words[0], id, uint64(b.all.listedBefore+i))
			}
			next = end
			b.progress("sending the vertices", int64(end), int64(len(b.in.IDs)))
			return end < len(b.in.IDs), nil
		},
		consume: func(from []sendBuffer) error {
			for rank, p := range from {
				for words := p.words[0]; len(words) > 0; words = words[2:] {
					if words[0] >= b.end || b.ranges.of(words[0]) != b.rank {
						return invalid(rank, "id %d", words[0])
					}
					f(rank, words[0], words[1])
				}
			}
			return nil
		},
	})
}

// any reports whether here is true on any rank.
func (b *builder) any(ctx context.Context, here bool) (bool, error) {
	x := uint64(0)
	if here {
		x = 1
	}
	x, err := collective.CombineOne(ctx, b.group, b.call(), collective.Or, x)
	return x != 0, err
}

// place is a position in the list or in the tuples, with a wrong id.
type place struct{ At, ID uint64 }

// repeated returns the error for the first listed id that has occurred before.
func (b *builder) repeated(ctx context.Context) error {
	var all []place
	if err := b.eachListed(ctx, func(_ int, id, at uint64) { all = append(all, place{at, id}) }); err != nil {
		return err
	}
	slices.SortFunc(all,
		func(x, y place) int { return cmp.Or(cmp.Compare(x.ID, y.ID), cmp.Compare(x.At, y.At)) })
	least := place{At: noPlace}
	for i, p := range all {
		if i > 0 && p.ID == all[i-1].ID && p.At < least.At {
			least = p
		}
	}
	return b.first(ctx, least, b.all.listed, b.all.listedBefore, len(b.in.IDs), b.in.Repeated)
}

// noPlace is greater than all positions.
const noPlace = 1<<64 - 1

// first returns the error for the lowest position that any rank has found, of total positions in
// all. The rank that has the position, among its n positions from before on, makes the error with
// say.
func (b *builder) first(ctx context.Context, mine place, total, before, n int, say func(ctx context.Context, at int, id uint64) error) error {
	all, err := gather(ctx, b.group, b.call(), &mine)
	if err != nil {
		return err
	}
	least := place{At: noPlace}
	for rank, p := range all {
		if p.At >= uint64(total) && p.At != noPlace {
			return invalid(rank, "place %d of %d", p.At, total)
		}
		if p.At < least.At {
			least = p
		}
	}
	if at := least.At - uint64(before); at < uint64(n) {
		return ofInput(say(ctx, int(at), least.ID))
	}
	if least.At == noPlace {
		return errors.New("an end of an edge is not a listed vertex")
	}
	<-ctx.Done() // another rank is about to return the error
	return context.Cause(ctx)
}

// checkEndpoints returns an error if any rank has found an end of an edge that is not listed. The
// error is about the first such tuple.
func (b *builder) checkEndpoints(ctx context.Context, undeclared bool) error {
	found, err := b.any(ctx, undeclared)
	if err != nil || !found {
		return err
	}
	list := b.in.Edges
	var block edges.Block
	mine := place{At: noPlace}
	for i := 0; ; i++ {
		block.N = 0
		if i < edges.Blocks(list) && mine.At == noPlace {
			if err := list.Read(i, &block); err != nil {
				return err
			}
		}
		here, err := b.undeclaredIn(ctx, &block)
		if err != nil {
			return err
		}
		if here.At != noPlace {
			mine = place{here.At + uint64(b.all.before+i*edges.BlockSize), here.ID}
		}
		// Twice the position found, or an odd number: the position where this rank continues, times
		// two, plus one.
		next := uint64(noPlace)
		if mine.At != noPlace {
			next = 2 * mine.At
		} else if i+1 < edges.Blocks(list) {
			next = 2*uint64(b.all.before+(i+1)*edges.BlockSize) + 1
		}
		next, err = collective.CombineOne(ctx, b.group, b.call(), collective.MinUint64, next)
		if err != nil {
			return err
		}
		if next%2 == 0 || next == noPlace {
			return b.first(ctx, mine, b.all.tuples, b.all.before, list.Len(), b.in.Undeclared)
		}
	}
}

// undeclaredIn asks the owners of the entries of a block's ends, and returns the first end that is
// not listed.
func (b *builder) undeclaredIn(ctx context.Context, block *edges.Block) (place, error) {
	ends := make([]uint64, 0, 2*block.N)
	for i, u := range block.U[:block.N] {
		ends = append(ends, u, block.V[i])
	}
	answers, err := ask(ctx, b.group, b.call(), ends, b.ranges.of, func(id uint64) uint64 {
		if b.isListed(id) {
			return 1
		}
		return 0
	})
	if err != nil {
		return place{}, err
	}
	for i, known := range answers {
		if known == 0 {
			return place{uint64(i / 2), ends[i]}, nil
		}
	}
	return place{At: noPlace}, nil
}

func (b *builder) isListed(id uint64) bool {
	if b.labels != nil {
		_, ok := b.labels.Find(id)
		return ok
	}
	return bitmap.Get(b.declared, uint32(id-b.ranges.starts[b.rank]))
}
