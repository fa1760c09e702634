package validate

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/wire"
)

// rules check the tuples of a tile.
type rules struct {
	// check checks a block of the tile of c's rank. It returns the number of its tuples in the
	// tree's component, and the position of the first wrong tuple or -1.
	check func(sc *scratch, c *vertexState) (count, bad int)
	// judge returns the error in a tuple that check rejected.
	judge func(a, b *vertexState, x, y uint64, weight float64) *Violation
}

// round checks all tiles while the states go round the ring of ranks. A state is the parents and
// own; other is the memory in which own is received. It returns the number of tuples in the tree's
// component.
func (v *Validator) round(ctx context.Context, own, other []byte, r rules) (int64, error) {
	total, bad := int64(0), error(nil)
	err := collective.Both(ctx, func(within context.Context) error {
		return v.sendState(within, own)
	}, func(within context.Context) (err error) {
		for k := range v.ranks.size() {
			q, c := (v.ranks.rank()+k)%v.ranks.size(), &v.own
			if k > 0 {
				if c, err = v.receiveState(within, q, other); err != nil {
					return err
				}
			}
			if bad == nil {
				var count int64
				count, bad = v.tile(ctx, q, c, r)
				total += count
			}
			if k > 0 {
				if err := v.returnConfirmed(within, k, c); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if err := v.ranks.firstError(ctx, bad); err != nil {
		return 0, err
	}
	sum, err := v.ranks.sum(ctx, uint64(total))
	return int64(sum), err
}

// sendState sends the own state to each other rank, in the order in which they need it.
func (v *Validator) sendState(ctx context.Context, second []byte) error {
	ranks := v.ranks.size()
	for k := 1; k < ranks; k++ {
		to := (v.ranks.rank() - k + ranks) % ranks
		for _, data := range [][]byte{wire.Bytes(v.own.parent), second} {
			if err := v.ranks.send(ctx, to, v.ranks.tag+1, data); err != nil {
				return err
			}
		}
	}
	return nil
}

// receiveState receives the state of rank q in the memory of v.other; second is a part of it.
func (v *Validator) receiveState(ctx context.Context, q int, second []byte) (*vertexState, error) {
	n := v.size(q)
	c := &vertexState{
		base: uint64(v.per) * uint64(q), parent: v.other.parent[:n], depth: v.other.depth[:n],
		dist: v.other.dist[:n],
		tags: v.other.tags[:n], confirmed: v.other.confirmed[:bitmap.Words(n)],
	}
	clear(c.confirmed)
	for _, into := range [][]byte{wire.Bytes(c.parent), second[:len(second)/v.per*n]} {
		if err := v.ranks.receive(ctx, q, v.ranks.tag+1, into); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// returnConfirmed sends the confirmations for c's vertices to their rank, and receives those from
// the rank that had the own state in step k.
func (v *Validator) returnConfirmed(ctx context.Context, k int, c *vertexState) error {
	ranks := v.ranks.size()
	to, from := (v.ranks.rank()+k)%ranks, (v.ranks.rank()-k+ranks)%ranks
	back := v.back[:bitmap.Words(len(v.own.depth))]
	err := collective.Both(ctx, func(ctx context.Context) error {
		return v.ranks.send(ctx, to, v.ranks.tag+2, wire.Bytes(c.confirmed))
	}, func(ctx context.Context) error {
		return v.ranks.receive(ctx, from, v.ranks.tag+2, wire.Bytes(back))
	})
	for i, word := range back {
		v.own.confirmed[i] |= word
	}
	return err
}

// tile checks the tile of rank q, whose state is c, and returns the number of its tuples in the
// tree's component.
func (v *Validator) tile(ctx context.Context, q int, c *vertexState, r rules) (int64, error) {
	var f parallel.First
	list := v.tiles[q]
	var total atomic.Int64
	v.team.For(edges.Blocks(list), blockGrain, func(worker, lo, hi int) {
		sc, sum := &v.scratch[worker], 0
		if ctx.Err() != nil {
			f.Report(lo, context.Cause(ctx))
			return
		}
		for i := lo; i < hi && !f.Before(i); i++ {
			if err := list.Read(i, &sc.Block); err != nil {
				f.Report(i, fmt.Errorf("read block %d of the edge list: %w", i, err))
				break
			}
			count, bad := r.check(sc, c)
			if bad >= 0 {
				f.Report(i, v.fault(i, bad, sc, c, r))
				break
			}
			sum += count
		}
		total.Add(int64(sum))
	})
	return total.Load(), f.Err()
}

// fault returns the error in a tuple of a block of a tile. Only on a single rank a tuple may have
// vertices that do not exist.
func (v *Validator) fault(block, bad int, s *scratch, c *vertexState, r rules) error {
	x, y := s.U[bad], s.V[bad]
	if x >= uint64(len(v.own.depth)) || y >= uint64(len(c.parent)) {
		return v.outOfRange(block*edges.BlockSize+bad, x, y)
	}
	return r.judge(&v.own, c, x, y, s.W[bad])
}
