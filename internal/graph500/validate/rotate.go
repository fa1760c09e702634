package validate

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/wire"
)

// checkTile checks a block of the tile of c's rank, and returns the number of its tuples in the tree's component, and the
// position of the first at fault or -1; judgeTile then says what is wrong with that tuple.
type (
	checkTile func(sc *scratch, c *columns) (count, bad int)
	judgeTile func(a, b *columns, x, y uint64, weight float64) *Violation
)

// round checks all tiles while the columns go round: the parents, and own, which is received in other.
func (s *Spread) round(ctx context.Context, own, other []byte, check checkTile, judge judgeTile) (int64, error) {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	sent := make(chan error, 1)
	go func() {
		err := s.sendColumns(within, own)
		if err != nil {
			cancel()
		}
		sent <- err
	}()
	total, bad, err := int64(0), error(nil), error(nil)
	for k := 0; k < s.talk.ranks() && err == nil; k++ {
		q := (s.talk.rank() + k) % s.talk.ranks()
		c := &s.own
		if k > 0 {
			if c, err = s.receiveColumns(within, q, other); err != nil {
				break
			}
		}
		if bad == nil {
			var count int64
			count, bad = s.tile(ctx, q, c, check, judge)
			total += count
		}
		if k > 0 {
			err = s.returnConfirmed(within, k, c)
		}
	}
	if err != nil {
		cancel()
	}
	// The cause is the error that did not come from the other's cancel.
	if e := <-sent; e != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = e
	}
	if err != nil {
		return 0, err
	}
	if err := s.talk.verdict(ctx, bad); err != nil {
		return 0, err
	}
	sum, err := s.talk.sum(ctx, uint64(total))
	return int64(sum), err
}

// sendColumns sends the own columns to each other rank, in the order in which those need them.
func (s *Spread) sendColumns(ctx context.Context, second []byte) error {
	ranks := s.talk.ranks()
	for k := 1; k < ranks; k++ {
		to := (s.talk.rank() - k + ranks) % ranks
		for _, data := range [][]byte{wire.Bytes(s.own.parent), second} {
			if err := s.talk.send(ctx, to, s.talk.tag+1, data); err != nil {
				return err
			}
		}
	}
	return nil
}

// receiveColumns returns the columns of rank q, in the memory of s.other, which second is a part of.
func (s *Spread) receiveColumns(ctx context.Context, q int, second []byte) (*columns, error) {
	n := s.size(q)
	c := &columns{
		base: uint64(s.per) * uint64(q), parent: s.other.parent[:n], depth: s.other.depth[:n], dist: s.other.dist[:n],
		tags: s.other.tags[:n], confirmed: s.other.confirmed[:bitmap.Words(n)],
	}
	clear(c.confirmed)
	for _, into := range [][]byte{wire.Bytes(c.parent), second[:len(second)/s.per*n]} {
		if err := s.talk.receive(ctx, q, s.talk.tag+1, into); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// returnConfirmed tells the rank of c what was confirmed of its vertices, and takes in what the rank that had the own
// columns in step k confirmed.
func (s *Spread) returnConfirmed(ctx context.Context, k int, c *columns) error {
	ranks := s.talk.ranks()
	to, from := (s.talk.rank()+k)%ranks, (s.talk.rank()-k+ranks)%ranks
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	sent := make(chan error, 1)
	go func() { sent <- s.talk.send(within, to, s.talk.tag+2, wire.Bytes(c.confirmed)) }()
	back := s.back[:bitmap.Words(len(s.own.depth))]
	err := s.talk.receive(ctx, from, s.talk.tag+2, wire.Bytes(back))
	if err != nil {
		cancel()
	}
	if e := <-sent; err == nil {
		err = e
	}
	for i, word := range back {
		s.own.confirmed[i] |= word
	}
	return err
}

// tile checks the tile of rank q, whose columns c are, and returns the number of its tuples in the tree's component.
func (s *Spread) tile(ctx context.Context, q int, c *columns, check checkTile, judge judgeTile) (int64, error) {
	f := newFirst()
	list := s.tiles[q]
	var total atomic.Int64
	s.team.For(edges.Blocks(list), blockGrain, func(worker, lo, hi int) {
		sc, sum := &s.scratch[worker], 0
		if ctx.Err() != nil {
			f.report(lo, context.Cause(ctx))
			return
		}
		for i := lo; i < hi && !f.passed(i); i++ {
			_ = list.Read(i, &sc.Block) // which never fails: it is in memory
			count, bad := check(sc, c)
			if bad >= 0 {
				f.report(i, s.tileFault(sc.U[bad], sc.V[bad], sc.W[bad], c, judge))
				break
			}
			sum += count
		}
		total.Add(int64(sum))
	})
	return total.Load(), f.err
}

func (s *Spread) tileFault(x, y uint64, weight float64, c *columns, judge judgeTile) error {
	if x >= uint64(len(s.own.depth)) || y >= uint64(len(c.parent)) {
		return fmt.Errorf("a tile has an edge of vertices %d and %d, of %d and %d", x, y, len(s.own.depth), len(c.parent))
	}
	return judge(&s.own, c, x, y, weight)
}
