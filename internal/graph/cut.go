package graph

import (
	"cmp"
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// cutter makes the blocks of a 2D grid. An owner has the lists of neighbours' ids, by receiver.
// cutter cuts each list by the processor columns of the neighbours, and sends the pieces to the
// blocks of the owner's processor row.
//
//	owner (i,j), row v:   | 3 8 | 12 20 | 31 |   by the columns of the neighbours
//	                         |      |      |
//	block              (i,0)  (i,1)  (i,2), row v:  owned by (i,j), a ghost in the others
type cutter struct {
	a *Builder
	// parts has the partitions of this process, else nil, or those of their reversed arcs.
	parts []*Partition
	lists []*kernel.Lists
	// exchange sends messages to partitions of other processes.
	exchange Exchange
	// counts[q][c] has the lengths of the pieces for column c, by q's vertices. next[q][c] is the
	// position in the block's Adj of the next piece.
	counts [][][]uint32
	next   [][]uint32
}

// cut returns the blocks of the partitions of this process. It calls free when the lists are no
// longer needed.
func (c *cutter) cut(ctx context.Context, free func()) ([]*Block, error) {
	a, n := c.a, len(c.parts)
	c.counts, c.next = make([][][]uint32, n), make([][]uint32, n)
	blocks := make([]*Block, n)
	each := func(f func(p *Partition) error) error {
		return a.each(ctx, c.parts, "distributing the edges to the grid", f)
	}
	receivers := func(p *Partition) *Side { return blocks[p.Index].Receivers }
	senders := func(p *Partition) *Side { return blocks[p.Index].Senders }
	for _, step := range []func() error{
		func() error { return each(c.count) },
		func() error { return c.sendCounts(ctx) },
		func() error {
			return each(func(p *Partition) (err error) {
				blocks[p.Index], err = c.rows(p)
				return err
			})
		},
		func() error { return each(func(p *Partition) error { return c.fill(ctx, p, blocks) }) },
		func() error { return c.sendPieces(ctx, blocks) },
		func() error { free(); return nil },
		func() error {
			return each(
				func(p *Partition) error { return p.linkBlocks(ctx, a.tmp, blocks[p.Index]) })
		},
		func() error { return a.share(ctx, c.exchange, receivers, senders) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return blocks, each(func(p *Partition) error {
		b := blocks[p.Index]
		b.Senders.Ghosts, b.BySender = nil, p.transpose(ctx, b.ByReceiver)
		return nil
	})
}

// each calls f for the partitions of this process, on the goroutines of the team, until ctx ends.
// It returns the error of the first partition that has one.
func (a *Builder) each(
	ctx context.Context, parts []*Partition, stage string, f func(p *Partition) error,
) error {
	failed := make([]error, len(parts))
	a.team.For(len(parts), 1, func(_, i, _ int) {
		if p := parts[i]; p != nil && ctx.Err() == nil {
			failed[i] = f(p)
		}
	})
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", stage, context.Cause(ctx))
	}
	return cmp.Or(failed...)
}

// column returns the processor column of a vertex's owner.
func (c *cutter) column(id uint32) uint32 {
	q, _ := c.a.g.Deal.Of(id)
	return uint32(c.a.o.Grid.Column(q))
}

// count counts the lengths of the pieces of an owner's lists.
func (c *cutter) count(p *Partition) error {
	counts := make([][]uint32, p.Grid.Columns)
	for j := range counts {
		counts[j] = mem.Make[uint32](c.a.tmp, p.Owned)
	}
	l := c.lists[p.Index]
	bitmap.Each(l.Bits, func(v uint32) {
		lo, hi := l.Row(v)
		for _, id := range l.Adj[lo:hi] {
			counts[c.column(id)][v]++
		}
	})
	c.counts[p.Index] = counts
	return nil
}

// rows makes the receivers' side of a block, and its lists without neighbours. First come the owned
// vertices' rows. Then, for each other owner in the processor row, the rows of its vertices that
// have a piece in this block.
func (c *cutter) rows(p *Partition) (*Block, error) {
	column := p.Grid.Column(p.Index)
	seen := make([][]uint64, p.Of)
	arcs := 0
	for _, n := range c.counts[p.Index][column] {
		arcs += int(n)
	}
	for _, q := range p.Row {
		set := mem.Make[uint64](p.graph.arena, bitmap.Words(p.Deal.Owned(p.graph.N, q)))
		for v, n := range c.counts[q][column] {
			if n > 0 {
				bitmap.Set(set, uint32(v))
				arcs += int(n)
			}
		}
		seen[q] = set
	}
	if err := checkArcs(arcs); err != nil {
		return nil, err
	}
	receivers, err := p.side(p.Row, seen, p.graph.arena)
	if err != nil {
		return nil, err
	}
	b := &Block{Receivers: receivers}
	lengths := mem.Make[uint32](c.a.tmp, p.Slots)
	total := uint32(0)
	take := func(q, start int, local, position uint32) {
		n := c.counts[q][column][local]
		lengths[start+int(position)] = n
		total += n
	}
	c.next[p.Index] = make([]uint32, p.Of)
	for v := range p.Owned {
		take(p.Index, 0, uint32(v), uint32(v))
	}
	for q, group := range b.Receivers.Groups {
		if seen[q] == nil {
			continue
		}
		c.next[p.Index][q] = total
		position := uint32(0)
		bitmap.Each(seen[q], func(local uint32) {
			take(q, int(group.Start), local, position)
			position++
		})
	}
	b.ByReceiver = &Adjacency{Lists: bcsr(p.graph.arena, lengths,
		mem.Make[uint32](p.graph.arena, arcs))}
	makeWeights(p.graph.arena, &b.ByReceiver.Lists, p.graph.Weights)
	return b, nil
}

// fill copies the pieces of an owner's lists to the blocks of its row that are in this
// process. In a block, the rows of an owner are consecutive.
func (c *cutter) fill(ctx context.Context, p *Partition, blocks []*Block) error {
	c.eachPiece(ctx, p, true, dealtArcs, func(q int, k *piece) bool {
		to, at := &blocks[q].ByReceiver.Lists, int(c.next[q][p.Index]+k.first)
		copy(to.Adj[at:], k.ids)
		weightsOf(to).Copy(at, k.weights)
		return true
	})
	return nil
}

// linkBlocks makes the senders' sides of blocks, and converts the ids in their lists to slots. The
// ghosts by owner are in tmp; share sends them to the owners.
func (p *Partition) linkBlocks(ctx context.Context, tmp *mem.Arena, blocks ...*Block) error {
	var sides []*Side
	for _, b := range blocks {
		var err error
		seen := p.seen(ctx, b.ByReceiver, p.Column, tmp)
		if b.Senders, err = p.side(p.Column, seen, tmp); err != nil {
			return err
		}
		sides = append(sides, b.Receivers, b.Senders)
	}
	p.setGhosts(p.graph.arena, sides...)
	for _, b := range blocks {
		if err := p.relabel(ctx, b.ByReceiver, b.Senders); err != nil {
			return err
		}
		p.index(b.ByReceiver)
	}
	return nil
}

// index makes the data for pulls along lists by receiver: the heads of rows, and chunks.
func (p *Partition) index(a *Adjacency) {
	a.Rising = p.Of == 1
	a.heads(p.graph.arena)
	a.chunk(p.Words(), len(a.Bits))
}

// cut cuts the lists of in-edges into the blocks of a 2D grid or, if reversed is set, the lists of
// out-edges, which the senders' owners have, into blocks of reversed arcs. The senders are the
// receivers of reversed arcs.
func (a *Builder) cut(ctx context.Context, exchange Exchange, reversed bool) error {
	n, arena := len(a.g.Parts), a.lists
	c := &cutter{a: a, parts: make([]*Partition, n), exchange: exchange}
	c.lists = make([]*kernel.Lists, n)
	for p := range a.g.here() {
		if reversed {
			p.reversedPart, arena = p.newReversedPart(), a.outLists
			c.parts[p.Index], c.lists[p.Index] = p.reversedPart, &p.Out.Lists
		} else {
			p.begin(a.o.Grid)
			c.parts[p.Index], c.lists[p.Index] = p, &p.In.Lists
		}
	}
	blocks, err := c.cut(ctx, arena.Close)
	if err != nil {
		return err
	}
	for p := range a.g.here() {
		b := Blocks{blocks[p.Index], blocks[p.Index]}
		if reversed {
			p.Out, p.reversedPart.reversed = nil, b
		} else if p.In, p.along = nil, b; !a.g.Directed {
			p.Out = nil
		}
	}
	return nil
}
