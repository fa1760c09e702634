// Command cores finds the k-core of a graph: what is left when vertices with fewer than k
// neighbours among those left go, again and again. It is a module of its own, as a program of yours
// is, and the same binary is the master and the workers of a cluster:
//
//	cores run cores --graph FILE -p k=5
//	cores master & cores worker & cores worker &
//	cores run cores --graph FILE -p k=5 --master 127.0.0.1:7700
package main

import (
	"fmt"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/command"
	"github.com/superstep-go/superstep/pregel"
)

// gone is the value of a vertex outside the core.
const gone = -1

// left counts the vertices that have left. Persistent: it goes on from superstep to superstep.
var left = pregel.SumOf[int64]("left").Persistent()

// Cores is the program. A vertex's value is the number of its neighbours in the k-core, or gone.
type Cores struct {
	K int64 `param:"k" default:"3" help:"the fewest neighbours in the core"`
	// Stop ends the search when so many vertices have left: the graph is then known to have no
	// larger core.
	Stop int64 `param:"stop" default:"0" help:"end when so many vertices have left; 0 for never"`
}

// Validate refuses parameters that make no sense.
func (p Cores) Validate(*pregel.GraphInfo) error {
	if p.K < 0 || p.Stop < 0 {
		return fmt.Errorf("k and stop: found %d and %d, expected 0 or more", p.K, p.Stop)
	}
	return nil
}

// Combiner counts the neighbours that left.
func (Cores) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

// Traits are the program's facts. Direction: direction: who points at a vertex is as much a
// neighbour as whom it points at. Aggregators: what vertices add up, for all and the coordinator to
// read in the next superstep.
func (Cores) Traits() pregel.Traits {
	return pregel.Traits{Direction: pregel.Both, Aggregators: []pregel.Aggregate{left}}
}

// Init runs on every vertex, once.
func (p Cores) Init(v *pregel.Vertex[int64, int64]) {
	v.Set(int64(v.OutDegree()))
	p.judge(v)
}

// Compute runs on vertices of which some neighbours left.
func (p Cores) Compute(v *pregel.Vertex[int64, int64], leaving int64) {
	v.Set(v.Value() - leaving)
	p.judge(v)
}

func (p Cores) judge(v *pregel.Vertex[int64, int64]) {
	if v.Value() >= p.K {
		v.VoteToHalt()
		return
	}
	v.Set(gone)
	v.SendToAllNeighbors(1)
	left.Add(v, 1)
	v.Finish()
}

// Coordinate runs once between supersteps, on a cluster in its first worker, and reads the totals
// of the last one.
func (p Cores) Coordinate(c *pregel.Coordinator) {
	if p.Stop > 0 && left.Value(c) >= p.Stop {
		c.Halt()
	}
}

func main() { command.Main(pregel.Register("cores", Cores{})) }
