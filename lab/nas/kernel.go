package nas

import (
	"context"
	"math"
	"slices"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/pregel"
)

// Kernel is a vertex program that repeats some of the operations of CG in every superstep, to
// measure their times.
type Kernel struct {
	Supersteps int  `param:"supersteps" default:"200" help:"number of supersteps"`
	Axpy       bool `param:"axpy" help:"add a multiple of a vector to two vectors"`
	Dot        bool `param:"dot" help:"compute a dot product"`
	Multiply   bool `param:"multiply" help:"multiply the matrix by a vector"`
	Alternate  bool `param:"alternate" help:"multiply in odd supersteps, and send in even ones"`
	Spin       int  `param:"spin" help:"number of further multiplications of each vertex"`
}

// Combiner is that of CG.
func (Kernel) Combiner() pregel.Combiner[float64] { return CG{}.Combiner() }

// Traits has the aggregators of CG, which each superstep sends.
func (Kernel) Traits() pregel.Traits { return CG{}.Traits() }

// Coordinate ends the run.
func (k Kernel) Coordinate(c *pregel.Coordinator) {
	if c.Superstep >= k.Supersteps {
		c.Halt()
	}
}

// Compute does the operations on a vertex's entries.
func (k Kernel) Compute(v *pregel.Vertex[Row, float64], product float64) {
	s := v.Ref()
	if k.Axpy {
		a := alpha.Value(v)
		s.Z += a * s.P
		s.R -= a * s.AP
	}
	if k.Dot {
		dotPAP.Add(v, s.P*s.AP)
	}
	if k.Spin > 0 {
		x := s.Z
		for range k.Spin {
			x = x*0.5 + 1
		}
		s.Z = x
	}
	if k.Multiply {
		turn := v.Superstep() % 2
		if turn == 1 || !k.Alternate {
			s.AP = product
		}
		if turn == 0 || !k.Alternate {
			v.SendToAllNeighbors(s.X)
		}
	}
}

// Costs are the times in seconds of the operations of CG, on one thread.
type Costs struct {
	Call  float64 `json:"call"`  // of Compute, for a row
	Axpy  float64 `json:"axpy"`  // adds a multiple of a vector to another one, for a row
	Dot   float64 `json:"dot"`   // dot product, for a row
	Send  float64 `json:"send"`  // a row sends, and takes its sum
	Entry float64 `json:"entry"` // product with the matrix, for an entry
}

// An iteration of CG has two supersteps. Each calls all rows and has two AXPYs and a dot product.
// One sends and multiplies.
func (c Costs) spmv(rows, entries float64) float64 { return rows*c.Send + entries*c.Entry }
func (c Costs) vectors(rows float64) float64       { return rows * 2 * (c.Call + 2*c.Axpy + c.Dot) }

// measure measures the costs on two matrices with equally many rows. Each list has the times of the
// rounds.
func (c *Costs) measure(ctx context.Context, thin, thick *superstep.Graph, rounds int) error {
	times, idle := map[Kernel][2][]float64{}, []float64{}
	kernels := []Kernel{{}, {Axpy: true}, {Dot: true}, {Multiply: true}}
	for range rounds {
		r, err := superstep.Run(ctx, thick, Idle{200}, superstep.Options{})
		if err != nil {
			return err
		}
		idle = append(idle, steady(r.Seconds))
		for _, k := range kernels {
			lists := times[k]
			for i, g := range []*superstep.Graph{thin, thick} {
				run := k
				run.Supersteps = 200
				r, err := superstep.Run(ctx, g, run, superstep.Options{})
				if err != nil {
					return err
				}
				lists[i] = append(lists[i], steady(r.Seconds))
			}
			times[k] = lists
		}
	}
	rows := float64(thick.NumVertices())
	of := func(k int, matrix int) float64 { return collective.Median(times[kernels[k]][matrix]) }
	over := func(k int) float64 { return max(of(k, 1)-of(0, 1), 0) / rows }
	c.Call = max(of(0, 1)-collective.Median(idle), 0) / rows
	c.Axpy, c.Dot = over(1)/2, over(2)
	c.Entry = max(of(3, 1)-of(3, 0), 0) / float64(thick.NumEdges()-thin.NumEdges())
	c.Send = max(of(3, 1)-of(0, 1)-c.Entry*float64(thick.NumEdges()), 0) / rows
	return nil
}

// steady returns the first decile of the times of supersteps, without the first ones.
func steady(seconds []float64) float64 { return decile(seconds[len(seconds)/10:]) }

// decile returns the first decile of times. On a machine with other work the median is longer than
// the time of the process.
func decile(seconds []float64) float64 {
	list := slices.DeleteFunc(slices.Clone(seconds), math.IsNaN)
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[len(list)/10]
}

// iterationTime returns the first decile of the times of iterations, which have two supersteps.
func iterationTime(seconds []float64) float64 {
	var list []float64
	for k := period; k+1 < len(seconds); k++ {
		if step := k % period; step%2 == 1 && step > 1 && step < lastUpdate-1 {
			list = append(list, seconds[k]+seconds[k+1])
		}
	}
	return decile(list)
}
