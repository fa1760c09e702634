package engine_test

import (
	"fmt"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
)

// learning is a program whose Coordinate changes its fields. Its vertices' values show what they
// see of the fields.
type learning struct {
	k     int
	names map[string]int
	list  []int
}

var learnt = pregel.NewAggregator("learnt", func() int { return 0 },
	func(a, b int) int { return max(a, b) }).Persistent()

func (*learning) Combiner() pregel.Combiner[int] { return combiners.Sum[int]() }
func (*learning) Traits() pregel.Traits {
	return pregel.Traits{Aggregators: []pregel.Aggregate{learnt}}
}

func (p *learning) Coordinate(c *pregel.Coordinator) {
	p.k++
	p.names["k"]++
	p.list[0]++
	learnt.Replace(c, p.k*100+p.names["k"]*10+p.list[0])
}

func (p *learning) Compute(v *pregel.Vertex[string, int], _ int) {
	v.Set(fmt.Sprint(p.k, p.names, p.list, learnt.Value(v)))
	if v.Superstep() == 3 {
		v.VoteToHalt()
	}
}

// TestCoordinateHasItsOwnProgram: vertices see the original fields, in every partition and in every
// run.
func TestCoordinateHasItsOwnProgram(t *testing.T) {
	for _, parts := range []int{1, 3} {
		g := on(t, "0>1 1>2 2>0").load(t, parts, edges.Unweighted)
		p := &learning{1, map[string]int{"k": 1}, []int{1}}
		j, err := engine.NewJob(t.Context(), g, pregel.Erase[string, int](p), engine.Options{})
		check(t, err)
		for run := range 2 {
			_, err := j.Run(t.Context())
			check(t, err)
			for id := range pregel.VertexID(3) {
				if got := j.Any(id); got != "1 map[k:1] [1] 555" {
					t.Errorf("%d partitions, run %d: vertex %d saw %v", parts, run, id, got)
				}
			}
		}
		j.Close()
		g.Close()
	}
}
