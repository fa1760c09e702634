package superstep_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// Levels counts the fewest edges from Source to every vertex.
type Levels struct{ Source pregel.VertexID }

func (Levels) Combiner() pregel.Combiner[int64] { return combiners.Min[int64]() }

func (p Levels) Init(v *pregel.Vertex[int64, int64]) {
	v.Set(math.MaxInt64)
	v.VoteToHalt()
	if v.ID() == p.Source {
		p.Compute(v, 0)
	}
}

func (Levels) Compute(v *pregel.Vertex[int64, int64], level int64) {
	if level < v.Value() {
		v.Set(level)
		v.SendToAllNeighbors(level + 1)
	}
	v.VoteToHalt()
}

func Example() {
	ctx := context.Background()
	g, err := superstep.Load(ctx, "grid:rows=3,columns=4")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	corner, _ := g.Vertex(0)
	res, err := superstep.Run(ctx, g, Levels{Source: corner})
	if err != nil {
		fmt.Println(err)
		return
	}
	opposite, _ := res.At(11)
	fmt.Println("edges to the opposite corner:", opposite)
	fmt.Println(res.Ended, "after", res.Supersteps, "supersteps")
	// Output:
	// edges to the opposite corner: 5
	// halted after 7 supersteps
}

func ExampleFromEdges() {
	ctx := context.Background()
	g, err := superstep.FromEdges(ctx, []superstep.Edge{{From: 7, To: 9}, {From: 9, To: 8}},
		superstep.LoadOptions{Undirected: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	fmt.Println(g.NumVertices(), "vertices,", g.NumEdges(), "arcs, the vertex of most edges is",
		g.Label(0))
	// Output: 3 vertices, 4 arcs, the vertex of most edges is 9
}

// Vertices are numbers. Keep names in a slice, and use their indices as ids.
func ExampleFromEdges_names() {
	imports := [][2]string{
		{"http", "net"},
		{"http", "io"},
		{"http", "fmt"},
		{"net", "io"},
		{"net", "errors"},
		{"fmt", "io"},
		{"fmt", "errors"},
		{"io", "errors"},
	}
	var names []string
	ids := map[string]uint64{}
	id := func(name string) uint64 {
		if _, known := ids[name]; !known {
			ids[name] = uint64(len(names))
			names = append(names, name)
		}
		return ids[name]
	}
	var list []superstep.Edge
	for _, pair := range imports {
		list = append(list, superstep.Edge{From: id(pair[0]), To: id(pair[1])})
	}
	ctx := context.Background()
	g, err := superstep.FromEdges(ctx, list)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	res, err := superstep.Run(ctx, g, algorithms.PageRank{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for id, rank := range res.Top(3, cmp.Compare) {
		fmt.Printf("%.3f %s\n", rank, names[id])
	}
	// Output:
	// 0.409 errors
	// 0.236 io
	// 0.128 net
}

// A run stores checkpoints in a directory. A later run, maybe in another process, resumes from
// there.
func ExampleRun_checkpoints() {
	dir, err := os.MkdirTemp("", "checkpoints")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	g, err := superstep.Load(ctx, "kronecker:scale=10")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	p := algorithms.PageRank{Iterations: 30}
	o := superstep.Options{MaxSupersteps: 12}
	o.Checkpoints = superstep.CheckpointOptions{Place: dir, Every: 5}
	res, err := superstep.Run(ctx, g, p, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("supersteps:", res.Supersteps, res.Ended)

	o.MaxSupersteps, o.Checkpoints.Resume = 0, true
	// it resumes from the checkpoint before superstep 10
	if res, err = superstep.Run(ctx, g, p, o); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("supersteps:", res.Supersteps, res.Ended)
	// Output:
	// supersteps: 12 limit
	// supersteps: 31 iterations
}
