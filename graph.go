package superstep

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/superstep-go/superstep/internal/backend"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/load"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// Weights says what edge weights a graph keeps.
type Weights uint8

const (
	IfAny     Weights = iota // as float64, where the input has any
	NoWeights                // none
	Float64                  // as float64: an input without weights is an error
	// as float32, which halves their memory: an input without weights is an error
	Float32
)

// Grid is a layout of partitions in rows and columns.
type Grid struct{ Rows, Columns int }

// String returns the grid as RxC.
func (g Grid) String() string { return graph.Grid(g).String() }

// Flat reports whether one side is 1.
func (g Grid) Flat() bool { return graph.Grid(g).Flat() }

// Duplicates says what becomes of parallel edges.
type Duplicates uint8

// What becomes of parallel edges.
const (
	KeepDuplicates  = Duplicates(graph.KeepDuplicates)   // all are kept
	FirstDuplicates = Duplicates(graph.FirstDuplicate)   // the first of the input is kept
	MinDuplicates   = Duplicates(graph.LeastDuplicate)   // one is kept, with the least weight
	SumDuplicates   = Duplicates(graph.SumDuplicates)    // one is kept, with the sum of the weights
	ErrorDuplicates = Duplicates(graph.RefuseDuplicates) // the graph is refused
)

// String returns what the command line calls it: keep, first, min, sum or error.
func (d Duplicates) String() string { return graph.Duplicates(d).String() }

// SelfLoops says what becomes of edges from a vertex to itself.
type SelfLoops uint8

const (
	KeepSelfLoops SelfLoops = iota // they are edges like others
	DropSelfLoops                  // they are left out
)

// Graph is a loaded graph, in this process or, of a cluster.Connection, on a cluster: then the
// input ids of its vertices are here. It is safe for use by several goroutines.
type Graph struct {
	g         *graph.Graph
	elsewhere backend.Graph // where its partitions are, nil of this process
	// of the runs and calls that read it: Close frees it when the last of them has returned
	refs *mem.Refs
	// Account says, for people, what was understood of the input.
	Account []string
	// Skipped says of each malformed line that was left out of the input, in order, where it is and
	// what is wrong with it.
	Skipped []string
}

// Edge is an edge of a graph made in memory, between input ids.
type Edge = pregel.InputEdge

// Load opens a graph. The name is a file, plain or compressed by gzip, zstd, bzip2 or xz; several
// files, as a directory, a pattern such as "parts/*.csv" or names with commas between; "-" for
// standard input; or a generator: kronecker:scale=20, rmat:scale=20,
// uniform:vertices=1000,degree=16, grid:rows=100,columns=100, star:vertices=1000 or
// path:vertices=1000. [LoadOptions] have the format. Errors of a file's content name the file, the
// line and the column.
func Load(ctx context.Context, name string, options ...LoadOptions) (_ *Graph, err error) {
	defer mem.Recover(&err)
	o, err := one(options)
	if err != nil {
		return nil, err
	}
	if o.Vertices != nil {
		return nil, errVertices
	}
	team := newTeam(o.Threads)
	defer team.Close()
	request := load.Request{Name: name, Directed: o.directed(), SkipBad: o.SkipBad, Team: team, Progress: o.Progress}
	if o.Format != "" {
		if request.Format, err = graphio.ParseFormat(o.Format); err != nil {
			return nil, err
		}
	}
	request.Weights, request.IfAny = o.weights()
	if o.UnitWeights {
		request.Weights = edges.Unweighted
	}
	g, in, err := load.Build(ctx, request, o.stored(team))
	if err != nil {
		return nil, err
	}
	in.Close()
	return &Graph{g: g, refs: mem.NewRefs(g.Close), Account: in.Account, Skipped: in.Skipped}, nil
}

// FromEdges makes a graph of edges, directed unless the options say otherwise. Its vertices are the
// ids that occur, and those of the options. Edges whose weights are all 0 count as edges without
// weights, unless the options ask for weights.
func FromEdges(ctx context.Context, list []Edge, options ...LoadOptions) (_ *Graph, err error) {
	defer mem.Recover(&err)
	o, err := one(options)
	if err != nil {
		return nil, err
	}
	team := newTeam(o.Threads)
	defer team.Close()
	in, err := fromEdges(list, o)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return store(ctx, in, o, team)
}

func store(ctx context.Context, in *edges.Input, o LoadOptions, team *parallel.Team) (*Graph, error) {
	options := o.stored(team)
	if _, ifAny := o.weights(); ifAny && !in.Edges.Weighted() && !o.UnitWeights {
		options.Weights = edges.Unweighted
	}
	g, err := build.Local(ctx, in, options)
	if err != nil {
		return nil, err
	}
	return &Graph{g: g, refs: mem.NewRefs(g.Close), Account: in.Account}, nil
}

// derived returns a graph that was made from g by changes, and shares memory with it: it takes over
// the caller's hold on g, and lets go when it is closed.
func (g *Graph) derived(changed *graph.Graph) *Graph {
	return &Graph{g: changed, Account: slices.Clone(g.Account), refs: mem.NewRefs(func() {
		changed.Close()
		g.refs.Release()
	})}
}

// one returns the options given, or none.
func one[T interface{ Validate() error }](options []T) (o T, err error) {
	if len(options) > 1 {
		return o, errors.New("superstep: at most one options struct")
	}
	if len(options) == 1 {
		o = options[0]
	}
	return o, o.Validate()
}

func validThreads(of string, threads int) error {
	if threads < 0 {
		return fmt.Errorf("superstep: %s.Threads: found %d, expected 0, for one each processor, or more", of, threads)
	}
	return nil
}

func newTeam(threads int) *parallel.Team {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	return parallel.NewTeam(threads, true)
}

var (
	errClosed   = errors.New("superstep: the graph is closed")
	errVertices = errors.New("superstep: LoadOptions.Vertices are for FromEdges: other graphs name their vertices themselves")
)

// Vertex returns the handle of the vertex with an input id, and whether there is one.
func (g *Graph) Vertex(label uint64) (pregel.VertexID, bool) {
	if !g.refs.Acquire() {
		return pregel.None, false
	}
	defer g.refs.Release()
	return g.g.Find(label)
}

// Named returns the handle of the vertex that the input calls by a name, and whether there is one.
// A file of CSV or TSV may have names: its input ids are then their places in rising order, from 0.
// Of a graph on a cluster each call asks the cluster, and finds none if that does not answer.
func (g *Graph) Named(name string) (pregel.VertexID, bool) {
	if !g.refs.Acquire() {
		return pregel.None, false
	}
	defer g.refs.Release()
	label, ok := uint64(0), false
	switch {
	case g.elsewhere != nil:
		label, ok = g.elsewhere.Find(name)
	case g.g.Names != nil:
		label, ok = g.g.Names.Find(name)
	}
	if !ok {
		return pregel.None, false
	}
	return g.g.Find(label)
}

// Name returns what the input calls a vertex: its name, or its input id in digits where it has
// none. It panics if there is no such vertex. Of a graph on a cluster each call asks the cluster;
// without an answer it returns the input id.
func (g *Graph) Name(id pregel.VertexID) string {
	label := g.Label(id)
	if !g.refs.Acquire() {
		panic(errClosed)
	}
	defer g.refs.Release()
	if g.elsewhere != nil {
		if name, ok := g.elsewhere.Name(label); ok {
			return name
		}
	}
	return string(g.g.AppendName(nil, label))
}

// Label returns the input id of a vertex. It panics if there is no such vertex.
func (g *Graph) Label(id pregel.VertexID) uint64 {
	n := 0
	if g.refs.Acquire() {
		defer g.refs.Release()
		n = g.g.N
	}
	if uint64(id) >= uint64(n) {
		panic(fmt.Sprintf("superstep: vertex %v of %d", id, n))
	}
	return g.g.Label(id)
}

// NumVertices returns the number of vertices. Their handles are below it, unless vertices were
// removed, whose handles stay taken.
func (g *Graph) NumVertices() int {
	if !g.refs.Acquire() {
		return 0
	}
	defer g.refs.Release()
	return g.g.Vertices()
}

// NumEdges returns the number of arcs as stored: an undirected edge is two, an undirected loop one.
func (g *Graph) NumEdges() uint64 { return g.g.Arcs }

// IsDirected reports whether edges point one way.
func (g *Graph) IsDirected() bool { return g.g.Directed }

// Partitions returns the number of partitions.
func (g *Graph) Partitions() int {
	if !g.refs.Acquire() {
		return 0
	}
	defer g.refs.Release()
	return len(g.g.Parts)
}

// Grid returns how the partitions are laid out.
func (g *Graph) Grid() Grid { return Grid(g.g.Options.Grid) }

// Close frees the graph, as soon as no run uses it; it is idempotent. A closed graph has no
// vertices: Run and Repartition refuse it, runs that have begun go on, and results can no longer
// name theirs. A graph in this process that is forgotten frees itself; one that
// cluster.Connection.Load has put on a cluster is dropped there when it, or the connection, is
// closed.
func (g *Graph) Close() {
	g.refs.Close()
	if g.elsewhere != nil {
		g.elsewhere.Closed()
	}
}

// Repartition makes a second graph of the same stored edges with other options, which leave the
// direction as it is. Weights are kept in their type unless the options ask for another. Handles
// are the same if the edges are.
func (g *Graph) Repartition(ctx context.Context, o LoadOptions) (_ *Graph, err error) {
	defer mem.Recover(&err)
	if !g.refs.Acquire() {
		return nil, errClosed
	}
	defer g.refs.Release()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if g.elsewhere != nil {
		return nil, errors.New("superstep: a graph on a cluster stays as it was loaded: load it anew with other options")
	}
	if o.Directed || o.Undirected {
		return nil, errors.New("superstep: a graph keeps its direction when it is partitioned anew")
	}
	if o.Weights == IfAny && g.g.Weights == edges.Float32 {
		o.Weights = Float32
	}
	team := newTeam(o.Threads)
	defer team.Close()
	in := g.g.Input()
	defer in.Close()
	return store(ctx, in, o, team)
}

// Apply makes a second graph of this one with vertices and edges removed and added. It takes a
// fraction of the time of loading: partitions in which nothing changes are shared, others are
// copied, and the graph's vertices keep their handles. New ones get the next handles, so they are
// not in the order of degree: after large changes [Graph.Repartition] makes a graph that is faster
// to run on.
// A vertex that is removed keeps its handle, which no other gets, and is in no result.
//
// Both graphs may be used, and are closed on their own. Errors of a delta name the input id.
func (g *Graph) Apply(ctx context.Context, d pregel.Delta) (_ *Graph, err error) {
	defer mem.Recover(&err)
	if !g.refs.Acquire() {
		return nil, errClosed
	}
	keep := false
	defer func() {
		if !keep {
			g.refs.Release()
		}
	}()
	if g.elsewhere != nil {
		return nil, errors.New("superstep: Graph.Apply: a graph on a cluster stays as it was loaded: apply the delta to its input, and load that")
	}
	team := newTeam(0)
	defer team.Close()
	next, shares, err := g.g.Apply(ctx, d, team)
	if err != nil {
		return nil, fmt.Errorf("superstep: Graph.Apply: %w", err)
	}
	keep = shares
	if !shares {
		return &Graph{g: next, Account: slices.Clone(g.Account), refs: mem.NewRefs(next.Close)}, nil
	}
	return g.derived(next), nil
}
