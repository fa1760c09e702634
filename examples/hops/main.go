// Command hops counts the fewest edges from a source to every vertex.
package main

import (
	"math"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/command"
	"github.com/superstep-go/superstep/pregel"
)

// Hops is the program: its fields are its parameters, its methods tell what a vertex does.
type Hops struct {
	Source pregel.VertexID `param:"source" help:"vertex to count from"`
}

// Combiner keeps the least of the messages to a vertex.
func (Hops) Combiner() pregel.Combiner[int64] { return combiners.Min[int64]() }

// Init runs once on every vertex. MaxInt64 means that no path was found.
func (p Hops) Init(v *pregel.Vertex[int64, int64]) {
	v.Set(math.MaxInt64)
	v.VoteToHalt()
	if v.ID() == p.Source {
		p.Compute(v, 0)
	}
}

// Compute runs on vertices that got messages: hops is the least message to this vertex.
func (Hops) Compute(v *pregel.Vertex[int64, int64], hops int64) {
	if hops < v.Value() {
		v.Set(hops)
		v.SendToAllNeighbors(hops + 1)
	}
	v.VoteToHalt()
}

func main() { command.Main(pregel.Register("hops", Hops{})) }
