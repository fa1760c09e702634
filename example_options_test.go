package superstep_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/pregel"
)

// must returns x. If there is an error, it ends the example.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// This example reads a table of names with one malformed line into two partitions.
func ExampleLoadOptions() {
	dir := must(os.MkdirTemp("", "tables"))
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "friends.csv")
	text := "source,target,weight\nann,bob,2\nann,bob,1\nbob,bob,1\nbob,cat,3\nnonsense\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		panic(err)
	}
	o := superstep.LoadOptions{
		Format: "csv", Partitions: 2, Threads: 1, SkipBad: 1,
		Weights: superstep.Float64, Duplicates: superstep.MinDuplicates,
		SelfLoops: superstep.DropSelfLoops,
		Progress:  func(stage string, done, total int64) {},
	}
	if err := o.Validate(); err != nil {
		panic(err)
	}
	g := must(superstep.Load(context.Background(), file, o))
	defer g.Close()
	bob, _ := g.Named("bob")
	fmt.Println(g.Name(bob), "is", g.Label(bob), "of", g.NumVertices(), "in", g.Partitions(),
		"partitions")
	fmt.Println(g.NumEdges(), "edges, directed:", g.IsDirected(), "understood:", len(g.Account) > 0)
	fmt.Println(len(g.Skipped), "line skipped")

	grid := superstep.Grid{Rows: 2, Columns: 2}
	again := must(g.Repartition(context.Background(),
		superstep.LoadOptions{Grid: grid, Weights: superstep.Float32}))
	defer again.Close()
	fmt.Println("now in a grid of", again.Grid(), "and not in one row or column:",
		!again.Grid().Flat())
	// Output:
	// bob is 1 of 3 in 2 partitions
	// 2 edges, directed: true understood: true
	// 1 line skipped
	// now in a grid of 2x2 and not in one row or column: true
}

// What each option makes of three parallel edges with the weights 2, 1 and 4.
func ExampleDuplicates() {
	ctx := context.Background()
	list := []superstep.Edge{{From: 1, To: 2, Weight: 2}, {From: 1, To: 2, Weight: 1}, {From: 1, To: 2, Weight: 4}, {From: 2, To: 2, Weight: 3}}
	for _, d := range []superstep.Duplicates{
		superstep.KeepDuplicates, superstep.FirstDuplicates, superstep.MinDuplicates,
		superstep.SumDuplicates, superstep.ErrorDuplicates,
	} {
		g, err := superstep.FromEdges(ctx, list,
			superstep.LoadOptions{Duplicates: d, SelfLoops: superstep.KeepSelfLoops})
		if err != nil {
			fmt.Println(d, "refuses them")
			continue
		}
		res := must(superstep.Run(ctx, g, pregel.List(Weighted{})))
		weight, _ := res.At(1)
		fmt.Println(d, g.NumEdges(), "edges, those of 1 weigh", weight)
		g.Close()
	}
	// Output:
	// keep 4 edges, those of 1 weigh 7
	// first 2 edges, those of 1 weigh 2
	// min 2 edges, those of 1 weigh 1
	// sum 2 edges, those of 1 weigh 7
	// error refuses them
}

// Weighted computes the sum of the weights of each vertex's edges.
type Weighted struct{}

func (Weighted) Compute(v *pregel.Vertex[float64, bool], _ []bool) {
	for e := range v.Edges() {
		*v.Ref() += e.Weight
	}
	v.VoteToHalt()
}

// Direction and weights of edges.
func ExampleWeights() {
	ctx := context.Background()
	list := []superstep.Edge{{From: 1, To: 2, Weight: 2.5}}
	for _, weights := range []superstep.Weights{superstep.IfAny, superstep.NoWeights, superstep.Float64, superstep.Float32} {
		for _, o := range []superstep.LoadOptions{{Directed: true}, {Undirected: true, UnitWeights: true}} {
			o.Weights, o.Vertices = weights, []uint64{3}
			g := must(superstep.FromEdges(ctx, list, o))
			source, _ := g.Vertex(1)
			res := must(superstep.Run(ctx, g, pregel.List(Weighted{})))
			fmt.Println(g.NumVertices(), "vertices,", g.NumEdges(), "arcs, weight",
				res.Value(source))
			g.Close()
		}
	}
	// Output:
	// 3 vertices, 1 arcs, weight 2.5
	// 3 vertices, 2 arcs, weight 1
	// 3 vertices, 1 arcs, weight 1
	// 3 vertices, 2 arcs, weight 1
	// 3 vertices, 1 arcs, weight 2.5
	// 3 vertices, 2 arcs, weight 1
	// 3 vertices, 1 arcs, weight 2.5
	// 3 vertices, 2 arcs, weight 1
}

// Every delivery gives the same result.
func ExampleDelivery() {
	ctx := context.Background()
	for grid, ways := range map[superstep.Grid][]superstep.Delivery{
		{Rows: 2, Columns: 1}: {superstep.Auto, superstep.Push, superstep.Naive, superstep.Mirrored, superstep.Lalp, superstep.Pull},
		{Rows: 2, Columns: 2}: {superstep.Whole, superstep.Ring},
	} {
		g := must(superstep.Load(ctx, "kronecker:scale=8", superstep.LoadOptions{Grid: grid}))
		source, _ := g.Vertex(1)
		for _, way := range ways {
			res := must(superstep.Run(ctx, g, algorithms.BFSLevels{Source: source},
				superstep.Options{Delivery: way, Deterministic: way == superstep.Pull}))
			fmt.Println(way, res.Supersteps, res.Messages)
		}
		g.Close()
	}
	// Unordered output:
	// auto 4 8107
	// push 4 8107
	// naive 4 8107
	// mirrored 4 8107
	// lalp 4 8107
	// pull 4 8107
	// whole 4 8107
	// ring 4 8107
}

// Many options of a run, and its results.
func ExampleOptions() {
	ctx := context.Background()
	g := must(superstep.Load(ctx, "kronecker:scale=8"))
	defer g.Close()
	var trace bytes.Buffer
	o := superstep.Options{
		Threads: 2, Seed: 7, MaxSupersteps: 3, SuperstepTimeout: time.Minute,
		Zero:  []string{"tolerance"},
		Trace: &trace, KeepTrace: true, Log: func(line string) { fmt.Println(line) },
		Progress: func(p superstep.Progress) {
			fmt.Println(p.Superstep, p.Active, p.Senders > 0, p.Scheme != "", p.Seconds > 0)
		},
	}
	if err := o.Validate(); err != nil {
		panic(err)
	}
	res := must(superstep.Run(ctx, g, algorithms.PageRank{}, o))
	fmt.Println(res.Ended, res.Converged, res.Supersteps, len(res.Seconds), len(res.Trace),
		bytes.Count(trace.Bytes(), []byte("\n")))
	fmt.Println(res.NumVertices, res.NumEdges == g.NumEdges(), res.Messages > 0, res.MessagesSent,
		res.BytesSent)
	first := pregel.VertexID(0)
	at, _ := res.At(g.Label(first))
	fmt.Println(at == res.Value(first), len(maps.Collect(res.All())), res.Graph() == g,
		slices.Sorted(maps.Keys(res.Aggregates)))
	// Output:
	// 0 256 false true true
	// 1 256 true true true
	// 2 256 true true true
	// limit false 3 3 3 5
	// 256 true true 0 0
	// true 256 true [change dangling]
}

// A column can begin with an earlier result, with values from a function, or with the values in a
// file.
func ExampleFrom() {
	ctx := context.Background()
	matrix := must(superstep.FromEdges(ctx, []superstep.Edge{
		{From: 0, To: 0, Weight: 2}, {From: 1, To: 1, Weight: 4}, {From: 0, To: 1, Weight: 1},
	}, superstep.LoadOptions{Undirected: true}))
	defer matrix.Close()
	solve := func(side superstep.Input) *superstep.Result[float64] {
		return must(superstep.Run(ctx, matrix, algorithms.CG{},
			superstep.Options{Columns: []superstep.Input{side}, Deterministic: true}))
	}
	once := solve(
		superstep.From(algorithms.CGRightSide, func(id uint64) float64 { return 7 * float64(id) }))
	twice := solve(superstep.From(algorithms.CGRightSide, once))

	dir := must(os.MkdirTemp("", "columns"))
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "right.txt")
	if err := os.WriteFile(file, []byte("0 0\n1 7\n"), 0o600); err != nil {
		panic(err)
	}
	filed := solve(superstep.FromFile(algorithms.CGRightSide, file))
	for id, x := range once.All() {
		again, _ := twice.At(id)
		same, _ := filed.At(id)
		fmt.Printf("%d: %.2f %.2f %.2f\n", id, x, again, same)
	}
	// Output:
	// 0: -1.00 -0.86 -1.00
	// 1: 2.00 0.71 2.00
}

// Column returns one field of values that are structs.
func ExampleColumn() {
	ctx := context.Background()
	g := must(superstep.FromEdges(ctx, []superstep.Edge{{From: 1, To: 2}, {From: 3, To: 2}}))
	defer g.Close()
	res := must(superstep.Run(ctx, g, algorithms.HITS{}))
	for id, authority := range must(superstep.Column[float64](res, "Authority")) {
		fmt.Printf("%d %.1f\n", id, authority)
	}
	// Output:
	// 2 1.0
	// 1 0.0
	// 3 0.0
}

// Apply changes a graph between runs. The original graph stays unchanged.
func ExampleGraph_Apply() {
	ctx := context.Background()
	before := must(superstep.FromEdges(ctx,
		[]superstep.Edge{{From: 1, To: 2}, {From: 2, To: 3}, {From: 3, To: 4}}))
	defer before.Close()
	after := must(before.Apply(ctx, pregel.Delta{
		RemoveVertices: []uint64{4}, RemoveEdges: []pregel.InputEdge{{From: 1, To: 2}},
		AddVertices: []uint64{5}, AddEdges: []pregel.InputEdge{{From: 3, To: 1, Weight: 1}},
	}))
	defer after.Close()
	fmt.Println(before.NumVertices(), before.NumEdges(), "and then", after.NumVertices(),
		after.NumEdges())
	// Output: 4 3 and then 4 2
}

// When checkpoints are kept, and how to resume from them.
func ExampleCheckpointOptions() {
	ctx := context.Background()
	dir := must(os.MkdirTemp("", "checkpoints"))
	defer os.RemoveAll(dir)
	g := must(superstep.Load(ctx, "kronecker:scale=8"))
	defer g.Close()
	o := superstep.Options{Checkpoints: superstep.CheckpointOptions{
		Place: dir, Interval: time.Hour, MTBF: 24 * time.Hour, Strict: true, Keep: true,
	}, MaxSupersteps: 5}
	fmt.Println(must(superstep.Run(ctx, g, algorithms.PageRank{Damping: 0.85}, o)).Supersteps)

	// with another parameter
	o.MaxSupersteps, o.Checkpoints.Resume, o.Checkpoints.Fork = 8, true, true
	fmt.Println(must(superstep.Run(ctx, g, algorithms.PageRank{Damping: 0.5}, o)).Supersteps)
	// Output:
	// 5
	// 8
}
