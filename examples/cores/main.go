// Command cores finds the k-core of a graph. The program removes vertices with fewer than k
// neighbours until every remaining vertex has at least k remaining neighbours. The command is a
// module of its own, like a program outside this repository. The same binary is the master and the
// workers of a cluster:
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

// left counts the removed vertices. It is persistent: it keeps its total across supersteps.
var left = pregel.SumOf[int64]("left").Persistent()

// Cores is the program. The value of a vertex is its number of remaining neighbours, or gone.
type Cores struct {
	K int64 `param:"k" default:"3" help:"the fewest neighbours in the core"`
	// Stop ends the run after the removal of that many vertices. The k-core then has at most the
	// other vertices.
	Stop int64 `param:"stop" default:"0" help:"end when so many vertices have left; 0 for never"`
}

// Validate rejects negative parameters.
func (p Cores) Validate(*pregel.GraphInfo) error {
	if p.K < 0 || p.Stop < 0 {
		return fmt.Errorf("k and stop: found %d and %d, expected 0 or more", p.K, p.Stop)
	}
	return nil
}

// Combiner adds up the removed neighbours of a vertex.
func (Cores) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

// Traits declares the program's needs. Direction is Both: the source of an in-edge and the target
// of an out-edge are neighbours alike. Vertices add to the aggregators; all vertices and the
// coordinator read the totals in the next superstep.
func (Cores) Traits() pregel.Traits {
	return pregel.Traits{Direction: pregel.Both, Aggregators: []pregel.Aggregate{left}}
}

// Init runs once on every vertex.
func (p Cores) Init(v *pregel.Vertex[int64, int64]) {
	v.Set(int64(v.OutDegree()))
	p.judge(v)
}

// Compute runs on a vertex after the removal of some of its neighbours.
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

// Coordinate runs once between supersteps and reads the totals of the last superstep. On a cluster
// the first worker runs it.
func (p Cores) Coordinate(c *pregel.Coordinator) {
	if p.Stop > 0 && left.Value(c) >= p.Stop {
		c.Halt()
	}
}

func main() { command.Main(pregel.Register("cores", Cores{})) }
