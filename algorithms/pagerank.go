package algorithms

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// PageRank gives each vertex the probability that a random surfer is there (Brin and Page 1998).
// The surfer follows an out-edge with probability Damping, and otherwise jumps to any vertex. From
// a vertex without out-edges it always jumps. Ranks add up to 1.
//
// With Sources it is personalised (Haveliwala 2002): the surfer starts at the sources and jumps
// only to them, each with equal probability, as in networkx by default. A vertex that the sources
// do not reach has rank 0.
//
// An iteration is a superstep with a message along every edge. It stops after Iterations, or when
// the L1 change of the ranks is less than Tolerance. With only Iterations it runs that many; with
// only Tolerance at most 100; with neither until the change is below 1e-6, at most 100.
type PageRank struct {
	Damping    float64 `param:"damping" default:"0.85" help:"probability of following an edge"`
	Iterations int     `param:"iterations" default:"100" zero:"refused" help:"largest number of iterations"`
	Tolerance  float64 `param:"tolerance" default:"1e-6" unless:"iterations" help:"stop when the L1 change of the ranks is less; 0 if only iterations is given"`
	Sources    []ID    `param:"sources" default:"" help:"vertices where the surfer starts and to which it jumps, at most 65536 (default: all)"`
}

// Validate checks the probability and the limits. With Damping 1 the surfer never jumps.
func (p PageRank) Validate(*pregel.GraphInfo) error {
	var errs []error
	if !(p.Damping >= 0 && p.Damping <= 1) {
		errs = append(errs, fmt.Errorf("damping is %g, want a number from 0 to 1", p.Damping))
	}
	return errors.Join(append(errs, checkLimits(p.Iterations, p.Tolerance, "0 or more"),
		checkSources(p.Sources))...)
}

var (
	dangling = pregel.SumOf[float64]("dangling")
	change   = pregel.SumOf[float64]("change")
	// sorted has the Sources in ascending order, for a binary search.
	sorted = pregel.NewAggregator("sorted sources", nil,
		func(a, b []ID) []ID { return append(slices.Clip(a), b...) }).Persistent().Unreported()
)

// Combiner adds the shares of in-neighbours.
func (PageRank) Combiner() pregel.Combiner[float64] { return combiners.Sum[float64]() }

// Traits returns the traits. MaxSupersteps: one before the first iteration, and one for each.
func (p PageRank) Traits() pregel.Traits {
	// The rank of vertices without out-edges and the L1 change of an iteration.
	aggregators := aggregates{dangling, change}
	if len(p.Sources) > 0 {
		aggregators = append(aggregators, sorted)
	}
	return traits{MaxSupersteps: mostSupersteps(p.Iterations, 1, 1), Aggregators: aggregators}
}

// Report returns the statistics for reports.
func (PageRank) Report() pregel.Report[float64] { return scored[float64]("rank") }

// Init gives every vertex where the surfer may start the same rank.
func (p PageRank) Init(v *pregel.Vertex[float64, float64]) {
	spread(v, 1/p.targets(v))
}

// InitBlock is Init for the vertices of b.Run.
func (p PageRank) InitBlock(b *pregel.Block[float64, float64]) {
	if len(p.Sources) == 0 {
		initRun(b, b.Run, 1/float64(b.NumVertices()))
		return
	}
	sources := sourcesIn(b)
	initRun(b, b.Run&^sources, 0)
	initRun(b, b.Run&sources, 1/float64(len(p.Sources)))
}

// initRun is Init for vertices of a block with the same rank.
func initRun(b *pregel.Block[float64, float64], run uint64, rank float64) {
	loose := 0.0
	for ; run != 0; run &= run - 1 {
		i := bits.TrailingZeros64(run) & 63
		b.Values[i] = rank
		if d := b.OutDegrees[i]; d > 0 {
			b.Sent |= 1 << i
			b.Out[i] = rank / float64(d)
		} else {
			loose += rank
		}
	}
	dangling.Add(b, loose)
}

// targets returns the number of vertices that share the surfer's jumps if v is one of them, else
// infinity.
func (p PageRank) targets(v *pregel.Vertex[float64, float64]) float64 {
	if len(p.Sources) == 0 {
		return float64(v.NumVertices())
	}
	if _, found := slices.BinarySearch(sorted.Value(v), v.ID()); found {
		return float64(len(p.Sources))
	}
	return math.Inf(1)
}

// sourcesIn returns the vertices of a block that are sources, as bits.
func sourcesIn(b *pregel.Block[float64, float64]) (which uint64) {
	all := sorted.Value(b)
	first, _ := slices.BinarySearch(all, b.First)
	for _, id := range all[first:] {
		if id > b.ID(63) {
			break
		}
		if ahead := id - b.First; ahead%b.Stride == 0 {
			which |= 1 << (ahead / b.Stride)
		}
	}
	return which
}

// Compute adds the shares of the in-neighbours, and of the vertices without out-edges, to the new
// rank. It calls functions with fields of p instead of p: Go copies a struct of more than four
// fields through memory at every call, which made Compute twice as slow.
func (p PageRank) Compute(v *pregel.Vertex[float64, float64], sum float64) {
	n, damping := float64(v.NumVertices()), p.Damping
	if len(p.Sources) > 0 {
		n = p.targets(v)
	}
	rank := (1-damping)/n + damping*(sum+dangling.Value(v)/n)
	change.Add(v, math.Abs(rank-v.Value()))
	spread(v, rank)
}

// ComputeBlock is Compute for the vertices of b.Run.
func (p PageRank) ComputeBlock(b *pregel.Block[float64, float64]) {
	if len(p.Sources) == 0 {
		computeRun(b, b.Run, float64(b.NumVertices()), p.Damping)
		return
	}
	sources := sourcesIn(b)
	computeRun(b, b.Run&^sources, math.Inf(1), p.Damping)
	computeRun(b, b.Run&sources, float64(len(p.Sources)), p.Damping)
}

// computeRun is Compute for vertices of a block with the same number of targets, n.
func computeRun(b *pregel.Block[float64, float64], run uint64, n, damping float64) {
	base := (1-damping)/n + damping*dangling.Value(b)/n
	moved, loose, sent := 0.0, 0.0, uint64(0)
	received, in, values, degrees, out := b.Received, b.In, b.Values, b.OutDegrees, b.Out
	for ; run != 0; run &= run - 1 {
		i := bits.TrailingZeros64(run) & 63
		rank := base
		if received>>i&1 != 0 {
			rank += damping * in[i]
		}
		moved += math.Abs(rank - values[i])
		values[i] = rank
		if d := degrees[i]; d > 0 {
			sent |= 1 << i
			out[i] = rank / float64(d)
		} else {
			loose += rank
		}
	}
	b.Sent |= sent
	change.Add(b, moved)
	dangling.Add(b, loose)
}

func spread(v *pregel.Vertex[float64, float64], rank float64) {
	v.Set(rank)
	if d := v.OutDegree(); d > 0 {
		v.SendToAllNeighbors(rank / float64(d))
	} else {
		dangling.Add(v, rank)
	}
}

// Resend sends the shares of the rank again, when a run resumes from a checkpoint.
func (PageRank) Resend(v *pregel.Vertex[float64, float64]) {
	v.SendToAllNeighbors(v.Value() / float64(v.OutDegree()))
}

// Coordinate ends the run after the last iteration. Superstep s computes iteration s.
func (p PageRank) Coordinate(c *pregel.Coordinator) {
	if c.Superstep == 0 && len(p.Sources) > 0 {
		sources := slices.Sorted(slices.Values(p.Sources))
		if last := sources[len(sources)-1]; uint64(last) >= c.NumVertices {
			c.Fail(fmt.Errorf("a source is the vertex %d: the graph has the vertices 0 to %d", last,
				c.NumVertices-1))
		}
		sorted.Replace(c, sources)
	}
	endRun(c, c.Superstep > 1 && change.Value(c) < p.Tolerance, c.Superstep > p.Iterations,
		p.Tolerance > 0)
}
