package spread

import (
	"context"
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// Tags is how many tags Build uses, from the one it is given.
const Tags = 3

// maxIDs is how many ids may be directed by their own value.
const maxIDs = graph.MaxVertices

// builder is a rank's part of a build.
type builder struct {
	group       *collective.Group
	tag         uint32 // of Together; the next is that of collectives, and the one after that of pass
	rank, ranks int
	in          *edges.Share
	owner       []int
	o           graph.Options
	team        *parallel.Team
	tmp, kept   *mem.Arena // what goes with the build, and with the directory

	all    whole
	end    uint64 // ids are below it
	ranges *ranges
	sizes  []int // places of each range: ids where they are dense, else vertices

	listing []uint64     // of this range: which ids are listed, if they are dense
	listed  []uint64     // or, if they are not, the ids
	labels  *edges.Index // of this range, if ids are not dense
	present []uint64     // of this range: which places are vertices; nil if all are

	store     *store
	rows      tally      // of this range
	wanted    [][]uint64 // by rank: which vertices of this range it has as other ends
	ids       []uint32   // of this range
	n         int
	connected int
	loops     int // here
	dropped   int // here

	// What flows use again and again: parcels by worker and rank, and the messages of the round on its way and of the next.
	out     [][]parcel
	buffers [2][][]byte
}

// Build makes the graph of all ranks' shares, and this rank's partitions of it: owner tells the rank of each. They are
// those that graph.Build makes of the whole. All ranks call it at the same time, with the same owner, tag and options but
// for Team, Progress and Meter. It closes the share's tuples as soon as it has read them, unless Free is nil; the Directory
// is open as long as the graph is. If it fails on one rank it fails on all, with the same error.
func Build(ctx context.Context, group *collective.Group, tag uint32, in *edges.Share, owner []int, o graph.Options) (*graph.Graph, *Directory, error) {
	defer in.Close()
	var g *graph.Graph
	var d *Directory
	err := group.Together(ctx, tag, func(ctx context.Context) (err error) {
		defer mem.Recover(&err)
		b, err := newBuilder(group, tag, in, owner, o)
		if err != nil {
			return err
		}
		defer b.tmp.Close()
		if g, d, err = b.build(ctx); err != nil {
			b.kept.Close()
			return fmt.Errorf("%s: %w", in.Name, err)
		}
		return nil
	})
	if err != nil {
		if g != nil { // another rank failed at the end
			g.Close()
			d.Close()
		}
		return nil, nil, err
	}
	return g, d, nil
}

func newBuilder(group *collective.Group, tag uint32, in *edges.Share, owner []int, o graph.Options) (*builder, error) {
	b := &builder{
		group: group, tag: tag, rank: group.Link().Rank(), ranks: group.Link().Size(), in: in, owner: owner, o: o, team: o.Team,
		tmp: &mem.Arena{Meter: o.Meter}, kept: &mem.Arena{Meter: o.Meter},
	}
	b.out = make([][]parcel, b.team.Size())
	for w := range b.out {
		b.out[w] = make([]parcel, b.ranks)
	}
	for i := range b.buffers {
		b.buffers[i] = make([][]byte, b.ranks)
	}
	b.sizes, b.wanted = make([]int, b.ranks), make([][]uint64, b.ranks)
	var errs []error
	if o.Partitions != len(owner) {
		errs = append(errs, fmt.Errorf("%d owners of %d partitions", len(owner), o.Partitions))
	}
	for p, rank := range owner {
		if rank < 0 || rank >= b.ranks {
			errs = append(errs, fmt.Errorf("partition %d belongs to rank %d of %d", p, rank, b.ranks))
		}
	}
	if len(owner) > graph.MaxPartitions {
		errs = append(errs, fmt.Errorf("%d partitions: at most %d", len(owner), graph.MaxPartitions))
	}
	if o.Weights != edges.Unweighted && !in.Edges.Weighted() && !o.UnitWeights {
		errs = append(errs, fmt.Errorf("%s: the edges have no weights", in.Name))
	}
	if _, ok := in.Labels.First(); !ok || in.Naming != edges.Numbers && !in.Labels.Identity() {
		errs = append(errs, errors.New("a share has its input ids itself, or they follow one another"))
	}
	return b, errors.Join(errs...)
}

func (b *builder) build(ctx context.Context) (*graph.Graph, *Directory, error) {
	if err := b.agree(ctx); err != nil {
		return nil, nil, err
	}
	defer func() {
		if b.store != nil {
			b.store.close()
		}
	}()
	end, dense := b.plan()
	if dense && end > maxIDs {
		return nil, nil, graph.TooManyVertices(end)
	}
	if err := b.enough(); err != nil {
		return nil, nil, err
	}
	if err := b.collect(ctx, end, dense); err != nil {
		return nil, nil, err
	}
	if err := b.distinct(ctx); err != nil {
		return nil, nil, err
	}
	if err := b.settle(ctx, dense); err != nil {
		return nil, nil, err
	}
	b.in.Close() // the tuples are not read again
	if err := b.order(ctx); err != nil {
		return nil, nil, err
	}
	g, err := b.assemble(ctx)
	if err != nil {
		return nil, nil, err
	}
	return g, b.directory(g), nil
}

// collect brings all edges to those who direct their rows.
func (b *builder) collect(ctx context.Context, end uint64, dense bool) error {
	b.end = max(end, 1)
	if err := b.divide(ctx, b.end, dense); err != nil {
		return err
	}
	if end > 0 && dense {
		b.sizes = b.ranges.sizes()
	}
	if b.in.Naming == edges.Listed {
		if err := b.list(ctx, dense); err != nil {
			return err
		}
	}
	if !dense {
		return b.name(ctx)
	}
	b.rows = b.newTally(b.tmp, b.sizes[b.rank])
	return b.route(ctx)
}

// settle finds which places of this range are vertices.
func (b *builder) settle(ctx context.Context, dense bool) error {
	if b.in.Naming == edges.Numbers || !dense {
		b.present = nil
		return nil
	}
	strangers := false
	for v := range uint32(b.sizes[b.rank]) {
		if b.rows.out[v] > 0 || b.in.Directed && b.rows.in[v] > 0 {
			bitmap.Set(b.present, v)
		}
	}
	if b.in.Naming == edges.Named {
		return nil
	}
	for i, word := range b.present {
		strangers = strangers || word&^b.listing[i] != 0
	}
	b.present = b.listing
	return b.welcome(ctx, strangers)
}

// enough refuses a share that the memory left is too small for.
func (b *builder) enough() error {
	mine := 0
	for _, rank := range b.owner {
		if rank == b.rank {
			mine++
		}
	}
	part := func(n int) int { return int(float64(n) * float64(mine) / float64(len(b.owner))) }
	n := b.in.Vertices
	need := graph.LeastBytes(uint64(part(n)), part(b.all.tuples), b.in.Directed, b.o)
	return graph.Enough("this worker's share of the graph", float64(need))
}

func (b *builder) progress(stage string, done, total int64) {
	if b.o.Progress != nil {
		b.o.Progress(stage, min(done, total), total)
	}
}
