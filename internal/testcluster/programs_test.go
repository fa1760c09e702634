package testcluster

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/plan"
	"github.com/superstep-go/superstep/pregel"
)

// programs returns the programs that tests run on clusters.
func programs() engine.Registry {
	return engine.Registry{
		engine.Register("bfs", pregel.Erase(algorithms.BFS{})),
		engine.Register("levels", pregel.Erase(algorithms.BFSLevels{})),
		engine.Register("sssp", pregel.Erase(algorithms.SSSP[float64]{})),
		engine.Register("pagerank", pregel.Erase(algorithms.PageRank{})),
		engine.Register("wcc", pregel.Erase(algorithms.WCC{})),
		engine.Register("listing", pregel.Erase(pregel.List(listing{}))),
		engine.Register("census", pregel.Erase(census{})),
		engine.Register("letters", pregel.Erase(letters{})), engine.Register("paths",
			pregel.Erase(pregel.List(paths{}))), engine.Register("broken", pregel.Erase(broken{})),
		engine.Register("forever", pregel.Erase(forever{})), engine.Register("idle",
			pregel.Erase(idle{})), engine.Register("chatty", pregel.Erase(chatty{})),
		engine.Register("crowd", pregel.Erase(crowd{})),
		engine.Register("wordy", pregel.Erase(pregel.List(wordy{}))),
		engine.Register("reshaping", pregel.Erase(reshaping{})),
		engine.Register("recomposed", pregel.Erase(recomposed{})),
	}
}

// reshaping changes the graph in every possible way, and sends every vertex what its neighbours
// have seen.
type reshaping struct{}

func (reshaping) Combiner() pregel.Combiner[uint64] { return combiners.Sum[uint64]() }
func (reshaping) Traits() pregel.Traits {
	return pregel.Traits{Mutates: true, CreateOnMessage: true}
}

func (reshaping) Compute(v *pregel.Vertex[uint64, uint64], sum uint64) {
	v.Set(v.Value()*31 + sum*7 + v.NumVertices()*3 + v.NumEdges() + uint64(v.OutDegree()))
	if v.Superstep() == 6 {
		v.VoteToHalt()
		return
	}
	v.SendToAllNeighbors(v.Value() % 1000)
	rng := v.Rand()
	some := func() pregel.VertexID { return pregel.VertexID(rng.Uint64N(uint64(v.Change().NextID()))) }
	switch rng.IntN(9) {
	case 0:
		v.Change().AddEdge(v.ID(), some(), float64(rng.IntN(5)))
	case 1:
		v.Change().RemoveEdge(v.ID(), some())
	case 2:
		v.Change().AddEdge(some(), some(), 1)
		v.Change().RemoveEdge(some(), some())
	case 3:
		v.Change().RemoveVertex(some())
		v.Change().AddVertex(v.Change().NextID()+pregel.VertexID(rng.IntN(4)), v.Value())
	case 4:
		v.Change().AddVertex(some(), 5)
		v.Send(some(), 9)
	case 5:
		v.Change().RemoveVertex(v.ID())
	}
}

// recomposed has phases that change the graph, and phases that see the changes.
type (
	recomposed struct{ reshaping }
	counting   struct{}
)

var passed = pregel.NewVertexColumn[uint64]("passed")

func (recomposed) Traits() pregel.Traits {
	return pregel.Traits{Mutates: true, Columns: []pregel.Column{passed}}
}

func (recomposed) Plan() pregel.Plan {
	return plan.Sequence(
		plan.Phase(counting{}), plan.Phase(reshaping{}),
		plan.Repeat(func(r *plan.Round) bool { return r.Number == 1 }, plan.Phase(counting{}),
			plan.Phase(reshaping{})),
		plan.Phase(counting{}),
	)
}

func (p recomposed) Compute(v *pregel.Vertex[uint64, uint64], sum uint64) {
	if v.Superstep() == 0 {
		v.Set(passed.Of(v))
	}
	p.reshaping.Compute(v, sum)
}

func (counting) Combiner() pregel.Combiner[uint64] { return combiners.Sum[uint64]() }
func (counting) Traits() pregel.Traits {
	return pregel.Traits{Columns: []pregel.Column{passed}}
}

func (counting) Compute(v *pregel.Vertex[uint64, uint64], sum uint64) {
	passed.Set(v, passed.Of(v)*31+sum*7+v.NumVertices()*3+v.NumEdges()+uint64(v.OutDegree())+
		v.Label())
	if v.Superstep() < 2 {
		v.SendToAllNeighbors(passed.Of(v) % 1000)
	} else {
		v.VoteToHalt()
	}
}

// listing computes a sum over the messages of a vertex, one from each in-neighbour. The sum shows
// whether one is missing.
type listing struct{}

func (listing) Compute(v *pregel.Vertex[uint64, uint64], messages []uint64) {
	slices.Sort(messages)
	for i, m := range messages {
		v.Set(v.Value()*31 + m*uint64(i+1))
	}
	if v.Superstep() < 3 {
		v.SendToAllNeighbors(v.Label() + uint64(v.Superstep()))
	}
	v.VoteToHalt()
}

var (
	degrees = pregel.SumOf[int64]("degrees")
	largest = pregel.MaxOf[uint64]("largest", 0)
	shares  = pregel.SumOf[float64]("shares")
	names   = pregel.NewAggregator("names", nil, func(a, b []uint64) []uint64 {
		all := slices.Concat(a, b)
		slices.Sort(all)
		return all[:min(len(all), 3)]
	}).Persistent()
)

// census aggregates in phases that Coordinate sets.
type census struct{}

func (census) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (census) Traits() pregel.Traits {
	return pregel.Traits{Aggregators: []pregel.Aggregate{degrees, largest, shares, names}}
}

func (census) Coordinate(c *pregel.Coordinator) {
	if c.Superstep == 2 && degrees.Value(c) > 0 {
		c.SetPhase(7)
	}
	if c.Superstep == 5 {
		c.Halt()
	}
}

func (census) Compute(v *pregel.Vertex[string, int64], _ int64) {
	degrees.Add(v, int64(v.OutDegree()))
	largest.Add(v, v.Label())
	shares.Add(v, 1/float64(v.Label()+1))
	if v.Label()%5 == 0 {
		names.Add(v, []uint64{v.Label()})
	}
	v.Set(fmt.Sprintf("%s %d:%d/%d/%.12g/%v", v.Value(), v.Phase(), degrees.Value(v),
		largest.Value(v), shares.Value(v), names.Value(v)))
}

// letters sends messages to single vertices all over the graph.
type letters struct{}

func (letters) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (letters) Compute(v *pregel.Vertex[int64, int64], sum int64) {
	v.Set(v.Value()*3 + sum)
	if v.Superstep() < 4 {
		n := v.NumVertices()
		for i := range uint64(3) {
			v.Send(pregel.VertexID((uint64(v.ID())*7+i*13+uint64(v.Superstep()))%n),
				int64(v.ID())+int64(i))
		}
		if v.Superstep()%2 == 1 {
			v.SendToAllNeighbors(1)
		}
	}
	v.VoteToHalt()
}

// path is a message with pointers.
type path struct {
	Through []uint64
	Name    string
}

// paths computes, for every vertex, the path with the fewest edges, and among these the first in
// lexical order.
type paths struct{}

func (paths) Compute(v *pregel.Vertex[string, path], messages []path) {
	if v.Superstep() == 0 {
		if v.Label()%11 == 0 {
			v.Set("at")
			v.SendToAllNeighbors(path{[]uint64{v.Label()}, "p"})
		}
	} else if v.Value() == "" && len(messages) > 0 {
		best := slices.MinFunc(messages,
			func(a, b path) int { return slices.Compare(a.Through, b.Through) })
		v.Set(fmt.Sprint(best.Name, best.Through))
		if v.Superstep() < 4 {
			v.SendToAllNeighbors(path{append(slices.Clone(best.Through),
				v.Label()), best.Name + "."})
			v.Send(v.ID(), path{Name: "self"})
		}
	}
	v.VoteToHalt()
}

// broken panics in superstep 2 at a vertex, or in another method.
type broken struct {
	At     pregel.VertexID `param:"at" help:"where to panic"`
	Method string          `param:"method" default:"compute" help:"in what to panic"`
}

func (broken) Combiner() pregel.Combiner[int64] { return combiners.Min[int64]() }

func (p broken) Validate(*pregel.GraphInfo) error {
	if p.Method == "nothing" {
		return fmt.Errorf("there is no method %s", p.Method)
	}
	return nil
}

func (p broken) Coordinate(c *pregel.Coordinator) {
	if c.Superstep == 2 {
		p.fail("coordinate")
	}
}

// fail panics, or ends its goroutine, if it is called for the chosen method. Some panics have bytes
// that are not UTF-8, or a text whose limit is inside a character.
func (p broken) fail(method string) {
	switch p.Method {
	case method:
		panic("no such thing")
	case method + " bytes":
		panic("no such \xff\xfe thing")
	case method + " long":
		panic(strings.Repeat("\u20ac", 30_000))
	case method + " exits":
		runtime.Goexit()
	}
}

func (p broken) Compute(v *pregel.Vertex[int64, int64], _ int64) {
	if v.ID() == p.At && v.Superstep() == 2 {
		v.Logf("\xff is no text")
		p.fail("compute")
	}
	if v.Superstep() < 4 {
		v.SendToAllNeighbors(1)
	} else {
		v.VoteToHalt()
	}
}

func (p broken) Output(dst []byte, x int64) []byte {
	p.fail("output")
	return fmt.Append(dst, x)
}

// forever never ends. It logs when it has started, and pauses in each superstep from then on:
// otherwise it would use all processors while a test waits.
type forever struct {
	Quiet bool `param:"quiet" help:"send no messages"`
	Busy  bool `param:"busy" help:"do not pause"`
}

func (forever) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (p forever) Compute(v *pregel.Vertex[int64, int64], _ int64) {
	if v.Superstep() == 5 && v.ID() == 0 {
		v.Logf("here")
	}
	if v.Superstep() > 5 && v.ID() == 0 && !p.Busy {
		<-time.After(5 * time.Millisecond)
	}
	if !p.Quiet {
		v.SendToAllNeighbors(1)
	}
}

// idle runs supersteps in which only one vertex is awake and does nothing.
type idle struct {
	Supersteps int `param:"supersteps" default:"100" help:"how many"`
}

func (idle) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (p idle) Compute(v *pregel.Vertex[int64, int64], _ int64) {
	if v.ID() != 0 || v.Superstep() >= p.Supersteps-1 {
		v.VoteToHalt()
	}
}

// chatty is like idle, but the awake vertex sends to its neighbours.
type chatty struct {
	Supersteps int `param:"supersteps" default:"100" help:"how many"`
}

func (chatty) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (p chatty) Compute(v *pregel.Vertex[int64, int64], _ int64) {
	if v.ID() == 0 && v.Superstep() < p.Supersteps-1 {
		v.SendToAllNeighbors(1)
		return
	}
	v.VoteToHalt()
}

// crowd lets every vertex send to every other.
type crowd struct{}

func (crowd) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (crowd) Compute(v *pregel.Vertex[int64, int64], _ int64) {
	for to := range pregel.VertexID(v.NumVertices()) {
		if v.Superstep() == 0 && to != v.ID() {
			v.Send(to, 1)
		}
	}
	v.VoteToHalt()
}
