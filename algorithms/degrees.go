package algorithms

import (
	"math"

	"github.com/superstep-go/superstep/pregel"
)

// Degrees counts the edges of every vertex: out-edges, in-edges, and the sum of both. Each parallel
// edge counts. A loop is an out-edge and an in-edge. In an undirected graph all three numbers are
// the degree, and a loop adds 1.
//
// It takes one superstep without messages. It is a list program: pass it as pregel.List(Degrees{}).
// It looks at edges, so it cannot run in a grid of partitions with more than one row and column:
// use --grid Nx1.
type Degrees struct{}

// Degree is the result for a vertex.
type Degree struct{ Out, In, Total int64 }

var (
	leastOut, leastIn, leastTotal = leastDegree("min_out"), leastDegree("min_in"),
		leastDegree("min_total")
	mostOut, mostIn, mostTotal = mostDegree("max_out"), mostDegree("max_in"),
		mostDegree("max_total")
	meanOut, meanIn, meanTotal = meanDegree("mean_out"), meanDegree("mean_in"),
		meanDegree("mean_total")
)

func leastDegree(name string) pregel.Aggregator[int64] {
	return pregel.MinOf[int64](name, math.MaxInt64)
}
func mostDegree(name string) pregel.Aggregator[int64] { return pregel.MaxOf[int64](name, 0) }
func meanDegree(name string) pregel.Aggregator[float64] {
	return pregel.SumOf[float64](name)
}

// Traits returns the traits. Direction: with Both, OutDegree is the total degree. Aggregators: the
// least, the greatest and the mean of each number.
func (Degrees) Traits() traits {
	return traits{
		Direction: pregel.Both,
		Aggregators: aggregates{
			leastOut, mostOut, meanOut, leastIn, mostIn, meanIn, leastTotal, mostTotal, meanTotal,
		},
	}
}

// Report returns the statistics for reports.
func (Degrees) Report() pregel.Report[Degree] {
	return scoredBy("degree", func(d Degree) float64 { return float64(d.Total) })
}

// Compute counts the edges.
func (Degrees) Compute(v *pregel.Vertex[Degree, struct{}], _ []struct{}) {
	d := Degree{Total: int64(v.OutDegree())}
	for range v.OutEdges() {
		d.Out++
	}
	for range v.InEdges() {
		d.In++
	}
	v.Set(d)
	n := float64(v.NumVertices())
	leastOut.Add(v, d.Out)
	mostOut.Add(v, d.Out)
	meanOut.Add(v, float64(d.Out)/n)
	leastIn.Add(v, d.In)
	mostIn.Add(v, d.In)
	meanIn.Add(v, float64(d.In)/n)
	leastTotal.Add(v, d.Total)
	mostTotal.Add(v, d.Total)
	meanTotal.Add(v, float64(d.Total)/n)
	v.VoteToHalt()
}
