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

// maxIDs is how many ids may be places by their own value.
const maxIDs = graph.MaxVertices

// Tags is how many tags Graph uses, from the one it is given.
const Tags = 2

// builder is a rank's part of a build.
type builder struct {
	group       *collective.Group
	tag         uint32 // of Together; the next is that of other collectives
	rank, ranks int
	in          *edges.RankInput
	owner       []int
	o           graph.Options
	team        *parallel.Team
	tmp, kept   *mem.Arena // what goes with the build, and with the directory
	numbering   mem.Arena  // what goes when the edges have been routed: of ids that are not dense
	g           *graph.Graph
	parts       *graph.Builder

	largest uint64 // endpoint here
	all     whole
	end     uint64 // ids are below it
	dense   bool   // ids are places of the directory
	ranges  *ranges
	sizes   []int // places of each range: ids where they are dense, else vertices

	places  *ranges    // the places of all ranges, one after another
	numbers []numbered // by range, of the ids in this rank's tuples, if ids are not dense

	// of this range: the listed ids or, if ids are dense, which are listed; nil if no rank has a
	// list
	declared []uint64
	labels   *edges.Index // of this range, if ids are not dense
	names    *Names       // of the vertices, or nil
	present  []uint64     // of this range: which places are vertices; nil if all are

	tuples    *tuples    // of a rank that is alone
	store     *store     // of others
	rows      counters   // of this range, duplicates dropped
	wanted    [][]uint64 // by rank: which vertices of this range it has as other ends
	ids       []uint32   // of this range
	loops     int        // here
	dropped   int        // here
	mu        sync.Mutex
	duplicate []uint64 // the places of the least edge found more than once

	piece int // bytes that this rank wants in a piece at most
	// What shuffles use again and again: send buffers by worker and rank, and the messages of the
	// round on its way and of the next.
	out     [][]sendBuffer
	buffers [2][][]byte
}

// Graph makes the graph of all ranks' tuples, and this rank's partitions of it: owner tells the
// rank of each. All ranks call it at the same time, with the same owner, tag and options but for
// Team, Progress and Budget. It closes the rank's tuples as soon as it has read them, unless Free is
// nil; the Directory is open as long as the graph is. If it fails on one rank it fails on all, with
// the same error.
func Graph(ctx context.Context, group *collective.Group, tag uint32, in *edges.RankInput, owner []int, o graph.Options) (*graph.Graph, *Directory, error) {
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

// Local makes a graph in this process alone. The input's tuples are read in several passes, and
// left as they are.
func Local(ctx context.Context, in *edges.Input, o graph.Options) (*graph.Graph, error) {
	g, _, err := Graph(ctx, collective.Alone(), 0, alone(in), nil, o)
	return g, err
}

// alone returns an input as that of the only rank, which leaves it open.
func alone(in *edges.Input) *edges.RankInput {
	whole := edges.Whole(in, 0)
	whole.Free = nil
	return whole
}

// newBuilder checks what the rank was given. Without owners it is alone, and its list of tuples
// stays.
func newBuilder(group *collective.Group, tag uint32, in *edges.RankInput, owner []int, o graph.Options) (*builder, error) {
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

// check refuses what makes no sense.
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
			errors.New("a share has its input ids itself, or they follow one another"))
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
		b.begin, b.enough, b.collect, b.order, b.distribute,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// begin finds what all ranks have together, and cuts the ids into ranges.
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

// collect finds the degrees of all vertices of this range, duplicates dropped. What is not alone
// brings all edges to those who own the entries of their rows.
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
		if err := b.name(ctx); err != nil {
			return err
		}
	}
	b.rows = b.newCounters(b.tmp, b.sizes[b.rank])
	if err := b.route(ctx); err != nil {
		return err
	}
	b.numbers = nil
	b.numbering.Close()
	if err := b.distinct(ctx); err != nil {
		return err
	}
	if err := b.findPresent(ctx); err != nil {
		return err
	}
	b.in.Close() // the tuples are not read again
	return nil
}

// findPresent finds which places of this range are vertices, if not all are.
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
		for i, word := range b.declared { // if there is a list beside the edges
			b.present[i] |= word
		}
		return nil
	}
	undeclared := false
	for i, word := range b.present {
		undeclared = undeclared || word&^b.declared[i] != 0
	}
	b.present = b.declared
	return b.checkEndpoints(ctx, undeclared)
}

// enough refuses an input that the memory left is too small for: the system would kill the process
// in the middle.
func (b *builder) enough(context.Context) error {
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

// own returns the partitions of this rank.
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

// outside says that an edge has an end that no vertex can have.
func outside(u, v, end uint64) error {
	return fmt.Errorf("edge %d-%d: the graph has vertices 0..%d", u, v, int(end)-1)
}
