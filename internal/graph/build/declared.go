package build

import (
	"context"
	"errors"
	"math/bits"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
)

// registerVertices sends each declared vertex id to the rank that owns its directory entry.
// b.declared becomes a bitmap if ids are dense, else an ascending list. An id that is listed twice
// is an error.
func (b *builder) registerVertices(ctx context.Context) error {
	first, repeated := b.ranges.starts[b.rank], uint64(allRight)
	if b.dense {
		b.declared = mem.Make[uint64](b.kept, bitmap.Words(b.sizes[b.rank]))
	}
	take := func(id uint64) {
		if !b.dense {
			b.declared = append(mem.Grow(b.kept, b.declared, 1), id)
		} else if at := uint32(id - first); bitmap.Get(b.declared, at) {
			repeated = min(repeated, id)
		} else {
			bitmap.Set(b.declared, at)
		}
	}
	next, count := 0, b.roundRecords(b.all.listed, 8)
	err := b.shuffle(ctx, &shuffle{
		stride: 1,
		produce: func(out [][]sendBuffer) (bool, error) {
			end := min(next+count, len(b.in.IDs))
			for _, id := range b.in.IDs[next:end] {
				p := &out[0][b.ranges.of(id)]
				p.words[0] = append(p.words[0], id)
			}
			next = end
			b.progress("sending the vertices", int64(end), int64(len(b.in.IDs)))
			return end < len(b.in.IDs), nil
		},
		consume: func(from []sendBuffer) error {
			for rank, p := range from {
				for _, id := range p.words[0] {
					if id >= b.end || b.ranges.of(id) != b.rank {
						return invalid(rank, "id %d", id)
					}
					take(id)
				}
			}
			return nil
		},
	})
	if err != nil {
		return err
	}
	if !b.dense {
		slices.Sort(b.declared)
		for i, id := range b.declared {
			if i > 0 && id == b.declared[i-1] {
				repeated = min(repeated, id)
			}
		}
	}
	find := func(id uint64) (places []int, err error) {
		for at, other := range b.in.IDs {
			if other == id && len(places) < 2 {
				places = append(places, at)
			}
		}
		return places, nil
	}
	return b.reject(ctx, repeated, 1, find, b.in.Repeated)
}

// allRight is greater than all ids: none is wrong.
const allRight = 1<<64 - 1

// reject returns an error if any rank passes a wrong id. The error is about the least wrong id, at
// the place number nth, from 0 on, of all its places in the input. find returns the places of an id
// in this rank's part. The rank that has the place makes the error with say.
func (b *builder) reject(
	ctx context.Context, wrong uint64, nth int, find func(id uint64) ([]int, error),
	say func(ctx context.Context, place int, id uint64) error,
) error {
	id, err := collective.CombineOne(ctx, b.group, b.call(), collective.MinUint64, wrong)
	if err != nil || id == allRight {
		return err
	}
	mine, err := find(id)
	if err != nil {
		return err
	}
	ranks, err := collective.Gather(ctx, b.group, b.call(), &mine)
	if err != nil {
		return err
	}
	for rank, places := range ranks {
		if nth >= len(places) {
			nth -= len(places)
			continue
		}
		if rank == b.rank {
			return ofInput(say(ctx, places[nth], id))
		}
		<-ctx.Done() // the other rank is about to return the error
		return context.Cause(ctx)
	}
	return errors.New("an end of an edge is not a listed vertex")
}

// checkEndpoints returns an error if any rank passes an id, an end of an edge, that is not listed.
// The error is about the first tuple with the least such id.
func (b *builder) checkEndpoints(ctx context.Context, undeclared uint64) error {
	find := func(id uint64) ([]int, error) {
		list, block := b.in.Edges, edges.Block{}
		for i := range edges.Blocks(list) {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err := list.Read(i, &block); err != nil {
				return nil, err
			}
			for j := range block.N {
				if block.U[j] == id || block.V[j] == id {
					return []int{i*edges.BlockSize + j}, nil
				}
			}
		}
		return nil, nil
	}
	return b.reject(ctx, undeclared, 0, find, b.in.Undeclared)
}

// undeclared returns the least id of this range that is an end of an edge and not listed. ids are
// dense.
func (b *builder) undeclared() uint64 {
	for w, word := range b.present {
		if word &^= b.declared[w]; word != 0 {
			return b.ranges.starts[b.rank] + uint64(w<<6+bits.TrailingZeros64(word))
		}
	}
	return allRight
}
