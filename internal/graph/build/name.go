package build

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/wire"
)

// unnumbered are edges whose ends are input ids still, of those whose other end one rank directs: by lane and way. Buffers
// share an arena, which goes when they have been stored.
type unnumbered struct {
	arena   mem.Arena
	buffers []buffer
	asked   []uint64 // the other ends, rising, each once
}

// name deals edges whose ends are ids that are not dense, numbers the ids of each range by rising id, and stores the edges
// by number. Each rank tells every other which of its ids it has as other ends, and is told their numbers.
func (b *builder) name(ctx context.Context) error {
	all, err := b.routeByID(ctx)
	if err != nil {
		return err
	}
	defer func() {
		for i := range all {
			all[i].arena.Close()
		}
	}()
	if err := b.exchangeNames(ctx, all); err != nil {
		return err
	}
	known, err := b.group.Allgather(ctx, b.call(), appendWord(nil, uint64(len(b.labels.IDs()))))
	if err != nil {
		return err
	}
	for rank, data := range known {
		n, err := words(data, 1)
		if err != nil || n[0] > graph.MaxVertices {
			return fmt.Errorf("rank %d directs %v ids: %w", rank, n, collective.ErrMessage)
		}
		b.sizes[rank] = int(n[0])
	}
	b.rows = b.newCounters(b.tmp, b.sizes[b.rank])
	b.store = newStore(b.sizes[b.rank], b.sizes, b.all.tuples/b.ranks, b.lanes(), b.in.Directed, b.o.Weights, b.o.Meter)
	for step := range b.ranks {
		at := (b.rank + step) % b.ranks
		numbers, err := b.numbers(ctx, step, all)
		if err != nil {
			return err
		}
		if err := b.storeNamed(ctx, &all[at], at, numbers); err != nil {
			return err
		}
		all[at].arena.Close()
		all[at].buffers, all[at].asked = nil, nil
	}
	return nil
}

// routeByID deals the tuples to those who direct their rows, where they stay as they are, apart by who directs the other
// end.
func (b *builder) routeByID(ctx context.Context) ([]unnumbered, error) {
	all := make([]unnumbered, b.ranks)
	for i := range all {
		all[i].arena.Meter = b.o.Meter
		all[i].buffers = make([]buffer, b.lanes()*kinds)
		for k := range all[i].buffers {
			all[i].buffers[k] = buffer{arena: &all[i].arena, stride: 2, kind: b.o.Weights}
		}
	}
	r := b.newRouter(2)
	err := b.shuffle(ctx, &shuffle{
		stride: 2, weights: b.o.Weights, produce: r.produce,
		consume: func(from []sendBuffer) error {
			return b.eachRun(from, 2, func(lane int, run run) error {
				p := &from[run.rank]
				words, weights := p.words[run.way], p.weights[run.way]
				for i := run.lo; i < run.hi; i++ {
					u, v := words[2*i], words[2*i+1]
					if b.ranges.of(u) != b.rank || run.way == toRow && !b.in.Directed {
						return fmt.Errorf("from rank %d: %w: edge %d-%d", run.rank, collective.ErrMessage, u, v)
					}
					all[b.ranges.of(v)].buffers[lane*kinds+run.way].add(u, v, weights, i)
				}
				return nil
			})
		},
	})
	b.loops = int(r.loops.Load())
	if err != nil {
		for i := range all {
			all[i].arena.Close()
		}
	}
	return all, err
}

// exchangeNames finds the ids of this rank's range, in b.labels: the listed ones or, where none are listed, the ends of
// all edges.
func (b *builder) exchangeNames(ctx context.Context, all []unnumbered) error {
	var mine []uint64
	listed := b.in.Naming == edges.Listed
	if listed {
		mine = b.declared
	}
	undeclared := false
	for step := range b.ranks {
		at := (b.rank + step) % b.ranks
		if !listed {
			mine = merge(mine, b.column(&all[at], 0))
		}
		asked := b.column(&all[at], 1)
		if step > 0 {
			all[at].asked = asked
			data, err := b.sendReceive(ctx, step, wire.Bytes(asked))
			if err != nil {
				return err
			}
			from := (b.rank - step + b.ranks) % b.ranks
			if asked, err = b.risingIDs(data); err != nil {
				return fmt.Errorf("ids from rank %d: %w", from, err)
			}
		}
		if listed {
			undeclared = undeclared || !subset(asked, mine)
		} else {
			mine = merge(mine, asked)
		}
		if uint64(len(mine)) > graph.MaxVertices {
			return graph.TooManyVertices(uint64(len(mine)))
		}
		b.progress("numbering the ids", int64(step), int64(b.ranks))
	}
	for at := range all {
		undeclared = undeclared || listed && !subset(b.column(&all[at], 0), mine)
	}
	b.labels = edges.NewIndex(mine)
	if listed {
		return b.checkEndpoints(ctx, undeclared)
	}
	return nil
}

// column returns the distinct rows (0) or other ends (1) of edges, rising.
func (b *builder) column(e *unnumbered, which int) []uint64 {
	parts := make([][]uint64, 0, 8)
	var mu sync.Mutex
	var runs [][]uint64
	for _, p := range e.buffers {
		runs = append(runs, p.words...)
	}
	b.team.For(len(runs), 8, func(_, lo, hi int) {
		var ids []uint64
		for _, words := range runs[lo:hi] {
			for i := which; i < len(words); i += 2 {
				ids = append(ids, words[i])
			}
		}
		slices.Sort(ids)
		ids = slices.Clip(slices.Compact(ids))
		mu.Lock()
		parts = append(parts, ids)
		mu.Unlock()
	})
	for len(parts) > 1 {
		half := (len(parts) + 1) / 2
		b.team.For(len(parts)/2, 1, func(_, i, _ int) { parts[i] = merge(parts[i], parts[half+i]) })
		parts = parts[:half]
	}
	if len(parts) == 0 {
		return nil
	}
	return parts[0]
}

// merge returns the union of two rising lists.
func merge(a, z []uint64) []uint64 {
	if len(a) == 0 {
		return z
	}
	if len(z) == 0 {
		return a
	}
	union := make([]uint64, 0, len(a)+len(z))
	for len(a) > 0 && len(z) > 0 {
		switch {
		case a[0] < z[0]:
			union = append(union, a[0])
			a = a[1:]
		case a[0] > z[0]:
			union = append(union, z[0])
			z = z[1:]
		default:
			union = append(union, a[0])
			a, z = a[1:], z[1:]
		}
	}
	return slices.Clip(append(append(union, a...), z...))
}

// subset reports whether all of a rising list is in another.
func subset(some, all []uint64) bool {
	at := 0
	for _, id := range some {
		for at < len(all) && all[at] < id {
			at++
		}
		if at == len(all) || all[at] != id {
			return false
		}
	}
	return true
}

// risingIDs views a message as ids of this rank's range that rise.
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

// numbers returns the numbers of the ids that this rank asked the one so many ranks on for, in their order.
func (b *builder) numbers(ctx context.Context, step int, all []unnumbered) ([]uint32, error) {
	if step == 0 {
		return nil, nil
	}
	from := (b.rank - step + b.ranks) % b.ranks
	to := (b.rank + step) % b.ranks
	// Who was asked last time is told now: what it wants is asked for once more rather than kept here for everybody.
	data, err := b.sendReceive(ctx, step, wire.Bytes(all[to].asked))
	if err != nil {
		return nil, err
	}
	ids, err := b.risingIDs(data)
	if err != nil {
		return nil, fmt.Errorf("ids from rank %d: %w", from, err)
	}
	answer := make([]uint32, len(ids))
	at := 0
	mine := b.labels.IDs()
	for i, id := range ids {
		for at < len(mine) && mine[at] < id {
			at++
		}
		if at == len(mine) || mine[at] != id {
			return nil, fmt.Errorf("ids from rank %d: %w: %d is new", from, collective.ErrMessage, id)
		}
		answer[i] = uint32(at)
	}
	if data, err = b.sendReceive(ctx, b.ranks-step, wire.Bytes(answer)); err != nil {
		return nil, err
	}
	numbers := wire.Slice[uint32](data)
	if len(data) != 4*len(all[to].asked) || !slices.IsSorted(numbers) || len(numbers) > 0 && int(numbers[len(numbers)-1]) >= b.sizes[to] {
		return nil, fmt.Errorf("from rank %d: %w: %d bytes for the numbers of %d ids", to, collective.ErrMessage, len(data), len(all[to].asked))
	}
	return numbers, nil
}

// storeNamed stores the edges whose other ends one rank directs, by number. numbers are those of the ids that were asked
// for; nil means the ids of this rank itself.
func (b *builder) storeNamed(ctx context.Context, e *unnumbered, at int, numbers []uint32) error {
	others := b.labels
	if at != b.rank {
		others = edges.NewIndex(e.asked)
	}
	lanes := b.lanes()
	b.team.For(lanes*kinds, 1, func(_, k, _ int) {
		lane, way := k/kinds, k%kinds
		p := &e.buffers[k]
		for i, words := range p.words {
			if ctx.Err() != nil {
				return
			}
			for j := 0; j < len(words); j += 2 {
				row, _ := b.labels.Find(words[j])
				if words[j] == words[j+1] && b.o.DropLoops {
					continue
				}
				other, _ := others.Find(words[j+1])
				if numbers != nil {
					other = uint64(numbers[other])
				}
				b.store.sides[at].put(lane, way, uint32(row), uint32(other), p.weights[i], j/2)
			}
		}
	})
	if ctx.Err() != nil {
		return fmt.Errorf("numbering the ids: %w", context.Cause(ctx))
	}
	return nil
}
