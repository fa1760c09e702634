package graph

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
)

// MaxVertices is the largest number of vertices: it keeps slots, padding included, in 32 bits.
const MaxVertices = 1<<32 - 1<<20

// MaxPartitions is the largest number of partitions in one process.
const MaxPartitions = 4096

// builder carries a graph from pass to pass. What is in tmp is given back as soon as it is not needed, so that the edge
// list and one copy of the adjacency is all that is large at any time.
type builder struct {
	assembler
	list   edges.List
	labels edges.Labels

	uniqueArena mem.Arena
	raw, unique degrees // with and without duplicates
	loops       int
	dropped     atomic.Int64
	duplicate   atomic.Pointer[[2]uint64] // the least that was found
}

// Build makes a graph of an input. The input's tuples are read in several passes, and left as they are: to find the
// number of vertices, if the input does not tell it; to count degrees; to find duplicates, if they matter; and to fill
// the lists, once for each direction of a directed graph.
func Build(ctx context.Context, in *edges.Input, o Options) (*Graph, error) {
	if err := o.place(); err != nil {
		return nil, err
	}
	if err := o.validate(in); err != nil {
		return nil, err
	}
	g := &Graph{Name: in.Name, N: in.Vertices, Directed: in.Directed, Labels: in.Labels, Tuples: in.Edges.Len()}
	b := &builder{assembler: newAssembler(g, o), list: in.Edges, labels: in.Labels}
	b.uniqueArena.Meter = o.Meter
	built := false
	defer func() {
		b.uniqueArena.Close()
		b.end(built)
	}()
	if err := b.build(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	built = true
	return g, nil
}

// place settles how many partitions there are, and in which grid.
func (o *Options) place() error {
	if o.Grid == (Grid{}) {
		o.Grid = Of(max(o.Partitions, 1))
	}
	if o.Grid.Rows < 1 || o.Grid.Columns < 1 {
		return fmt.Errorf("a grid of %v: each side must be 1 or more", o.Grid)
	}
	if o.Partitions != 0 && o.Partitions != o.Grid.Partitions() {
		return fmt.Errorf("%d partitions in a grid of %v, which has %d", o.Partitions, o.Grid, o.Grid.Partitions())
	}
	o.Partitions = o.Grid.Partitions()
	return nil
}

func (o Options) validate(in *edges.Input) error {
	var errs []error
	if int(o.Duplicates) >= len(duplicates) {
		errs = append(errs, fmt.Errorf("there is no way %d with duplicates", o.Duplicates))
	}
	if o.Partitions > MaxPartitions {
		errs = append(errs, fmt.Errorf("%d partitions: at most %d in one process", o.Partitions, MaxPartitions))
	}
	if in.Vertices > MaxVertices {
		errs = append(errs, fmt.Errorf("%s: %w", in.Name, TooManyVertices(uint64(in.Vertices))))
	}
	if o.Weights != edges.Unweighted && !in.Edges.Weighted() && !o.UnitWeights {
		errs = append(errs, fmt.Errorf("%s: the edges have no weights", in.Name))
	}
	return errors.Join(errs...)
}

func (b *builder) build(ctx context.Context) error {
	g := b.g
	if err := b.discover(ctx); err != nil {
		return err
	}
	if b.g.N > MaxVertices {
		return TooManyVertices(uint64(b.g.N))
	}
	if err := b.fits(); err != nil {
		return err
	}
	if err := b.count(ctx); err != nil {
		return err
	}
	g.Loops = b.loops
	b.unique = b.raw
	if b.o.Duplicates != KeepDuplicates {
		if err := b.distinct(ctx); err != nil {
			return err
		}
	}
	g.Dropped = int(b.dropped.Load())
	b.order()
	if b.o.TupleDegrees {
		b.keepTupleDegrees()
	}
	for i := range g.Parts {
		b.own(i)
	}
	b.storeDegrees()
	if b.o.Duplicates != KeepDuplicates {
		b.unique = degrees{}
		b.uniqueArena.Close()
	}
	out := b.raw.out
	in := out
	if b.g.Directed {
		in = b.raw.in
	}
	if err := b.adjacency(ctx, in, true); err != nil {
		return err
	}
	if g.Directed && b.o.Grid.Flat() {
		if err := b.adjacency(ctx, out, false); err != nil {
			return err
		}
	}
	return b.join(ctx, nil)
}

// adjacency builds every partition's lists in one direction: of receivers (In) or senders (Out). raw are the rows'
// lengths, duplicates included, by input vertex.
func (b *builder) adjacency(ctx context.Context, raw []uint32, in bool) error {
	s, err := b.scatter(in, func(p *Partition, row uint32) int { return int(raw[b.g.Order[p.Global(row)]]) })
	if err != nil {
		return err
	}
	defer s.tmp.Close()
	if err := b.deal(ctx, s); err != nil {
		return err
	}
	return s.finish(ctx)
}

// deal reads the tuples and writes every arc into its bucket.
func (b *builder) deal(ctx context.Context, s *scatter) error {
	name, scan := "building the in-edges", b.scan
	if !s.in {
		name = "building the out-edges"
	}
	if b.o.Ordered() {
		scan = b.scanInOrder
	}
	err := scan(ctx, name, func(worker int, block *edges.Block) error {
		s.dealBlock(s.stage(worker), block)
		return nil
	})
	if err == nil {
		s.flushAll()
	}
	return err
}

// keepTupleDegrees keeps what the degrees were with duplicates, loops apart.
func (b *builder) keepTupleDegrees() {
	if b.o.DropLoops && !b.g.Directed {
		b.g.TupleDegrees = b.raw.out // made in the graph's arena
		return
	}
	b.g.TupleDegrees = mem.Make[uint32](b.g.arena, b.g.N)
	copy(b.g.TupleDegrees, b.raw.out)
	for i, d := range b.raw.in {
		b.g.TupleDegrees[i] += d
	}
	if b.o.DropLoops {
		return // they were not counted
	}
	var block edges.Block
	for i := range edges.Blocks(b.list) {
		if b.list.Read(i, &block) != nil {
			return // it could be read before: the next pass reports it
		}
		for j, u := range block.U[:block.N] {
			if u == block.V[j] {
				b.g.TupleDegrees[u] -= 1 + uint32(b2i(b.g.Directed))
			}
		}
	}
}

// storeDegrees fills the partitions' degree columns, in the order of handles.
func (b *builder) storeDegrees() {
	for _, p := range b.g.Parts {
		size := (p.Owned + 63) &^ 63
		p.OutDegrees = mem.Make[uint32](b.g.arena, size)
		p.InDegrees = p.OutDegrees
		if b.g.Directed {
			p.InDegrees = mem.Make[uint32](b.g.arena, size)
		}
		b.team.For(p.Owned, 1<<14, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				v := b.g.Order[p.Global(uint32(i))]
				p.OutDegrees[i] = b.unique.out[v]
				if b.g.Directed {
					p.InDegrees[i] = b.unique.in[v]
				}
			}
		})
	}
}

// scan calls f for every block of the list, from the team's goroutines, until one fails or ctx ends.
func (b *builder) scan(ctx context.Context, stage string, f func(worker int, block *edges.Block) error) error {
	var done, failed atomic.Int64
	var once sync.Once
	var err error
	blocks := make([]*edges.Block, b.team.Size())
	const grain = 16
	b.team.For(edges.Blocks(b.list), grain, func(worker, lo, hi int) {
		if failed.Load() != 0 {
			return
		}
		if blocks[worker] == nil {
			blocks[worker] = new(edges.Block)
		}
		fail := func(e error) {
			once.Do(func() { err = e })
			failed.Store(1)
		}
		if e := ctx.Err(); e != nil {
			fail(fmt.Errorf("%s: %w", stage, context.Cause(ctx)))
			return
		}
		for i := lo; i < hi; i++ {
			if e := b.list.Read(i, blocks[worker]); e != nil {
				fail(e)
				return
			}
			if e := f(worker, blocks[worker]); e != nil {
				fail(e)
				return
			}
		}
		b.progress(stage, done.Add(int64((hi-lo)*edges.BlockSize)), int64(b.list.Len()))
	})
	return err
}

// scanInOrder is scan on one goroutine, in the order of the input.
func (b *builder) scanInOrder(ctx context.Context, stage string, f func(worker int, block *edges.Block) error) error {
	var block edges.Block
	for i := range edges.Blocks(b.list) {
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", stage, context.Cause(ctx))
		}
		if err := b.list.Read(i, &block); err != nil {
			return err
		}
		if err := f(0, &block); err != nil {
			return err
		}
		if i%64 == 0 {
			b.progress(stage, int64(i*edges.BlockSize), int64(b.list.Len()))
		}
	}
	return nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TooManyVertices says that a graph has more than MaxVertices.
func TooManyVertices(n uint64) error {
	return fmt.Errorf("%d vertices: at most %d in one process", n, MaxVertices)
}

// tooMany says that a partition's lists need more than 32-bit offsets.
func tooMany(arcs int) error {
	return fmt.Errorf("%d edges in one partition: at most %d; use more partitions (--workers)", arcs, uint32(math.MaxUint32))
}
