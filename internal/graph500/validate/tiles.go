package validate

import (
	"context"
	"fmt"
	"math"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
)

// dealt is the number of blocks of the list that a rank distributes between two exchanges.
const dealt = 32

// home returns the endpoints of a tuple, first the one whose rank gets the tuple. It chooses by a
// hash, so half of a hub's tuples go to other ranks.
func home(u, v uint64) (uint64, uint64) {
	if (u+v)*0x9e3779b97f4a7c15>>63 != 0 {
		return v, u
	}
	return u, v
}

// deal sends every tuple to its tile, except loops, which no rule concerns. A tuple is sent as its
// first endpoint, relative to the receiving rank's range, its other endpoint, and its weight if
// there are weights.
func (v *Validator) deal(ctx context.Context, list edges.List, first int) error {
	counts, err := v.count(ctx, list, first)
	if err := v.ranks.firstError(ctx, err); err != nil {
		return err
	}
	writers, err := v.open(ctx, counts)
	if err := v.ranks.firstError(ctx, err); err != nil {
		return err
	}
	blocks := edges.Blocks(list)
	rounds, err := v.ranks.most(ctx, uint64((blocks+dealt-1)/dealt))
	if err != nil {
		return err
	}
	out := make([][]uint32, v.ranks.size())
	var b edges.Block
	for round := range int(rounds) {
		for q := range out {
			out[q] = out[q][:0]
		}
		for i := round * dealt; i < min((round+1)*dealt, blocks) && err == nil; i++ {
			if err = list.Read(i, &b); err == nil {
				v.post(&b, out)
			}
		}
		in, broken := collective.AlltoallOf(ctx, v.ranks.group, v.ranks.bulk(), out)
		if broken != nil {
			return broken
		}
		for q, records := range in {
			if e := v.take(records, writers); e != nil && err == nil {
				err = fmt.Errorf("from rank %d: %w", q, e)
			}
		}
	}
	for q := range writers {
		if e := writers[q].close(); e != nil && err == nil {
			err = fmt.Errorf("tile %d: %w", q, e)
		}
	}
	return v.ranks.firstError(ctx, err)
}

// count returns the number of local tuples for each tile, first those of rank 0.
func (v *Validator) count(ctx context.Context, list edges.List, first int) ([]uint64, error) {
	ranks := uint64(v.ranks.size())
	counts := make([]uint64, ranks*ranks)
	var b edges.Block
	for i := range edges.Blocks(list) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := list.Read(i, &b); err != nil {
			return nil, fmt.Errorf("read block %d of the edge list: %w", i, err)
		}
		for j, x := range b.U[:b.N] {
			y := b.V[j]
			if n := uint64(v.n); x >= n || y >= n {
				return nil, v.outOfRange(first+i*edges.BlockSize+j, x, y)
			}
			if x != y {
				x, y = home(x, y)
				counts[x/uint64(v.per)*ranks+y/uint64(v.per)]++
			}
		}
	}
	return counts, nil
}

func (v *Validator) outOfRange(tuple int, x, y uint64) error {
	return fmt.Errorf("tuple %d of the edge list joins %d and %d: the graph has %d vertices",
		tuple, x, y, v.n)
}

// open makes the tiles of this rank, large enough for the tuples of all ranks.
func (v *Validator) open(ctx context.Context, counts []uint64) ([]tileWriter, error) {
	ranks := v.ranks.size()
	out := make([][]uint64, ranks)
	for q := range out {
		out[q] = counts[q*ranks : (q+1)*ranks]
	}
	in, err := collective.AlltoallOf(ctx, v.ranks.group, v.ranks.bulk(), out)
	if err != nil {
		return nil, err
	}
	weights := edges.Unweighted
	if v.weighted {
		weights = edges.Float32
	}
	v.tiles = make([]edges.List, ranks)
	writers := make([]tileWriter, ranks)
	for q := range v.tiles {
		total := uint64(0)
		for from, counts := range in {
			if len(counts) != ranks {
				return nil, fmt.Errorf("rank %d counts tuples of %d tiles, expected %d", from,
					len(counts), ranks)
			}
			total += counts[q]
		}
		if total > math.MaxInt64/64 {
			return nil, fmt.Errorf("tile %d of %d tuples", q, total)
		}
		tile := edges.NewPacked(uint64(v.per), int(total), weights)
		v.tiles[q], writers[q].list, v.free = tile, tile, append(v.free, tile.Close)
	}
	return writers, nil
}

// post adds a block's tuples to the data for each rank.
func (v *Validator) post(b *edges.Block, out [][]uint32) {
	per := uint32(v.per)
	for j, x := range b.U[:b.N] {
		x, y := home(x, b.V[j])
		if x == y {
			continue
		}
		q := uint32(x) / per
		if v.weighted {
			out[q] = append(out[q], uint32(x)-q*per, uint32(y), math.Float32bits(float32(b.W[j])))
		} else {
			out[q] = append(out[q], uint32(x)-q*per, uint32(y))
		}
	}
}

// take writes received tuples into their tiles.
func (v *Validator) take(records []uint32, writers []tileWriter) error {
	width := 2
	if v.weighted {
		width = 3
	}
	if len(records)%width != 0 {
		return fmt.Errorf("found %d words, expected a multiple of %d", len(records), width)
	}
	per := uint32(v.per)
	own := uint32(len(v.own.depth))
	for ; len(records) > 0; records = records[width:] {
		x, y := records[0], records[1]
		if x >= own || uint64(y) >= uint64(v.n) {
			return fmt.Errorf(
				"a tuple of vertices %d and %d, expected them below %d and %d", x, y, own, v.n)
		}
		q := y / per
		w := float32(0)
		if v.weighted {
			w = math.Float32frombits(records[2])
		}
		if err := writers[q].add(x, y-q*per, w); err != nil {
			return err
		}
	}
	return nil
}

// tileWriter writes a tile.
type tileWriter struct {
	list *edges.Packed
	full int // number of full blocks
	b    edges.Block
}

func (w *tileWriter) add(u, v uint32, weight float32) error {
	b := &w.b
	if w.full*edges.BlockSize+b.N == w.list.Len() {
		return fmt.Errorf("received more than the %d announced tuples", w.list.Len())
	}
	b.U[b.N], b.V[b.N], b.W[b.N] = uint64(u), uint64(v), float64(weight)
	if b.N++; b.N == edges.BlockSize {
		w.list.Write(w.full, b)
		w.full++
		b.N = 0
	}
	return nil
}

func (w *tileWriter) close() error {
	if n := w.full*edges.BlockSize + w.b.N; n != w.list.Len() {
		return fmt.Errorf("received %d of the %d announced tuples", n, w.list.Len())
	}
	if w.b.N > 0 {
		w.list.Write(w.full, &w.b)
	}
	return nil
}
