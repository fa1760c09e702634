package build

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// maxIDs limits the number of ids that are used directly as places of the directory.
const maxIDs = graph.MaxVertices

// Tags is the number of tags that Graph uses, from its argument tag on.
const Tags = 2

// builder is a rank's part of a distributed build.
type builder struct {
	group       *collective.Group
	tag         uint32 // for Together; the next tag is for other collectives
	rank, ranks int
	in          *edges.RankInput
	owner       []int
	o           graph.Options
	team        *parallel.Team
	tmp, kept   *mem.Arena // memory until the end of the build, and of the directory
	numbering   mem.Arena  // memory of sparse ids, until the edges have been routed
	g           *graph.Graph
	parts       *graph.Builder

	largest uint64 // endpoint of this rank's tuples
	all     totals
	end     uint64 // all ids are below it
	dense   bool   // ids are used directly as places of the directory
	ranges  *ranges
	sizes   []int // number of places in each range: ids if they are dense, else vertices

	places  *ranges    // the places of all ranges, one range after another
	numbers []numbered // the ids in this rank's tuples, by range, if ids are not dense

	// The listed ids of this range or, if ids are dense, a bitmap of them. It is nil if no rank
	// has a list.
	declared []uint64
	labels   *edges.Index // of this range, if ids are not dense
	names    *Names       // of the vertices, or nil
	present  []uint64     // which places of this range are vertices; nil if all are

	tuples    *tuples    // if the rank is alone
	store     *store     // otherwise
	rows      counters   // of this range, without duplicates
	wanted    [][]uint64 // by rank: the vertices of this range that are other ends of its edges
	ids       []uint32   // of this range
	loops     int        // in this rank
	dropped   int        // in this rank
	mu        sync.Mutex
	duplicate []uint64 // the places of the least edge that occurs more than once

	piece int // most bytes that this rank accepts in a piece
	// Buffers that all shuffles reuse: send buffers by worker and rank, and the messages of the
	// current round and of the next.
	out     [][]sendBuffer
	buffers [2][][]byte
	blocks  []edges.Block // that are being read, by worker
}

// Graph makes a graph of all ranks' tuples, with the partitions that this rank owns. owner has the
// rank of each partition. All ranks call it at the same time. They must pass the same owner, tag
// and options, except Team, Progress and Budget. Graph closes the rank's tuples as soon as it has
// read them, unless Free is nil. The Directory is open as long as the graph is. If Graph fails on
// one rank, it returns the same error on all ranks.
func Graph(
	ctx context.Context, group *collective.Group, tag uint32, in *edges.RankInput, owner []int,
	o graph.Options,
) (*graph.Graph, *Directory, error) {
	defer in.Close()
	var g *graph.Graph
	var d *Directory
	err := group.Together(ctx, tag, func(ctx context.Context) (err error) {
		defer mem.Recover(&err)
		b, err := newBuilder(group, tag, in, owner, o)
		if err != nil {
			return err
		}
		defer b.close()
		if err = b.build(ctx); err != nil {
			b.kept.Close()
			return named(in.Name, err)
		}
		if n := b.g.N - b.all.listed; n > 0 && in.Added != nil {
			in.Added(n)
		}
		g, d = b.g, b.directory()
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

// Local makes a graph in this process only. It reads the input's tuples several times and does not
// close them.
func Local(ctx context.Context, in *edges.Input, o graph.Options) (*graph.Graph, error) {
	g, _, err := Graph(ctx, collective.Alone(), 0, alone(in), nil, o)
	return g, err
}

// alone returns an input as that of the only rank. The build does not close it.
func alone(in *edges.Input) *edges.RankInput {
	whole := edges.Whole(in, 0)
	whole.Free = nil
	return whole
}

// newBuilder makes a builder and checks its arguments. Without owner the rank is alone, and the
// list of tuples is kept and read several times.
func newBuilder(
	group *collective.Group, tag uint32, in *edges.RankInput, owner []int, o graph.Options,
) (*builder, error) {
	if err := o.Place(); err != nil {
		return nil, err
	}
	b := &builder{
		group: group, tag: tag, rank: group.Link().Rank(), ranks: group.Link().Size(), in: in,
		owner: owner, o: o, team: o.Team, piece: pieceBytes(),
		tmp:  &mem.Arena{Budget: o.Budget, Kind: mem.Loading},
		kept: &mem.Arena{Budget: o.Budget, Kind: mem.Graph},
	}
	if b.ranks == 1 && owner == nil {
		b.owner, b.tuples = make([]int, o.Partitions), &tuples{b: b}
	}
	b.blocks = make([]edges.Block, b.team.Size())
	b.numbering.Budget, b.numbering.Kind = o.Budget, mem.Loading
	b.out = make([][]sendBuffer, b.team.Size())
	for w := range b.out {
		b.out[w] = make([]sendBuffer, b.ranks)
	}
	for i := range b.buffers {
		b.buffers[i] = make([][]byte, b.ranks)
	}
	b.sizes, b.wanted = make([]int, b.ranks), make([][]uint64, b.ranks)
	return b, b.check()
}

// check checks the arguments.
func (b *builder) check() error {
	var errs []error
	if b.o.Partitions != len(b.owner) {
		errs = append(errs, fmt.Errorf("%d owners of %d partitions", len(b.owner), b.o.Partitions))
	}
	for p, rank := range b.owner {
		if rank < 0 || rank >= b.ranks {
			errs = append(errs, fmt.Errorf("partition %d belongs to rank %d of %d", p, rank,
				b.ranks))
		}
	}
	if b.o.Weights != edges.Unweighted && !b.in.Edges.Weighted() && !b.o.UnitWeights {
		errs = append(errs, fmt.Errorf("%s: the edges have no weights", b.in.Name))
	}
	if _, ok := b.in.Labels.First(); b.tuples == nil &&
		(!ok || b.in.Naming != edges.Numbers && !b.in.Labels.Identity()) {
		errs = append(errs,
			errors.New("a rank's part must contain its input ids, or they must be consecutive"))
	}
	return errors.Join(errs...)
}

func (b *builder) close() {
	if b.store != nil {
		b.store.close()
	}
	if b.tuples != nil {
		b.tuples.unique.Close()
	}
	b.tmp.Close()
	b.numbering.Close()
}

func (b *builder) build(ctx context.Context) (err error) {
	b.g = &graph.Graph{Name: b.in.Name, Directed: b.in.Directed}
	if b.parts, err = graph.NewBuilder(b.g, b.o); err != nil {
		return err
	}
	defer b.parts.End()
	for _, step := range []func(ctx context.Context) error{
		b.begin, b.checkMemory, b.collect, b.order, b.distribute,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// begin computes the facts about all ranks' tuples, and divides the ids into ranges.
func (b *builder) begin(ctx context.Context) error {
	if err := b.discover(ctx); err != nil {
		return err
	}
	if err := b.exchangeTerms(ctx); err != nil {
		return err
	}
	if b.tuples == nil && b.in.Names != nil {
		if err := b.takeNames(ctx); err != nil {
			return err
		}
	}
	end, dense := b.plan()
	if dense && end > maxIDs {
		return graph.TooManyVertices(end)
	}
	b.end, b.dense = max(end, 1), dense
	if err := b.divide(ctx); err != nil {
		return err
	}
	if end > 0 && dense {
		b.sizes = b.ranges.sizes()
	}
	return nil
}

// collect counts the degrees of all vertices of this range, without duplicates. If there are
// several ranks, it first sends all edges to the ranks that own the directory entries of their
// rows.
func (b *builder) collect(ctx context.Context) error {
	b.places = b.ranges
	if b.tuples != nil {
		return b.tuples.degrees(ctx)
	}
	if b.in.Naming == edges.Listed || b.all.listed > 0 {
		if err := b.registerVertices(ctx); err != nil {
			return err
		}
	}
	if !b.dense {
		if err := b.numberIDs(ctx); err != nil {
			return err
		}
	}
	b.rows = b.newCounters(b.tmp, b.sizes[b.rank], b.o.TupleDegrees)
	if err := b.route(ctx); err != nil {
		return err
	}
	b.numbers = nil
	b.numbering.Close()
	if err := b.distinct(ctx); err != nil {
		return err
	}
	if err := b.checkDegrees(ctx, &b.rows); err != nil {
		return err
	}
	if err := b.findPresent(ctx); err != nil {
		return err
	}
	b.in.Close() // the tuples are not read again
	return nil
}

// findPresent finds the places of this range that are vertices, if not all are.
func (b *builder) findPresent(ctx context.Context) error {
	if b.in.Naming == edges.Numbers || !b.dense {
		return nil
	}
	for v := range uint32(b.sizes[b.rank]) {
		if b.rows.out[v] > 0 || b.in.Directed && b.rows.in[v] > 0 {
			bitmap.Set(b.present, v)
		}
	}
	if b.in.Naming == edges.Named {
		for i, word := range b.declared { // there may be a list in addition to the edges
			b.present[i] |= word
		}
		return nil
	}
	undeclared := b.undeclared()
	b.present = b.declared
	return b.checkEndpoints(ctx, undeclared)
}

// checkMemory returns an error if the free memory is too small for the input. Otherwise the system
// might kill the process during the build.
func (b *builder) checkMemory(context.Context) error {
	what, n, tuples := "the graph", uint64(b.in.Vertices), b.all.tuples
	if b.in.Naming == edges.Numbers {
		n = b.end
	}
	if b.ranks > 1 {
		what = "this worker's share of the graph"
	}
	return graph.Enough(what,
		float64(graph.LeastShare(len(b.own()), len(b.owner), n, tuples, b.in.Directed, b.o)))
}

func (b *builder) own() []int {
	var own []int
	for p, rank := range b.owner {
		if rank == b.rank {
			own = append(own, p)
		}
	}
	return own
}

func (b *builder) progress(stage string, done, total int64) {
	if b.o.Progress != nil {
		b.o.Progress(stage, min(done, total), total)
	}
}

// outOfRange returns the error for an edge with an end that is not a possible vertex.
func outOfRange(u, v, end uint64) error {
	return fmt.Errorf("edge %d-%d: the graph has vertices 0..%d", u, v, int(end)-1)
}
