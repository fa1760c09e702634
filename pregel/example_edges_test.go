package pregel_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// run runs a program on a graph of a few edges.
func run[V, M any](p pregel.Program[V, M], list []superstep.Edge, o ...superstep.LoadOptions,
) *superstep.Result[V] {
	ctx := context.Background()
	g, err := superstep.FromEdges(ctx, list, o...)
	if err != nil {
		panic(err)
	}
	res, err := superstep.Run(ctx, g, p)
	if err != nil {
		panic(err)
	}
	return res
}

// values returns the values of all vertices, sorted by input id.
func values[V any](res *superstep.Result[V]) (list []V) {
	all := maps.Collect(res.All())
	for _, label := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[label])
	}
	return list
}

var undirected = superstep.LoadOptions{Undirected: true}

// Friends counts, for each vertex, the vertices whose best friend it is: the neighbour with whom
// they have the most neighbours in common.
type Friends struct{}

// shared is the number of triangles that contain an edge.
var shared = pregel.NewEdgeColumn[int]("shared").Private()

func (Friends) Traits() pregel.Traits { return pregel.Traits{Columns: []pregel.Column{shared}} }

// Compute first gets the lists of the neighbours' neighbours, then an empty list from each friend.
func (Friends) Compute(v *pregel.Vertex[int, []pregel.VertexID], lists [][]pregel.VertexID) {
	switch v.Superstep() {
	case 0:
		var neighbours []pregel.VertexID
		for e := range v.Edges() {
			neighbours = append(neighbours, e.To)
		}
		v.SendToAllNeighbors(neighbours)
		return
	case 1:
		best := v.Edge(0)
		for _, list := range lists {
			for _, e := range v.Common(list) {
				shared.Set(e, shared.Of(e)+1)
			}
		}
		for e := range v.Edges() {
			if shared.Of(e) > shared.Of(best) {
				best = e
			}
		}
		v.SendAlongEdge(best.Index(), nil)
	case 2:
		v.Set(len(lists))
	}
	v.VoteToHalt()
}

// This program receives each message separately, and reads edges.
func ExampleList() {
	list := []superstep.Edge{{From: 1, To: 2}, {From: 1, To: 3}, {From: 2, To: 3}, {From: 3, To: 4}, {From: 2, To: 4}, {From: 4, To: 5}}
	var p pregel.ListProgram[int, []pregel.VertexID] = Friends{}
	fmt.Println(values(run(pregel.List(p), list, undirected)))
	// Output: [0 3 1 1 0]
}

// Triangles counts the triangles that contain a vertex.
type Triangles struct{}

func (Triangles) Compute(v *pregel.Vertex[int, []pregel.VertexID], lists [][]pregel.VertexID) {
	if v.Superstep() == 0 {
		var neighbours []pregel.VertexID
		for e := range v.Edges() {
			neighbours = append(neighbours, e.To)
		}
		v.SendToAllNeighbors(neighbours)
	}
	for _, list := range lists {
		*v.Ref() += v.CountCommon(list)
	}
	v.Set(v.Value() / 2) // each of the other two corners finds it
	v.VoteToHalt()
}

func ExampleVertex_CountCommon() {
	list := []superstep.Edge{{From: 1, To: 2}, {From: 1, To: 3}, {From: 2, To: 3}, {From: 3, To: 4}, {From: 2, To: 4}}
	fmt.Println(values(run(pregel.List(Triangles{}), list, undirected)))

	// In a 2D grid, no partition has all edges of a vertex.
	ctx := context.Background()
	g, err := superstep.FromEdges(ctx, list,
		superstep.LoadOptions{Grid: superstep.Grid{Rows: 2, Columns: 2}})
	if err != nil {
		panic(err)
	}
	_, err = superstep.Run(ctx, g, pregel.List(Triangles{}))
	fmt.Println(errors.Is(err, pregel.ErrGrid))
	// Output:
	// [1 2 2 1]
	// true
}

// Flow computes how much more weight enters a vertex than leaves it, and the target of its heaviest
// out-edge.
type Flow struct{}

type flow struct {
	More float64
	Most pregel.VertexID
}

func (Flow) Combiner() pregel.Combiner[bool] { return combiners.Or() }

// Validate refuses graphs without direction or weights.
func (Flow) Validate(g *pregel.GraphInfo) error {
	if g != nil && !(g.Directed && g.Weighted) {
		return fmt.Errorf("%d edges in %d partitions: expected them directed, with weights",
			g.NumEdges, g.Partitions)
	}
	return nil
}

func (Flow) Compute(v *pregel.Vertex[flow, bool], _ bool) {
	x, most := flow{Most: pregel.None}, 0.0
	for e := range v.InEdges() {
		x.More += e.Weight
	}
	for e := range v.OutEdges() {
		if x.More -= e.Weight; e.Weight > most {
			x.Most, most = e.To, e.Weight
		}
	}
	v.Set(x)
	v.VoteToHalt()
}

func ExampleVertex_OutEdges() {
	res := run(Flow{},
		[]superstep.Edge{{From: 1, To: 2, Weight: 4}, {From: 1, To: 3, Weight: 1}, {From: 2, To: 3, Weight: 2.5}})
	for _, x := range values(res) {
		if x.Most == pregel.None {
			fmt.Println(x.More, "and it ends here")
			continue
		}
		fmt.Println(x.More, "and most goes to", res.Graph().Label(x.Most))
	}
	// Output:
	// -5 and most goes to 2
	// 1.5 and most goes to 3
	// 3.5 and it ends here
}

// Split moves the out-edges of a vertex beyond the first Most to a new vertex. It removes vertices
// without edges.
type Split struct{ Most int }

func (Split) Combiner() pregel.Combiner[bool] { return combiners.Or() }
func (Split) Traits() pregel.Traits {
	return pregel.Traits{Mutates: true, CreateOnMessage: true}
}

func (p Split) Compute(v *pregel.Vertex[string, bool], _ bool) {
	v.VoteToHalt()
	if v.Superstep() > 0 {
		return
	}
	change := v.Change()
	if v.Set(fmt.Sprint(v.Label())); v.OutDegree()+v.InDegree() == 0 {
		change.RemoveVertex(v.ID())
		return
	}
	half := change.NextID()
	for e := range v.Edges() {
		if e.Index() >= p.Most {
			change.RemoveEdge(v.ID(), e.To)
			change.AddEdge(half, e.To, e.Weight)
			change.AddVertex(half, "half of "+v.Value())
		}
	}
}

// Resolve creates one new vertex for all requests with the same id in a superstep.
func (Split) Resolve(r pregel.Resolution[string]) (string, bool) {
	switch {
	case r.Exists:
		return r.Value, !r.Remove
	case len(r.Add) > 0:
		return r.Add[0], true
	}
	panic(fmt.Sprint("a message to vertex ", r.ID))
}

func ExampleVertex_Change() {
	list := []superstep.Edge{{From: 1, To: 2}, {From: 1, To: 3}, {From: 1, To: 4}, {From: 1, To: 5}}
	res := run(Split{Most: 2}, list, superstep.LoadOptions{Vertices: []uint64{6}})
	names := values(res)
	slices.Sort(names)
	fmt.Printf("%q, %d edges\n", names, res.NumEdges)
	// Output: ["1" "2" "3" "4" "5" "half of 1"], 4 edges
}
