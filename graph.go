package superstep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/superstep-go/superstep/internal/backend"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/load"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// Weights selects the edge weights that a graph keeps.
type Weights uint8

const (
	IfAny     Weights = iota // as float64, if the input has weights
	NoWeights                // no weights
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

// Duplicates selects the treatment of parallel edges.
type Duplicates uint8

// Treatments of parallel edges.
const (
	KeepDuplicates  = Duplicates(graph.KeepDuplicates)   // all are kept
	FirstDuplicates = Duplicates(graph.FirstDuplicate)   // the first of the input is kept
	MinDuplicates   = Duplicates(graph.LeastDuplicate)   // one is kept, with the least weight
	SumDuplicates   = Duplicates(graph.SumDuplicates)    // one is kept, with the sum of the weights
	ErrorDuplicates = Duplicates(graph.RefuseDuplicates) // an error
)

// String returns the name on the command line: keep, first, min, sum or error.
func (d Duplicates) String() string { return graph.Duplicates(d).String() }

// SelfLoops selects the treatment of edges from a vertex to itself.
type SelfLoops uint8

const (
	KeepSelfLoops SelfLoops = iota // keep them
	DropSelfLoops                  // leave them out
)

// Graph is a loaded graph: in this process, or on a cluster if it comes from a cluster.Connection.
// This process has the input ids of its vertices in both cases. It is safe for use by several
// goroutines.
type Graph struct {
	g         *graph.Graph
	elsewhere backend.Graph // the cluster that has the partitions; nil for a graph in this process
	// counts the runs and calls that read the graph: after Close the last of them frees it
	refs *mem.Refs
	// Account describes, for people, how the input was read.
	Account []string
	// Skipped has, for each malformed line that was left out of the input, its place and its
	// defect, in order.
	Skipped []string
}

// Edge is an edge of a graph made in memory, between input ids.
type Edge = pregel.InputEdge

// Load opens a graph. The name is one of: a file, plain or compressed by gzip, zstd, bzip2 or xz;
// several files, given as a directory, a pattern such as "parts/*.csv" or names separated by
// commas; "-" for standard input; a generator: kronecker:scale=20, rmat:scale=20,
// uniform:vertices=1000,degree=16, grid:rows=100,columns=100, star:vertices=1000 or
// path:vertices=1000. [LoadOptions] select the format. Errors in a file's content name the file,
// the line and the column.
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
	request, stored, err := o.resolved(name, team)
	if err != nil {
		return nil, err
	}
	g, in, err := load.Build(ctx, request, stored)
	if err != nil {
		return nil, err
	}
	in.Close()
	return &Graph{g: g, refs: mem.NewRefs(g.Close), Account: in.Account, Skipped: in.Skipped}, nil
}

// FromEdges makes a graph from edges. It is directed unless the options have Undirected. Its
// vertices are the ends of edges, and the options' Vertices. If the weights of all edges are 0, the
// edges count as unweighted, unless the options require weights.
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

func store(
	ctx context.Context, in *edges.Input, o LoadOptions, team *parallel.Team,
) (*Graph, error) {
	request, options, err := o.resolved(in.Name, team)
	if err != nil {
		return nil, err
	}
	if request.IfAny && !in.Edges.Weighted() {
		options.Weights = edges.Unweighted
	}
	g, err := build.Local(ctx, in, options)
	if err != nil {
		return nil, err
	}
	return &Graph{g: g, refs: mem.NewRefs(g.Close), Account: in.Account}, nil
}

// derived returns a graph that was made from g by changes and shares memory with it. It takes over
// the caller's reference to g, and releases it when it is closed.
func (g *Graph) derived(changed *graph.Graph) *Graph {
	return &Graph{g: changed, Account: slices.Clone(g.Account), refs: mem.NewRefs(func() {
		changed.Close()
		g.refs.Release()
	})}
}

// one returns the only element of options, or the zero value.
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
		return fmt.Errorf("superstep: %s.Threads: found %d, expected 0 or more", of, threads)
	}
	return nil
}

func newTeam(threads int) *parallel.Team {
	return parallel.NewTeam(cmp.Or(threads, runtime.GOMAXPROCS(0)), true)
}

var (
	errClosed   = errors.New("superstep: the graph is closed")
	errVertices = errors.New("superstep: LoadOptions.Vertices are only for FromEdges")
)

// Vertex returns the VertexID of the vertex with an input id, and whether it exists.
func (g *Graph) Vertex(label uint64) (pregel.VertexID, bool) {
	if !g.refs.Acquire() {
		return pregel.None, false
	}
	defer g.refs.Release()
	return g.g.Find(label)
}

// Named returns the VertexID of the vertex with a name, and whether it exists. Files of CSV or TSV
// may have names; the input id of a vertex is then the position of its name in sorted order, from
// 0. For a graph on a cluster each call asks the cluster, and returns false if the cluster does not
// answer.
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

// Name returns the vertex's name in the input, or its input id in digits if it has no name. It
// panics if the vertex does not exist. For a graph on a cluster each call asks the cluster, and
// returns the input id if the cluster does not answer.
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

// Label returns the input id of a vertex. It panics if the vertex does not exist.
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

// NumVertices returns the number of vertices. All VertexIDs are below it, unless vertices were
// removed: their ids are not reused.
func (g *Graph) NumVertices() int {
	if !g.refs.Acquire() {
		return 0
	}
	defer g.refs.Release()
	return g.g.Vertices()
}

// NumEdges returns the number of stored arcs. An undirected edge has two, an undirected loop one.
func (g *Graph) NumEdges() uint64 { return g.g.Arcs }

// IsDirected reports whether edges have a direction.
func (g *Graph) IsDirected() bool { return g.g.Directed }

// Numbering returns the fingerprint of the numbering of vertices, to which vertex sets are bound
// (package vertexset): of VertexIDs, input ids or names, and degrees. Graphs with the same edges
// that were loaded with the same options have the same fingerprint; graphs that differ only in
// which vertices the edges connect may have it, too; so vertex sets may be used on a cluster and in
// one process. All VertexIDs are below ids.
func (g *Graph) Numbering() (fingerprint uint64, ids int) {
	if !g.refs.Acquire() {
		return 0, 0
	}
	defer g.refs.Release()
	return g.g.Numbering()
}

// Partitions returns the number of partitions.
func (g *Graph) Partitions() int {
	if !g.refs.Acquire() {
		return 0
	}
	defer g.refs.Release()
	return len(g.g.Parts)
}

// Grid returns the layout of the partitions.
func (g *Graph) Grid() Grid { return Grid(g.g.Options.Grid) }

// Close frees the graph as soon as no run uses it. It is idempotent. A closed graph has no
// vertices: Run and Repartition return errors, but runs that have begun continue. Results then
// cannot name their vertices. A graph in this process is also freed when it is garbage. A graph
// that cluster.Connection.Load has loaded is dropped from the cluster when the graph, or the
// connection, is closed.
func (g *Graph) Close() {
	g.refs.Close()
	if g.elsewhere != nil {
		g.elsewhere.Closed()
	}
}

// Repartition makes a second graph from the same stored edges with other options. They cannot
// change the direction. Weights keep their type unless the options ask for another. VertexIDs stay
// the same if the edges do.
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
		return nil, errors.New("superstep: Repartition is only for graphs in this process")
	}
	if o.Directed || o.Undirected {
		return nil, errors.New("superstep: Repartition cannot change the direction of a graph")
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

// Within returns the part of the graph within a set of its vertices (package vertexset): these
// vertices, and the edges between them. It has its own numbering of vertices, and keeps the input
// ids, or the names: input ids of named vertices are their positions among the names that are left.
// Both graphs may be used, and each must be closed.
func (g *Graph) Within(ctx context.Context, set interface {
	Numbering() (fingerprint uint64, ids int)
	Len() int
	Contains(v pregel.VertexID) bool
},
) (_ *Graph, err error) {
	defer mem.Recover(&err)
	if !g.refs.Acquire() {
		return nil, errClosed
	}
	defer g.refs.Release()
	if g.elsewhere != nil {
		return nil, errors.New("superstep: Graph.Within is only for graphs in this process")
	}
	team := newTeam(0)
	defer team.Close()
	o := g.g.Options
	o.Team, o.Progress = team, nil
	part, in, err := load.Part(ctx, g.g, set, o)
	if err != nil {
		return nil, fmt.Errorf("superstep: Graph.Within: %w", err)
	}
	in.Close()
	return &Graph{g: part, Account: slices.Clone(g.Account), refs: mem.NewRefs(part.Close)}, nil
}

// Apply returns a second graph with vertices and edges removed and added. It takes a fraction of
// the time of loading: it shares partitions without changes, and copies the others. Vertices keep
// their VertexIDs. A removed vertex keeps its id too; no other vertex gets it, and results leave it
// out. New vertices get the next ids, which are not in the order of degree: after large changes
// [Graph.Repartition] makes a graph on which runs are faster.
//
// Both graphs may be used, and each must be closed. Errors in a delta name the input id.
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
		return nil, errors.New("superstep: Graph.Apply is only for graphs in this process")
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
