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
	tiles := make([]*tile, v.ranks.size())
	for q := range tiles {
		tiles[q] = &tile{per: uint64(v.per), weighted: v.weighted}
		v.tiles, v.free = append(v.tiles, tiles[q]), append(v.free, tiles[q].free)
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
			if err = list.Read(i, &b); err != nil {
				err = fmt.Errorf("read block %d of the edge list: %w", i, err)
			} else {
				err = v.post(&b, first+i*edges.BlockSize, out)
			}
		}
		in, broken := collective.AlltoallOf(ctx, v.ranks.group, v.ranks.bulk(), out)
		if broken != nil {
			return broken
		}
		for q, records := range in {
			if e := v.take(records, tiles); e != nil && err == nil {
				err = fmt.Errorf("from rank %d: %w", q, e)
			}
		}
	}
	for _, t := range tiles {
		t.write()
	}
	return v.ranks.firstError(ctx, err)
}

func (v *Validator) outOfRange(tuple int, x, y uint64) error {
	return fmt.Errorf("tuple %d of the edge list joins %d and %d: the graph has %d vertices",
		tuple, x, y, v.n)
}

// post adds a block's tuples to the data for each rank. first is the number of the block's first
// tuple.
func (v *Validator) post(b *edges.Block, first int, out [][]uint32) error {
	n, per := uint64(v.n), uint32(v.per)
	for j, x := range b.U[:b.N] {
		y := b.V[j]
		if x >= n || y >= n {
			return v.outOfRange(first+j, x, y)
		}
		if x == y {
			continue
		}
		x, y := home(x, y)
		q := uint32(x) / per
		out[q] = append(out[q], uint32(x)-q*per, uint32(y))
		if v.weighted {
			out[q] = append(out[q], math.Float32bits(float32(b.W[j])))
		}
	}
	return nil
}

// take writes received tuples into their tiles.
func (v *Validator) take(records []uint32, tiles []*tile) error {
	width := 2
	if v.weighted {
		width = 3
	}
	if len(records)%width != 0 {
		return fmt.Errorf("found %d words, expected a multiple of %d", len(records), width)
	}
	per, own := uint32(v.per), uint32(len(v.own.depth))
	for ; len(records) > 0; records = records[width:] {
		x, y := records[0], records[1]
		if x >= own || uint64(y) >= uint64(v.n) {
			return fmt.Errorf(
				"a tuple of vertices %d and %d, expected them below %d and %d", x, y, own, v.n)
		}
		w := float32(0)
		if v.weighted {
			w = math.Float32frombits(records[2])
		}
		tiles[y/per].add(x, y%per, w)
	}
	return nil
}

// chunkBlocks is the number of blocks in a chunk of a tile. With many ranks most tiles have few
// tuples, so chunks are small.
const chunkBlocks = 32

// tile is a list that grows by chunks. The last block of the last chunk may be padded.
type tile struct {
	per      uint64 // greater than any endpoint
	weighted bool
	chunks   []*edges.Packed
	n        int         // number of tuples
	last     edges.Block // the last n % BlockSize tuples, until write
}

func (t *tile) Len() int       { return t.n }
func (t *tile) Weighted() bool { return t.weighted }

func (t *tile) Read(i int, b *edges.Block) error {
	err := t.chunks[i/chunkBlocks].Read(i%chunkBlocks, b)
	b.N = min(edges.BlockSize, t.n-i*edges.BlockSize)
	return err
}

func (t *tile) add(u, v uint32, weight float32) {
	b, i := &t.last, t.n%edges.BlockSize
	b.U[i], b.V[i], b.W[i] = uint64(u), uint64(v), float64(weight)
	if t.n++; t.n%edges.BlockSize == 0 {
		t.write()
	}
}

// write stores the last block.
func (t *tile) write() {
	i := edges.Blocks(t) - 1
	if i < 0 {
		return
	}
	if i == len(t.chunks)*chunkBlocks {
		weights := edges.Unweighted
		if t.weighted {
			weights = edges.Float32
		}
		t.chunks = append(t.chunks, edges.NewPacked(t.per, chunkBlocks*edges.BlockSize, weights))
	}
	t.last.N = edges.BlockSize
	t.chunks[i/chunkBlocks].Write(i%chunkBlocks, &t.last)
}

func (t *tile) free() {
	for _, c := range t.chunks {
		c.Close()
	}
}
