package pregeltest_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/pregel/pregeltest"
)

// Hops counts the edges of a shortest path from Source.
type Hops struct{ Source pregel.VertexID }

func (Hops) Combiner() pregel.Combiner[int64] { return combiners.Min[int64]() }

func (p Hops) Init(v *pregel.Vertex[int64, int64]) {
	v.Set(math.MaxInt64)
	v.VoteToHalt()
	if v.ID() == p.Source {
		p.Compute(v, 0)
	}
}

func (Hops) Compute(v *pregel.Vertex[int64, int64], hops int64) {
	if hops < v.Value() {
		v.Set(hops)
		v.SendToAllNeighbors(hops + 1)
	}
	v.VoteToHalt()
}

func Example() {
	t := new(testing.T) // in a test, use its t
	g := pregeltest.Graph(t, "0-1 1-2 2-3 1-3 3-4")
	res := pregeltest.Matrix(t, g, Hops{Source: pregeltest.ID(t, g, 0)})
	fmt.Println(pregeltest.Values(res), "in", res.Supersteps, "supersteps")
	// Output: [0 1 2 2 3] in 5 supersteps
}

func ExampleCheckCombiner() {
	t := new(testing.T) // in a test, use its t
	longer := func(a, b string) string {
		if len(a) > len(b) || len(a) == len(b) && a < b {
			return a
		}
		return b
	}
	pregeltest.CheckCombiner(t, combiners.Func("", longer), "a", "b", "abc", "xyz")
}

// MatrixWith runs a program of floats in all ways with options, on one graph and on many.
func ExampleMatrixWith() {
	t := new(testing.T) // in a test, use its t
	o := superstep.Options{Seed: 7}
	g := pregeltest.FromEdges(t, []superstep.Edge{{From: 0, To: 1}, {From: 1, To: 2}})
	res := pregeltest.MatrixWith(t, g, algorithms.PageRank{Iterations: 3}, o,
		pregeltest.Within[float64](1e-9))
	fmt.Printf("%.2f\n", pregeltest.Values(res))
	for name, g := range pregeltest.Graphs(t, o.Seed) {
		if g.NumVertices() < 3 { // few vertices
			pregeltest.Matrix(t, g, Hops{})
			fmt.Println(name != "")
			break
		}
	}
	// Output:
	// [0.20 0.35 0.45]
	// true
}

// An empty set may be nil or an empty slice.
func ExampleCheckCombinerSame() {
	t := new(testing.T) // in a test, use its t
	join := func(a, b []int) []int {
		all := slices.Concat(a, b)
		slices.Sort(all)
		return all
	}
	pregeltest.CheckCombinerSame(t, combiners.Func(nil, join), slices.Equal, []int{1}, []int{},
		[]int{2, 3})
	fmt.Println(t.Failed())
	// Output: false
}
