package algorithms

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// KCore finds the core number of every vertex: the largest k such that the vertex is in the k-core.
// The k-core is the largest part of the graph in which every vertex has k neighbours in the part
// (Seidman 1983). Neighbours are in either direction and are counted by edges: each parallel edge
// counts, a pair with edges both ways counts twice, and a loop counts once, in a directed graph
// twice. With --duplicates first --self-loops drop the cores of an undirected graph are the cores
// of the simple graph.
//
// With K above 0 it finds only the K-core: the value of a vertex is the number of its neighbours in
// the core, or 0 outside it.
//
// It removes vertices (Batagelj and Zaversnik 2003): at level k each vertex with at most k
// remaining neighbours leaves and tells its neighbours. When no vertex leaves, the level rises to
// the least number of remaining neighbours. So at most one message crosses an edge in each
// direction.
type KCore struct {
	K int64 `param:"k" help:"the core to find, 1 or more; 0 finds the core number of every vertex"`
}

// Validate checks K.
func (p KCore) Validate(*pregel.GraphInfo) error {
	switch {
	case p.K < 0:
		return fmt.Errorf("k is %d, want 0 or more", p.K)
	case p.K > math.MaxUint32:
		return fmt.Errorf("k is %d, want at most %d", p.K, uint32(math.MaxUint32))
	}
	return nil
}

var (
	peeled     = pregel.SumOf[int64]("peeled").Unreported()
	leastLeft  = pregel.MinOf[int64]("least left", math.MaxInt64).Unreported()
	degeneracy = pregel.MaxOf[int64]("degeneracy", 0).Persistent()
	inCore     = pregel.SumOf[int64]("in_core").Persistent()
)

// Combiner counts the neighbours that leave.
func (KCore) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

// Report returns the statistics for reports.
func (KCore) Report() pregel.Report[int64] { return scored[int64]("core number") }

// Traits returns the traits. Direction: neighbours are in either direction.
func (p KCore) Traits() pregel.Traits {
	// The degeneracy is the greatest core number. With K the report has the number of vertices in
	// the core instead.
	found := degeneracy
	if p.K > 0 {
		found = inCore
	}
	return traits{
		Direction: pregel.Both, Converges: true, Aggregators: aggregates{peeled, leastLeft, found},
	}
}

// Coordinate sets the level. The phase holds it.
func (p KCore) Coordinate(c *pregel.Coordinator) {
	switch {
	case p.K > 0:
		c.SetPhase(int(p.K - 1))
	case c.Superstep > 0 && peeled.Value(c) == 0:
		c.SetPhase(int(leastLeft.Value(c)))
	}
}

// Init counts the neighbours of every vertex.
func (p KCore) Init(v *pregel.Vertex[int64, int64]) {
	v.Set(int64(v.OutDegree()))
	if p.K > 0 {
		inCore.Add(v, 1)
	}
	p.Compute(v, 0)
}

// Compute subtracts the neighbours that left. The vertex leaves if too few remain.
func (p KCore) Compute(v *pregel.Vertex[int64, int64], gone int64) {
	left := v.Value() - gone
	v.Set(left)
	switch {
	case left <= int64(v.Phase()):
		v.Set(p.leave(v, v.Phase(), 1))
		v.SendToAllNeighbors(1)
		v.Finish()
	case p.K > 0:
		v.VoteToHalt()
	default:
		leastLeft.Add(v, left)
	}
}

// Resend sends again that the vertex has left, when a run resumes from a checkpoint.
func (KCore) Resend(v *pregel.Vertex[int64, int64]) { v.SendToAllNeighbors(1) }

// ComputeBlock is Compute for the vertices of b.Run.
func (p KCore) ComputeBlock(b *pregel.Block[int64, int64]) {
	level, least, left := b.Phase(), int64(math.MaxInt64), uint64(0)
	for run := b.Run; run != 0; run &= run - 1 {
		i := bits.TrailingZeros64(run) & 63
		if b.Received>>i&1 != 0 {
			b.Values[i] -= b.In[i]
		}
		if b.Values[i] <= int64(level) {
			left |= 1 << i
		} else {
			least = min(least, b.Values[i])
		}
	}
	if p.K > 0 {
		b.Halt |= b.Run &^ left
	} else {
		leastLeft.Add(b, least)
	}
	if left == 0 {
		return
	}
	value := p.leave(b, level, bits.OnesCount64(left))
	b.Sent |= left
	b.Finish |= left
	for ; left != 0; left &= left - 1 {
		i := bits.TrailingZeros64(left) & 63
		b.Values[i], b.Out[i] = value, 1
	}
}

// leave counts n vertices that leave at a level, and returns their value.
func (p KCore) leave(s pregel.Context, level, n int) int64 {
	peeled.Add(s, int64(n))
	if p.K > 0 {
		inCore.Add(s, -int64(n))
		return 0
	}
	degeneracy.Add(s, int64(level))
	return int64(level)
}
