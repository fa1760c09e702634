package combiners_test

import (
	"context"
	"fmt"
	"math"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// reduce prints the combination of messages.
func reduce[M any](c pregel.Combiner[M], messages ...M) {
	m := messages[0]
	for _, next := range messages[1:] {
		m = c.Combine(m, next)
	}
	fmt.Println(m)
}

// union prints the union and the intersection of bit sets.
func union[T combiners.Bits](sets ...T) {
	reduce(combiners.OrBits[T](), sets...)
	reduce(combiners.AndBits[T](), sets...)
}

// sum prints the sum of numbers.
func sum[T pregel.Number](numbers ...T) { reduce(combiners.Sum[T](), numbers...) }

// The results of combiners for some messages.
func Example() {
	sum(3, 1, 2)
	reduce(combiners.Min[int64](), 3, 1, 2)
	reduce(combiners.Max[float64](), 3, 1, 2)
	reduce(combiners.And(), true, false)
	reduce(combiners.Or(), true, false)
	union[uint8](0b011, 0b110)
	reduce(combiners.Func(1, func(a, b int) int { return a * b }), 3, 4)
	reduce(combiners.First[string](), "any", "any")
	// Output:
	// 6
	// 1
	// 3
	// false
	// true
	// 7
	// 2
	// 12
	// any
}

// Roads computes, for each vertex, the length of the shortest path from a source, and the previous
// vertex on it.
type Roads[W combiners.Weight] struct{ Source pregel.VertexID }

func (Roads[W]) Combiner() pregel.Combiner[combiners.Arrival[W]] {
	return combiners.MinPlusSender[W]()
}

func (p Roads[W]) Init(v *pregel.Vertex[combiners.Arrival[W], combiners.Arrival[W]]) {
	v.Set(combiners.Arrival[W]{Dist: W(math.Inf(1)), From: pregel.None})
	v.VoteToHalt()
	if v.ID() == p.Source {
		p.Compute(v, combiners.Arrival[W]{From: v.ID()})
	}
}

func (Roads[W]) Compute(v *pregel.Vertex[combiners.Arrival[W],
	combiners.Arrival[W]], a combiners.Arrival[W],
) {
	if a.Dist < v.Value().Dist {
		v.Set(a)
		v.SendToAllNeighbors(combiners.Arrival[W]{Dist: a.Dist, From: v.ID()})
	}
	v.VoteToHalt()
}

// each runs a program with source vertex 1 on three roads, and prints the values.
func each[V, M any](program func(source pregel.VertexID) pregel.Program[V, M]) {
	ctx := context.Background()
	g, err := superstep.FromEdges(ctx, []superstep.Edge{
		{From: 1, To: 2, Weight: 3}, {From: 2, To: 3, Weight: 1}, {From: 1, To: 3, Weight: 5},
	})
	if err != nil {
		panic(err)
	}
	defer g.Close()
	source, _ := g.Vertex(1)
	res, err := superstep.Run(ctx, g, program(source))
	if err != nil {
		panic(err)
	}
	var values []V
	for label := range uint64(3) {
		value, _ := res.At(label + 1)
		values = append(values, value)
	}
	fmt.Println(values)
}

func ExampleMinPlusSender() {
	each(func(source pregel.VertexID) pregel.Program[combiners.Arrival[float64],
		combiners.Arrival[float64]] {
		return Roads[float64]{Source: source}
	})
	// Output: [{0 0} {3 0} {4 1}]
}

// Reach is a program for combiners that propagate from a source and keep the better value.
type Reach[M any] struct {
	Source      pregel.VertexID
	By          pregel.Combiner[M]
	First, Last M // the values of the source and of unreached vertices
	Better      func(a, b M) bool
}

func (p Reach[M]) Combiner() pregel.Combiner[M] { return p.By }

func (p Reach[M]) Init(v *pregel.Vertex[M, M]) {
	v.Set(p.Last)
	v.VoteToHalt()
	if v.ID() == p.Source {
		p.Compute(v, p.First)
	}
}

func (p Reach[M]) Compute(v *pregel.Vertex[M, M], m M) {
	if p.Better(m, v.Value()) {
		v.Set(m)
		v.SendToAllNeighbors(m)
	}
	v.VoteToHalt()
}

// The semiring determines whether the same program finds shortest or widest paths.
func ExampleMinPlus() {
	each(func(source pregel.VertexID) pregel.Program[float64, float64] {
		return Reach[float64]{source, combiners.MinPlus[float64](), 0, math.Inf(1), func(a, b float64) bool { return a < b }}
	})
	each(func(source pregel.VertexID) pregel.Program[float64, float64] {
		return Reach[float64]{source, combiners.MaxMin[float64](), math.Inf(1), 0, func(a, b float64) bool { return a > b }}
	})
	// Output:
	// [0 3 4]
	// [+Inf 3 5]
}

// Parent computes an arbitrary in-neighbour of each vertex, or None.
type Parent struct{}

func (Parent) Combiner() pregel.Combiner[pregel.VertexID] { return combiners.Sender() }

func (Parent) Compute(v *pregel.Vertex[bool, pregel.VertexID], _ pregel.VertexID) {
	if v.Superstep() == 0 {
		v.SendToAllNeighbors(v.ID()) // the message's value does not matter
	}
	v.Set(v.HasMessage())
	v.VoteToHalt()
}

// InDegree counts messages.
type InDegree struct{}

func (InDegree) Combiner() pregel.Combiner[int] { return combiners.Count[int]() }

func (InDegree) Compute(v *pregel.Vertex[int, int], n int) {
	if v.Superstep() == 0 {
		v.SendToAllNeighbors(1)
	}
	v.Set(n)
	v.VoteToHalt()
}

func ExampleSender() {
	each(func(pregel.VertexID) pregel.Program[bool, pregel.VertexID] { return Parent{} })
	each(func(pregel.VertexID) pregel.Program[int, int] { return InDegree{} })
	// Output:
	// [false true true]
	// [0 1 2]
}
