package experiment

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"time"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/figure"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// csr has a block's lists in CSR: a start for each vertex of its processor row, with or without a
// list.
type csr struct{ starts, dst []uint32 }

func (c *csr) row(v uint32) (lo, hi uint32) { return c.starts[v], c.starts[v+1] }

// bcsrLists compares CSR, with a start for each vertex, and BCSR, with a start for each vertex with
// edges (Nakao20, 3.1). It counts their sizes over all blocks, and measures how fast the lists of
// the first block are walked. The engine only has BCSR, so both forms are made from its lists.
func bcsrLists(ctx context.Context, b *bench) error {
	t := b.table("bcsr", append([]Column{
		{"grid", Plain, "of partitions"},
		{"vertices", Plain, "of a processor row, mean: n'C"},
		{"rows", Plain, "of them with edges in a block, mean: n'Cp"},
		{"neighbours", Plain, "in a block, mean: n'd"},
		{"csr", Bytes, "starts, of a block"},
		{"bcsr", Bytes, "starts, bits and ranks over the row's vertices, of a block"},
		{"here", Bytes, "as the engine has them, over slots, of a block"},
		{"heads", Bytes, "first neighbours apart, beside that"},
		{"csr_over_bcsr", Ratio, "neighbours included"},
		{"way", Plain, "pass: all lists in order; lookup: all lists in random order"},
		{"time_over_csr", Ratio, "of BCSR, " + byTurns},
	}, secondsColumns...)...)
	s, err := b.open(ctx, fmt.Sprintf("kronecker:scale=%d", b.Scale), 1)
	if err != nil {
		return err
	}
	defer s.close()
	panel := figure.Panel{
		Title:  "bytes of a block's starts, bits and ranks",
		X:      figure.Axis{Label: "partitions", Base: 2},
		Y:      figure.Axis{Base: 10, Text: Bytes.axis},
		Series: []figure.Series{{Name: "CSR", Style: figure.Styles[0]}, {Name: "BCSR", Style: figure.Styles[1]}, {Name: "here", Style: figure.Styles[2]}},
	}
	last := ""
	for side := 1; side*side<<8 <= 1<<b.Scale && side <= 32; side *= 2 {
		f, err := b.starts(ctx, s, t, graph.Grid{Rows: side, Columns: side})
		if err != nil {
			return err
		}
		for i, y := range []float64{f.csr, f.bcsr, f.here} {
			p := &panel.Series[i]
			p.Dots = append(p.Dots, figure.Point{X: float64(side * side), Y: y})
			p.Line = p.Dots
		}
		last = fmt.Sprintf("%dx%d: lists in CSR take %.2f times the memory of BCSR, and starts alone %.2f times; Nakao20, table 3, has 3068 MB / 1274 MB = 2.41 and 2048 MB / 254 MB = 8.1 on 64x32",
			side, side, (f.csr+f.dst)/(f.bcsr+f.dst), f.csr/f.bcsr)
	}
	b.find("%s", last)
	b.panel(panel)
	return nil
}

// footprint has sizes in bytes, means over blocks.
type footprint struct{ csr, bcsr, here, heads, dst, vertices, rows float64 }

func (b *bench) starts(
	ctx context.Context, s *source, t *Table, grid graph.Grid,
) (footprint, error) {
	g, err := s.build(ctx, graph.Options{Grid: grid})
	if err != nil {
		return footprint{}, err
	}
	defer g.Close()
	var f footprint
	p := float64(len(g.Parts))
	for _, part := range g.Parts {
		l := &part.Layout(pregel.Out).Blocks[0].Pull.ByReceiver.Lists
		n := rowVertices(part)
		rows := bitmap.Count(l.Bits)
		f.vertices += float64(n) / p
		f.rows += float64(rows) / p
		f.csr += float64(4*(n+1)) / p
		f.bcsr += float64(8*bitmap.Words(n)+4*(bitmap.Words(n)+1)+4*(rows+1)) / p
		f.here += float64(8*len(l.Bits)+4*len(l.Rank)+4*len(l.Starts)) / p
		f.heads += float64(4*len(l.Heads)) / p
		f.dst += float64(4*len(l.Adj)) / p
	}
	plain, packed := lists(g.Parts[0])
	shuffled := present(packed)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled),
		func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for _, w := range []struct {
		name        string
		plain, bcsr func() uint64
	}{
		{"pass", plain.pass, func() uint64 { return pass(packed) }},
		{"lookup", func() uint64 { return plain.lookup(shuffled) }, func() uint64 { return lookup(packed, shuffled) }},
	} {
		want := w.plain()
		timed := func(walk func() uint64) way {
			return func(ctx context.Context) (sample, error) {
				start := time.Now()
				got := walk()
				if got != want {
					return sample{}, fmt.Errorf("a walk of the lists finds %d, and %d", got, want)
				}
				return sample{seconds: time.Since(start).Seconds()}, ctx.Err()
			}
		}
		times, err := b.alternate(ctx, fmt.Sprintf("walking %v", grid),
			[]way{timed(w.plain), timed(w.bcsr)})
		if err != nil {
			return f, err
		}
		median, low, high := times[1].seconds()
		over, _, _ := times[1].over(times[0])
		t.add(grid.String(), f.vertices, f.rows, f.dst/4, f.csr, f.bcsr, f.here, f.heads,
			(f.csr+f.dst)/(f.bcsr+f.dst), w.name, over, median, low, high)
	}
	return f, nil
}

// rowVertices returns the number of vertices that the owners of a partition's processor row have.
// With 2^scale vertices, all owners have the same number.
func rowVertices(p *graph.Partition) int { return p.Owned * p.Grid.Columns }

// lists makes a block's lists in both forms, for the vertices of its processor row in the order of
// columns.
func lists(p *graph.Partition) (*csr, *kernel.Lists) {
	layout := p.Layout(pregel.Out)
	from := &layout.Blocks[0].Pull.ByReceiver.Lists
	n := rowVertices(p)
	slot := make([]uint32, n) // slot of the vertex, plus one; 0 means none
	bitmap.Each(from.Bits, func(s uint32) {
		q, local := p.Deal.Of(uint32(layout.Slots.ID(s)))
		at := p.Grid.Column(q)*p.Owned + int(local)
		slot[at] = s + 1
	})
	c := &csr{starts: make([]uint32, 1, n+1)}
	l := &kernel.Lists{Bits: make([]uint64, bitmap.Words(n)), Starts: []uint32{0}}
	for v, s := range slot {
		if s > 0 {
			lo, hi := from.Row(s - 1)
			c.dst = append(c.dst, from.Adj[lo:hi]...)
			bitmap.Set(l.Bits, uint32(v))
			l.Starts = append(l.Starts, uint32(len(c.dst)))
		}
		c.starts = append(c.starts, uint32(len(c.dst)))
	}
	l.Adj = c.dst
	rank := uint32(0)
	for _, word := range l.Bits {
		l.Rank = append(l.Rank, rank)
		rank += uint32(bits.OnesCount64(word))
	}
	l.Rank = append(l.Rank, rank)
	return c, l
}

// present returns the vertices with a list.
func present(l *kernel.Lists) (all []uint32) {
	bitmap.Each(l.Bits, func(v uint32) { all = append(all, v) })
	return all
}

// mark makes the result of a walk depend on each vertex's list.
func mark(v uint32, list []uint32) uint64 {
	sum := uint64(0)
	for _, x := range list {
		sum += uint64(x)
	}
	return sum ^ uint64(v)<<32
}

func (c *csr) pass() uint64 {
	sum := uint64(0)
	for v := range uint32(len(c.starts) - 1) {
		if lo, hi := c.row(v); lo < hi {
			sum += mark(v, c.dst[lo:hi])
		}
	}
	return sum
}

func pass(l *kernel.Lists) uint64 {
	sum, r := uint64(0), 0
	for w, word := range l.Bits {
		for ; word != 0; word &= word - 1 {
			v := uint32(w<<6 + bits.TrailingZeros64(word))
			sum += mark(v, l.Adj[l.Starts[r]:l.Starts[r+1]])
			r++
		}
	}
	return sum
}

func (c *csr) lookup(vertices []uint32) uint64 {
	sum := uint64(0)
	for _, v := range vertices {
		lo, hi := c.row(v)
		sum += mark(v, c.dst[lo:hi])
	}
	return sum
}

func lookup(l *kernel.Lists, vertices []uint32) uint64 {
	sum := uint64(0)
	for _, v := range vertices {
		lo, hi := l.Row(v)
		sum += mark(v, l.Adj[lo:hi])
	}
	return sum
}
