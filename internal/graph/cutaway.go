package graph

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/wire"
)

// This file has the messages between owners and blocks of a processor row in different processes:
// first the lengths of the pieces of lists, then the pieces.

// sendCounts sends the lengths of pieces to the blocks of a row.
func (c *cutter) sendCounts(ctx context.Context) error {
	var data []byte
	send := func(yield func(Message) bool) {
		for q := range here(c.parts) {
			for _, p := range q.Row {
				if c.parts[p] == nil {
					data = AppendCounts(data[:0], c.counts[q.Index][q.Grid.Column(p)])
					if !yield(Message{q.Index, p, data}) {
						return
					}
				}
			}
		}
	}
	err := c.exchange(ctx, send, func(m Message) error {
		p, err := c.addressee(m)
		if err != nil {
			return err
		}
		if c.counts[m.From] == nil {
			c.counts[m.From] = make([][]uint32, p.Grid.Columns)
		}
		counts := mem.Make[uint32](c.a.tmp, p.Deal.Owned(c.a.g.N, m.From))
		rest, err := ReadCounts(m.Data, len(counts), func(i int, n uint32) { counts[i] = n })
		if err != nil || len(rest) > 0 {
			return fmt.Errorf("lengths from partition %d to %d, %d bytes too many: %w", m.From,
				m.To, len(rest), err)
		}
		c.counts[m.From][p.Grid.Column(p.Index)] = counts
		return nil
	})
	if err != nil {
		return err
	}
	for p := range here(c.parts) {
		for _, q := range p.Row {
			if c.counts[q] == nil || c.counts[q][p.Grid.Column(p.Index)] == nil {
				return fmt.Errorf("partition %d has no lengths from %d: %w", p.Index, q, errMessage)
			}
		}
	}
	return nil
}

// addressee returns the receiving partition of a message. The sender must be in the same row and in
// another process.
func (c *cutter) addressee(m Message) (*Partition, error) {
	if m.To < 0 || m.To >= len(c.parts) || c.parts[m.To] == nil ||
		!slices.Contains(c.parts[m.To].Row, m.From) || c.parts[m.From] != nil {
		return nil, fmt.Errorf("a message from partition %d to %d: %w", m.From, m.To, errMessage)
	}
	return c.parts[m.To], nil
}

// pieceArcs is the largest number of arcs in a message. dealtArcs is the number of arcs that are
// copied at a time to a block in this process: each thread buffers that many for each processor
// column.
const pieceArcs, dealtArcs = 1 << 16, 1 << 10

// piece has consecutive arcs of an owner's lists for one block.
type piece struct {
	first   uint32 // position among all of the owner's arcs for the block
	ids     []uint32
	weights WeightColumn
}

// sendPieces sends the pieces to the blocks in other processes, as messages of many arcs.
//
//	| number of the first arc (4) | id (4) ... | weight ... |
func (c *cutter) sendPieces(ctx context.Context, blocks []*Block) error {
	var data []byte
	send := func(yield func(Message) bool) {
		for q := range here(c.parts) {
			if !c.eachPiece(ctx, q, false, pieceArcs, func(p int, k *piece) bool {
				data = binary.LittleEndian.AppendUint32(data[:0], k.first)
				data = k.weights.Encode(append(data, wire.Bytes(k.ids)...))
				return yield(Message{q.Index, p, data})
			}) {
				return
			}
		}
	}
	came := map[[2]int]int{}
	err := c.exchange(ctx, send, func(m Message) error {
		p, err := c.addressee(m)
		if err != nil {
			return err
		}
		n, err := c.place(m, &blocks[m.To].ByReceiver.Lists, c.next[m.To][m.From],
			c.length(p, m.From))
		came[[2]int{m.From, m.To}] += int(n)
		return err
	})
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for p := range here(c.parts) {
		for _, q := range p.Row {
			if got := came[[2]int{q, p.Index}]; c.parts[q] == nil && got != int(c.length(p, q)) {
				return fmt.Errorf("received %d arcs from partition %d to %d, expected %d: %w",
					got, q, p.Index, c.length(p, q), errMessage)
			}
		}
	}
	return nil
}

// length returns the number of arcs from q's lists in a block. It fits into 32 bits, because rows
// has checked the total.
func (c *cutter) length(p *Partition, q int) uint32 {
	sum := uint32(0)
	for _, n := range c.counts[q][p.Grid.Column(p.Index)] {
		sum += n
	}
	return sum
}

// eachPiece calls f with the arcs of an owner's lists for blocks in this process, or for blocks in
// other processes. Each call has at most most arcs. It ends when f returns false.
func (c *cutter) eachPiece(
	ctx context.Context, q *Partition, here bool, most int, f func(p int, k *piece) bool,
) bool {
	l := c.lists[q.Index]
	weights := weightsOf(l)
	pieces := make([]piece, q.Grid.Columns)
	at := func(column int) int { return q.Grid.At(q.Grid.Row(q.Index), column) }
	flush := func(column int) bool {
		k := &pieces[column]
		if len(k.ids) == 0 {
			return true
		}
		ok := f(at(column), k)
		k.first += uint32(len(k.ids))
		k.ids = k.ids[:0]
		k.weights.Reset()
		return ok
	}
	for i, id := range l.Adj {
		column := int(c.column(id))
		if (c.parts[at(column)] != nil) != here {
			continue
		}
		k := &pieces[column]
		k.ids = append(k.ids, id)
		k.weights.Append(c.a.g.Weights, weights.At(i))
		if len(k.ids) == most && (ctx.Err() != nil || !flush(column)) {
			return false
		}
	}
	for column := range pieces {
		if !flush(column) {
			return false
		}
	}
	return true
}

// place writes a message's arcs into a block's lists, from start on. There is room for room arcs.
func (c *cutter) place(m Message, to *kernel.Lists, start, room uint32) (uint32, error) {
	size := 4 + WeightBytes(c.a.g.Weights)
	wrong := fmt.Errorf("arcs from partition %d to %d: %w", m.From, m.To, errMessage)
	if len(m.Data) < 4 || (len(m.Data)-4)%size != 0 {
		return 0, wrong
	}
	first, n := binary.LittleEndian.Uint32(m.Data), uint32((len(m.Data)-4)/size)
	if uint64(first)+uint64(n) > uint64(room) {
		return 0, wrong
	}
	ids, column := wire.Slice[uint32](m.Data[4:4+4*n]), uint32(c.a.o.Grid.Column(m.To))
	for _, id := range ids {
		if int(id) >= c.a.g.N || c.column(id) != column {
			return 0, wrong
		}
	}
	copy(to.Adj[start+first:], ids)
	weightsOf(to).Copy(int(start+first), DecodeWeights(c.a.g.Weights, m.Data[4+4*n:]))
	return n, nil
}
