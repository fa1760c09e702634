package build

import (
	"context"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/wire"
)

// numberIDs numbers ids that are not dense: in ascending order within each range, and the ranges
// one after another. Afterwards edges are routed by numbers. Each rank has a table of the ids in
// its tuples.
func (b *builder) numberIDs(ctx context.Context) error {
	ids, err := b.endpoints(ctx)
	if err != nil {
		return err
	}
	if err := b.exchangeNames(ctx, ids); err != nil {
		return err
	}
	mine := len(b.labels.IDs())
	if b.sizes, err = collective.Gather(ctx, b.group, b.call(), &mine); err != nil {
		return err
	}
	starts, total := make([]uint64, b.ranks), uint64(0)
	for rank, n := range b.sizes {
		if n < 0 || n > graph.MaxVertices {
			return fmt.Errorf("rank %d has %d ids: %w", rank, n, collective.ErrMessage)
		}
		starts[rank] = total
		total += uint64(n)
	}
	if total > graph.MaxVertices {
		return graph.TooManyVertices(total)
	}
	b.places = newRanges(starts, max(total, 1))
	b.numbers = make([]numbered, b.ranks)
	for step := range b.ranks {
		if err := b.numbersOf(ctx, step, ids); err != nil {
			return err
		}
	}
	return nil
}

// endpoints returns the distinct ids of the ends of this rank's tuples, by range, in ascending
// order.
func (b *builder) endpoints(ctx context.Context) ([][]uint64, error) {
	sets := make([][]idSet, b.team.Size())
	for worker := range sets {
		sets[worker] = slices.Repeat(
			[]idSet{{arena: &b.numbering, most: mostSlots(b.team.Size() * b.ranks)}}, b.ranks)
	}
	err := b.scan(ctx, "looking for the ids", false, func(worker int, block *edges.Block) error {
		for i, u := range block.U[:block.N] {
			v := block.V[i]
			if max(u, v) >= b.end {
				return outOfRange(u, v, b.end)
			}
			sets[worker][b.ranges.of(u)].add(u)
			sets[worker][b.ranges.of(v)].add(v)
		}
		return nil
	})
	ids := make([][]uint64, b.ranks)
	b.team.For(b.ranks, 1, func(_, rank, _ int) {
		for worker := range sets {
			ids[rank] = union(&b.numbering, ids[rank], sets[worker][rank].rising())
		}
	})
	return ids, err
}

// exchangeNames finds the ids of this rank's range and sets b.labels. If the input lists all
// vertices, these are the listed ids; otherwise also the ends of all ranks' tuples.
func (b *builder) exchangeNames(ctx context.Context, ids [][]uint64) error {
	mine, listed := b.declared, b.in.Naming == edges.Listed
	undeclared := uint64(allRight)
	for step := range b.ranks {
		asked := ids[b.rank]
		if step > 0 {
			var err error
			if asked, err = b.sendIDs(ctx, step, ids); err != nil {
				return err
			}
		}
		if listed {
			undeclared = min(undeclared, missing(asked, mine))
		} else {
			all := merge(b.kept, mine, asked)
			mem.Free(b.kept, mine)
			mine = all
		}
		mem.Free(&b.numbering, asked) // the ids of this rank's own range are in mine
		if uint64(len(mine)) > graph.MaxVertices {
			return graph.TooManyVertices(uint64(len(mine)))
		}
		b.progress("numbering the ids", int64(step), int64(b.ranks))
	}
	ids[b.rank] = nil
	b.labels = edges.NewIndex(b.kept, mine)
	if listed {
		return b.checkEndpoints(ctx, undeclared)
	}
	return nil
}

// sendIDs sends the ids in the range of the rank step ranks after this one to that rank. It returns
// the ids received from the rank step ranks before this one. The caller frees them.
func (b *builder) sendIDs(ctx context.Context, step int, ids [][]uint64) ([]uint64, error) {
	data, err := b.sendReceive(ctx, step, wire.Bytes(ids[(b.rank+step)%b.ranks]), &b.numbering)
	if err != nil {
		return nil, err
	}
	asked, err := b.risingIDs(data)
	if err != nil {
		return nil, fmt.Errorf("ids from rank %d: %w", (b.rank-step+b.ranks)%b.ranks, err)
	}
	return asked, nil
}

// missing returns the first id of an ascending list that another ascending list does not have.
func missing(some, all []uint64) uint64 {
	for _, id := range some {
		for len(all) > 0 && all[0] < id {
			all = all[1:]
		}
		if len(all) == 0 || all[0] != id {
			return id
		}
	}
	return allRight
}

// risingIDs converts a message to ascending ids of this rank's range, without a copy.
func (b *builder) risingIDs(data []byte) ([]uint64, error) {
	ids := wire.Slice[uint64](data)
	if len(data)%8 != 0 {
		return nil, fmt.Errorf("%w: %d bytes of ids", collective.ErrMessage, len(data))
	}
	for i, id := range ids {
		if i > 0 && id <= ids[i-1] || id >= b.end || b.ranges.of(id) != b.rank {
			return nil, fmt.Errorf("%w: id %d", collective.ErrMessage, id)
		}
	}
	return ids, nil
}

// numbered has the ids of a range that occur in this rank's tuples, and their numbers. For the own
// range, numbers is nil: they are the range's places.
type numbered struct {
	ids     *edges.Index
	numbers []uint32
}

// number returns the number of an id that occurs in this rank's tuples.
func (b *builder) number(id uint64) uint64 {
	rank := b.ranges.of(id)
	n := &b.numbers[rank]
	at, _ := n.ids.Find(id)
	if n.numbers != nil {
		at = uint64(n.numbers[at])
	}
	return b.places.starts[rank] + at
}

// numbersOf gets the numbers of ids from the rank step ranks after this one, and answers the rank
// step ranks before this one. The ids are sent again, because storing the ids of all ranks here
// would take too much memory.
func (b *builder) numbersOf(ctx context.Context, step int, ids [][]uint64) error {
	if step == 0 {
		b.numbers[b.rank].ids = b.labels
		return nil
	}
	from, to := (b.rank-step+b.ranks)%b.ranks, (b.rank+step)%b.ranks
	asked, err := b.sendIDs(ctx, step, ids)
	if err != nil {
		return err
	}
	answer := mem.Make[uint32](&b.numbering, len(asked))
	at, mine := 0, b.labels.IDs()
	for i, id := range asked {
		for at < len(mine) && mine[at] < id {
			at++
		}
		if at == len(mine) || mine[at] != id {
			return fmt.Errorf("ids from rank %d: %w: %d unknown", from, collective.ErrMessage, id)
		}
		answer[i] = uint32(at)
	}
	mem.Free(&b.numbering, asked)
	data, err := b.sendReceive(ctx, b.ranks-step, wire.Bytes(answer), &b.numbering)
	mem.Free(&b.numbering, answer)
	if err != nil {
		return err
	}
	numbers := wire.Slice[uint32](data)
	if len(data) != 4*len(ids[to]) || !slices.IsSorted(numbers) || len(numbers) > 0 &&
		int(numbers[len(numbers)-1]) >= b.sizes[to] {
		return invalid(to, "%d bytes for the numbers of %d ids", len(data), len(ids[to]))
	}
	b.numbers[to] = numbered{edges.NewIndex(&b.numbering, ids[to]), numbers}
	return nil
}
