package graph

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// maxVertices keeps slots, padding included, in 32 bits.
const maxVertices = 1<<32 - 1<<20

// MaxPartitions is the largest number of partitions in one process.
const MaxPartitions = 4096

// builder carries a graph from pass to pass. What is in tmp is given back as soon as it is not needed, so that the edge
// list and one copy of the adjacency is all that is large at any time.
type builder struct {
	g        *Graph
	o        Options
	list     edges.List
	labels   edges.Labels
	n        int
	directed bool
	team     *parallel.Team
	tmp      *mem.Arena
	lists    *mem.Arena // of what scatter makes: the graph's, if it is to stay

	uniqueArena mem.Arena
	raw, unique degrees // with and without duplicates
	loops       int
	dropped     atomic.Int64
	duplicate   atomic.Pointer[[2]uint64] // one that was found
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
	team := o.Team
	if team == nil {
		team = parallel.NewTeam(1, false)
	}
	g := &Graph{
		Name: in.Name, Directed: in.Directed, Weights: o.Weights, Options: o, Labels: in.Labels,
		Tuples: in.Edges.Len(), arena: new(mem.Arena),
	}
	g.Options.Team, g.Options.Progress = nil, nil
	b := &builder{g: g, o: o, list: in.Edges, labels: in.Labels, n: in.Vertices, directed: in.Directed, team: team, tmp: new(mem.Arena), lists: g.arena}
	if !o.Grid.Flat() {
		b.lists = new(mem.Arena)
		defer b.lists.Close()
	}
	built := false
	defer func() {
		b.tmp.Close()
		b.uniqueArena.Close()
		if !built { // an error, or a panic for want of memory
			g.Close()
		}
	}()
	if err := b.build(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	built = true
	// A graph that is forgotten rather than closed gives its memory back too.
	runtime.AddCleanup(g, func(a *mem.Arena) { a.Close() }, g.arena)
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
	if o.Partitions > MaxPartitions {
		errs = append(errs, fmt.Errorf("%d partitions: at most %d in one process", o.Partitions, MaxPartitions))
	}
	if in.Vertices > maxVertices {
		errs = append(errs, fmt.Errorf("%s: %d vertices: at most %d in one process", in.Name, in.Vertices, maxVertices))
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
	if b.n > maxVertices {
		return fmt.Errorf("%d vertices: at most %d in one process", b.n, maxVertices)
	}
	if err := b.fits(); err != nil {
		return err
	}
	if err := b.count(ctx); err != nil {
		return err
	}
	g.N, g.Loops = b.n, b.loops
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
	g.Parts = make([]*Partition, b.o.Partitions)
	for i := range g.Parts {
		g.Parts[i] = &Partition{Index: i, Of: len(g.Parts), Owned: owned(b.n, i, len(g.Parts)), graph: g}
	}
	b.storeDegrees()
	if b.o.Duplicates != KeepDuplicates {
		b.unique = degrees{}
		b.uniqueArena.Close()
	}
	out := b.raw.out
	in := out
	if b.directed {
		in = b.raw.in
	}
	if err := b.adjacency(ctx, in, true); err != nil {
		return err
	}
	for _, p := range g.Parts {
		g.Arcs += uint64(len(p.In.Adj))
	}
	if !b.o.Grid.Flat() {
		return b.blocks(ctx)
	}
	if b.directed {
		if err := b.adjacency(ctx, out, false); err != nil {
			return err
		}
	}
	for _, p := range g.Parts {
		if !b.directed {
			p.Out = p.In
		}
	}
	return b.link(ctx)
}

// blocks cuts the lists of in-edges into the blocks of a grid that is not flat.
func (b *builder) blocks(ctx context.Context) error {
	c := &cutter{g: b.g, team: b.team, parts: b.g.Parts, tmp: b.tmp}
	for _, p := range b.g.Parts {
		p.begin(b.o.Grid)
		c.lists = append(c.lists, &p.In.Lists)
	}
	made, err := c.cut(ctx, b.lists.Close)
	if err != nil {
		return err
	}
	for i, p := range b.g.Parts {
		p.In, p.along = nil, Blocks{made[i], made[i]}
	}
	b.g.leastWeight()
	return nil
}

// keepTupleDegrees keeps what the degrees were with duplicates, loops apart.
func (b *builder) keepTupleDegrees() {
	if b.o.DropLoops && !b.directed {
		b.g.TupleDegrees = b.raw.out // made in the graph's arena
		return
	}
	b.g.TupleDegrees = mem.Make[uint32](b.g.arena, b.n)
	copy(b.g.TupleDegrees, b.raw.out)
	for i, d := range b.raw.in {
		b.g.TupleDegrees[i] += d
	}
	var block edges.Block
	for i := range edges.Blocks(b.list) {
		if b.list.Read(i, &block) != nil {
			return // it could be read before: the next pass reports it
		}
		for j, u := range block.U[:block.N] {
			if u == block.V[j] {
				b.g.TupleDegrees[u] -= 1 + uint32(b2i(b.directed))
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
		if b.directed {
			p.InDegrees = mem.Make[uint32](b.g.arena, size)
		}
		b.team.For(p.Owned, 1<<14, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				v := b.g.Order[p.Global(uint32(i))]
				p.OutDegrees[i] = b.unique.out[v]
				if b.directed {
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

func (b *builder) progress(stage string, done, total int64) {
	if b.o.Progress != nil {
		b.o.Progress(stage, min(done, total), total)
	}
}

// weight returns what the builder stores for a tuple's weight.
func (b *builder) weight(w float64) float64 {
	if b.o.UnitWeights {
		return 1
	}
	if b.o.Weights == edges.Float32 {
		return float64(float32(w))
	}
	return w
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// tooMany says that a partition's lists need more than 32-bit offsets.
func tooMany(arcs int) error {
	return fmt.Errorf("%d edges in one partition: at most %d; use more partitions (--workers)", arcs, uint32(math.MaxUint32))
}
