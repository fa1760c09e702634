package build

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/wire"
	"github.com/superstep-go/superstep/pregel"
)

// distribute sends vertices and arcs to the owners of partitions, and makes this rank's partitions.
func (b *builder) distribute(ctx context.Context) error {
	g, a := b.g, b.parts
	g.Tuples, g.Names = b.all.tuples, b.in.Names
	if b.in.Naming == edges.Numbers {
		g.Labels = b.in.Labels
	}
	a.Own(b.own(), b.labels != nil)
	exchange := b.messages
	if b.ranks == 1 {
		exchange = nil
	}
	if b.tuples != nil {
		if err := b.tuples.distribute(ctx); err != nil {
			return err
		}
	} else if err := b.lists(ctx); err != nil {
		return err
	}
	if err := a.Link(ctx, exchange); err != nil {
		return err
	}
	return b.total(ctx, g)
}

// facts returns the facts about a vertex of this range.
func (b *builder) facts(v uint32) graph.Facts {
	f, counted := graph.Facts{Label: b.label(v), Out: b.rows.out[v]}, &b.rows
	if b.in.Directed {
		f.In = b.rows.in[v]
	}
	if b.tuples != nil {
		counted = &b.tuples.raw
	}
	if b.o.TupleDegrees {
		f.Tuples = counted.tuples(v)
	}
	return f
}

// lists sends facts and edges to the owners of partitions, and makes the lists of this rank's
// partitions.
func (b *builder) lists(ctx context.Context) error {
	a := b.parts
	if err := b.vertices(ctx, a); err != nil {
		return err
	}
	parts := b.g.Parts
	in, err := a.Scatter(true,
		func(p *graph.Partition, row uint32) int { return int(p.InDegrees[row]) })
	if err != nil {
		return err
	}
	both := []*graph.Scatter{in}
	if b.in.Directed {
		out, err := a.Scatter(false,
			func(p *graph.Partition, row uint32) int { return int(parts[p.Index].OutDegrees[row]) })
		if err != nil {
			return err
		}
		both = append(both, out)
	}
	if err := b.arcs(ctx, both); err != nil {
		return err
	}
	b.store.close()
	for _, s := range both {
		if err := s.Finish(ctx); err != nil {
			return err
		}
	}
	return nil
}

// vertices sends the facts of this range's vertices to their owners.
func (b *builder) vertices(ctx context.Context, a *graph.Builder) error {
	const stride = 3
	n, next, count := b.sizes[b.rank], 0, b.roundRecords(b.g.N, 8*stride)
	var came atomic.Int64
	err := b.shuffle(ctx, &shuffle{
		stride: stride,
		produce: func(out [][]sendBuffer) (bool, error) {
			lo, hi := next, min(next+count, n)
			next = hi
			b.team.For(hi-lo, 1<<12, func(worker, from, to int) {
				for v := uint32(lo + from); v < uint32(lo+to); v++ {
					id := b.ids[v]
					if id == noID {
						continue
					}
					f := b.facts(v)
					q, _ := b.g.Deal.Of(id)
					words := &out[worker][b.owner[q]].words[0]
					*words = append(*words, uint64(id)|uint64(f.Out)<<32,
						uint64(f.In)|uint64(f.Tuples)<<32, f.Label)
				}
			})
			return hi < n, nil
		},
		consume: func(from []sendBuffer) error {
			return b.eachRun(from, stride, 1, func(_ int, run run) error {
				words := from[run.rank].words[run.way][run.lo*stride : run.hi*stride]
				for ; len(words) > 0; words = words[stride:] {
					id := pregel.VertexID(uint32(words[0]))
					if !a.Has(id) {
						return invalid(run.rank, "vertex %d", id)
					}
					a.Vertex(id, graph.Facts{
						Label: words[2], Out: uint32(words[0] >> 32), In: uint32(words[1]),
						Tuples: uint32(words[1] >> 32),
					})
				}
				came.Add(int64(run.hi - run.lo))
				return nil
			})
		},
	})
	if err != nil {
		return err
	}
	if want := a.Owned(); int(came.Load()) != want {
		return fmt.Errorf("%d of %d vertices: %w", came.Load(), want, collective.ErrMessage)
	}
	return nil
}

// arcs sends the edges of the store, one side after another, to the owners of their ends'
// partitions. For each side it first gets the ids of the other ends.
func (b *builder) arcs(ctx context.Context, lists []*graph.Scatter) error {
	d, err := b.newArcSender(ctx, lists)
	if err != nil {
		return err
	}
	defer d.arena.Close()
	for step := range b.ranks {
		at := (b.rank + step) % b.ranks
		arena := &mem.Arena{Budget: b.o.Budget, Kind: mem.Loading}
		there, err := b.idsOf(ctx, step, arena)
		if err == nil {
			err = d.send(ctx, b.store.sides[at], there, step == b.ranks-1)
		}
		arena.Close()
		if err != nil {
			return err
		}
		b.store.sides[at].close()
		b.progress("sending the arcs", int64(step+1), int64(b.ranks))
	}
	return nil
}

// idsOf returns the ids of the places in the range of the rank step ranks after this one, as far as
// this rank needs them. It sends the rank step ranks before this one the ids that it needs.
func (b *builder) idsOf(ctx context.Context, step int, arena *mem.Arena) ([]uint32, error) {
	if step == 0 {
		return b.ids, nil
	}
	at, to := (b.rank+step)%b.ranks, (b.rank-step+b.ranks)%b.ranks
	wanted := b.wanted[to]
	data := mem.Make[byte](arena, 8*len(wanted)+4*bitmap.Count(wanted))[:0]
	data = append(data, wire.Bytes(wanted)...)
	bitmap.Each(wanted, func(v uint32) { data = binary.LittleEndian.AppendUint32(data, b.ids[v]) })
	data, err := b.sendReceive(ctx, b.ranks-step, data, arena)
	if err != nil {
		return nil, err
	}
	table := mem.Make[uint32](arena, b.sizes[at])
	set := 8 * bitmap.Words(len(table))
	if len(data) < set {
		return nil, invalid(at, "%d bytes of ids", len(data))
	}
	known, ids := wire.Slice[uint64](data[:set]), wire.Slice[uint32](data[set:])
	if bitmap.Count(known) != len(ids) || len(table)&63 != 0 &&
		known[len(known)-1]>>(len(table)&63) != 0 {
		return nil, invalid(at, "%d ids for %d vertices", len(ids), bitmap.Count(known))
	}
	next := 0
	bitmap.Each(known, func(v uint32) {
		table[v] = ids[next]
		next++
	})
	if slices.ContainsFunc(ids, func(id uint32) bool { return int(id) >= b.g.N }) {
		return nil, invalid(at, "an id that is not below %d", b.g.N)
	}
	return table, nil
}

// total sets the graph's counts to those of the whole graph.
func (b *builder) total(ctx context.Context, g *graph.Graph) error {
	sums, err := collective.Combine(ctx, b.group, b.call(), collective.SumUint64, g.Arcs,
		uint64(b.loops), uint64(b.dropped))
	if err != nil {
		return err
	}
	g.Arcs, g.Loops, g.Dropped = sums[0], int(sums[1]), int(sums[2])
	least, err := collective.CombineOne(ctx, b.group, b.call(), collective.MinFloat64,
		math.Float64bits(g.LeastWeight))
	g.LeastWeight = math.Float64frombits(least)
	return err
}
