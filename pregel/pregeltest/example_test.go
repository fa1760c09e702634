package pregeltest_test

import (
	"fmt"
	"math"
	"testing"

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
	t := new(testing.T) // what a test function is given
	g := pregeltest.Graph(t, "0-1 1-2 2-3 1-3 3-4")
	res := pregeltest.Matrix(t, g, Hops{Source: pregeltest.ID(t, g, 0)})
	fmt.Println(pregeltest.Values(res), "in", res.Supersteps, "supersteps")
	// Output: [0 1 2 2 3] in 5 supersteps
}

func ExampleCheckCombiner() {
	t := new(testing.T) // what a test function is given
	longer := func(a, b string) string {
		if len(a) > len(b) || len(a) == len(b) && a < b {
			return a
		}
		return b
	}
	pregeltest.CheckCombiner(t, combiners.Func("", longer), "a", "b", "abc", "xyz")
}
