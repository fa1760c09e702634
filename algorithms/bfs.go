package algorithms

import (
	"math"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// ID is the engine's id of a vertex.
type ID = pregel.VertexID

// BFS builds a breadth-first tree from Source. The value of a reached vertex is its parent, and
// Source is its own parent. The value of other vertices is pregel.None.
type BFS struct {
	Source ID `param:"source" help:"root of the search"`
}

// Combiner keeps any one sender: a vertex needs one parent.
func (BFS) Combiner() pregel.Combiner[ID] { return combiners.Sender() }

// Traits returns the traits.
func (BFS) Traits() pregel.Traits { return traits{Converges: true} }

// Start returns the value of unreached vertices, and the vertex where the search starts.
func (p BFS) Start() (ID, []ID) { return pregel.None, []ID{p.Source} }

// Report returns the statistics for reports.
func (BFS) Report() pregel.Report[ID] {
	return report[ID]{Reached: func(parent ID) bool { return parent != pregel.None }}
}

// Init makes Source its own parent.
func (p BFS) Init(v *pregel.Vertex[ID, ID]) { p.Compute(v, v.ID()) }

// Compute makes the sender the parent and sends to the neighbours. Messages to the finished vertex
// are dropped.
func (BFS) Compute(v *pregel.Vertex[ID, ID], parent ID) {
	v.Set(parent)
	v.SendToAllNeighbors(v.ID())
	v.Finish()
}

// ComputeBlock is Compute for 64 vertices at once.
func (BFS) ComputeBlock(b *pregel.Block[ID, ID]) {
	pregel.Take(b.Values, b.In, b.Run)
	b.Sent |= b.Run
	b.Finish |= b.Run
}

// BFSLevels finds the number of edges of a shortest path from Source. The value of vertices that
// are not reached is math.MaxInt64.
type BFSLevels struct {
	Source ID `param:"source" help:"root of the search"`
}

// Combiner keeps any one message: all messages of a superstep are equal.
func (BFSLevels) Combiner() pregel.Combiner[int64] { return combiners.First[int64]() }

// Traits returns the traits.
func (BFSLevels) Traits() traits { return traits{Converges: true} }

// Start returns the level of unreached vertices, and the vertex where the search starts.
func (p BFSLevels) Start() (int64, []ID) { return math.MaxInt64, []ID{p.Source} }

// Report returns the statistics for reports.
func (BFSLevels) Report() pregel.Report[int64] {
	return report[int64]{Reached: func(level int64) bool { return level != math.MaxInt64 }}
}

// Init gives Source level 0.
func (p BFSLevels) Init(v *pregel.Vertex[int64, int64]) { p.Compute(v, 0) }

// Compute sets the level and sends the next one to the neighbours.
func (BFSLevels) Compute(v *pregel.Vertex[int64, int64], level int64) {
	v.Set(level)
	v.SendToAllNeighbors(level + 1)
	v.Finish()
}

// Resend sends the next level again, when a run resumes from a checkpoint.
func (BFSLevels) Resend(v *pregel.Vertex[int64, int64]) { v.SendToAllNeighbors(v.Value() + 1) }
