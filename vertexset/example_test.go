package vertexset_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/vertexset"
)

var reached = vertexset.UnionOf("reached").Persistent().Unreported()

// Reach gives each vertex the set of the sources that reach it.
type Reach struct{ Sources []pregel.VertexID }

func (Reach) Combiner() pregel.Combiner[vertexset.Set] { return vertexset.Union() }
func (Reach) Traits() pregel.Traits {
	return pregel.Traits{Aggregators: []pregel.Aggregate{reached}}
}

func (p Reach) Init(v *pregel.Vertex[vertexset.Set, vertexset.Set]) {
	if slices.Contains(p.Sources, v.ID()) {
		p.Compute(v, vertexset.Single(v.ID()))
	}
	v.VoteToHalt()
}

func (Reach) Compute(v *pregel.Vertex[vertexset.Set, vertexset.Set], sources vertexset.Set) {
	all, _ := v.Value().Union(sources)
	if all.Len() > v.Value().Len() {
		v.Set(all)
		v.SendToAllNeighbors(all)
		reached.Add(v, vertexset.Single(v.ID()))
	}
	v.VoteToHalt()
}

// The reach of many sources, as sets in messages; then the part of the graph that they reach.
func Example() {
	ctx := context.Background()
	g, err := superstep.FromEdges(ctx, []superstep.Edge{{From: 1, To: 2}, {From: 2, To: 3}, {From: 4, To: 3}})
	if err != nil {
		panic(err)
	}
	defer g.Close()
	one, _ := g.Vertex(1)
	two, _ := g.Vertex(2)
	res, err := superstep.Run(ctx, g, Reach{Sources: []pregel.VertexID{one, two}})
	if err != nil {
		panic(err)
	}
	set, err := reached.Value(res).Bind(g)
	if err != nil {
		panic(err)
	}
	part, err := g.Within(ctx, set)
	if err != nil {
		panic(err)
	}
	defer part.Close()
	fmt.Println(set, part.NumVertices(), part.NumEdges())
	// The set belongs to g, and not to its part.
	whole, _ := g.Numbering()
	own, _ := part.Numbering()
	belongs, _ := set.Numbering()
	fmt.Println(belongs == whole, belongs == own)
	// Output:
	// a set of 3 vertices 3 2
	// true false
}
