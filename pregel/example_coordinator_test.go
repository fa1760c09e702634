package pregel_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// Median finds the median of the out-degrees by bisection. Vertices count how many degrees are
// below a guess, and the coordinator makes the next guess. A vertex's value is whether its degree
// is below the guess.
type Median struct {
	Guesses int `param:"guesses" default:"50" help:"give up after so many guesses"`
}

// bounds are the current bounds of the median.
type bounds struct{ Low, High int }

func (b bounds) middle() int { return (b.Low + b.High + 1) / 2 }

var (
	least    = pregel.MinOf[int]("least degree")
	greatest = pregel.MaxOf[int]("greatest degree")
	below    = pregel.SumOf[uint64]("below")
	between  = pregel.NewAggregator("between", nil,
		func(a, b bounds) bounds { return a }).Persistent().Unreported()
)

const (
	measure = iota
	guess
)

func (Median) Traits() pregel.Traits {
	return pregel.Traits{
		Aggregators:   []pregel.Aggregate{least, greatest, below, between},
		MaxSupersteps: 64, Help: "tells whose degree is below the median",
	}
}

func (p Median) Validate(g *pregel.GraphInfo) error {
	switch {
	case p.Guesses < 1:
		return fmt.Errorf("guesses: found %d, expected 1 or more", p.Guesses)
	case g != nil && g.NumVertices == 0:
		return errors.New("a graph without vertices has no median")
	}
	return nil
}

func (Median) Combiner() pregel.Combiner[bool] { return combiners.Or() }

func (Median) Compute(v *pregel.Vertex[bool, bool], _ bool) {
	switch v.Phase() {
	case measure:
		least.Add(v, v.OutDegree())
		greatest.Add(v, v.OutDegree())
	case guess:
		if v.Set(v.OutDegree() < between.Value(v).middle()); v.Value() {
			below.Add(v, 1)
		}
	}
}

func (p Median) Coordinate(c *pregel.Coordinator) {
	b := between.Value(c)
	switch {
	case c.Superstep == 0:
		c.SetPhase(measure)
		return
	case c.Superstep == 1:
		b = bounds{least.Value(c), greatest.Value(c)}
	case below.Value(c) > c.NumVertices/2:
		b.High = b.middle() - 1
	default:
		b.Low = b.middle()
	}
	c.Logf("between %d and %d", b.Low, b.High)
	between.Replace(c, b)
	switch {
	case b.Low == b.High:
		c.Halt()
	case c.Superstep > p.Guesses:
		c.Stop()
	default:
		c.SetPhase(guess)
	}
}

func ExampleCoordinator() {
	ctx := context.Background()
	g, err := superstep.Load(ctx, "grid:rows=5,columns=5")
	if err != nil {
		panic(err)
	}
	defer g.Close()
	res, err := superstep.Run(ctx, g, Median{},
		superstep.Options{Log: func(line string) { fmt.Println(line) }})
	if err != nil {
		panic(err)
	}
	fmt.Println("the median is", between.Value(res).Low, "and the run", res.Ended)
	// Output:
	// coordinator, superstep 1: between 2 and 4
	// coordinator, superstep 2: between 3 and 4
	// coordinator, superstep 3: between 3 and 3
	// the median is 3 and the run converged
}

// Rumour spreads a rumour: in each superstep, every vertex that knows it tells a random neighbour.
type Rumour struct {
	Source pregel.VertexID
	Rounds int
}

var (
	known = pregel.AnyOf("somebody is told")
	quiet = pregel.AllOf("nobody has neighbours")
	heard = pregel.NewAggregator("rounds", func() map[int]int { return map[int]int{} },
		func(a, b map[int]int) map[int]int {
			for round, n := range b {
				a[round] += n
			}
			return a
		}).Persistent()
)

func (Rumour) Combiner() pregel.Combiner[bool] { return combiners.Or() }
func (Rumour) Traits() pregel.Traits {
	return pregel.Traits{Aggregators: []pregel.Aggregate{known, quiet, heard}}
}

func (p Rumour) Start() (bool, []pregel.VertexID) { return false, []pregel.VertexID{p.Source} }

func (Rumour) Compute(v *pregel.Vertex[bool, bool], _ bool) {
	if !v.Value() {
		v.Set(true)
		// modify the map in place, which avoids a copy for each vertex
		(*heard.Cell(v))[v.Superstep()]++
		known.Add(v, true)
	}
	quiet.Add(v, v.OutDegree() == 0)
	if v.OutDegree() > 0 {
		v.SendAlongEdge(v.Rand().IntN(v.OutDegree()), true)
	}
}

// Coordinate ends the run. Active is the number of vertices that know the rumour, Messages the
// number of repeated messages.
func (p Rumour) Coordinate(c *pregel.Coordinator) {
	switch {
	case c.NumEdges == 0:
		c.Fail(errors.New("nobody has anybody to tell"))
	case c.Phase == 0 && c.Superstep == p.Rounds:
		c.HaltAtIterations()
	case c.Active == c.NumVertices && c.Messages > 0:
		c.Halt()
	}
}

func ExampleCoordinator_HaltAtIterations() {
	ctx := context.Background()
	g, err := superstep.Load(ctx, "path:vertices=4")
	if err != nil {
		panic(err)
	}
	defer g.Close()
	end, _ := g.Vertex(0)
	res, err := superstep.Run(ctx, g, Rumour{Source: end, Rounds: 3}, superstep.Options{Seed: 1})
	if err != nil {
		panic(err)
	}
	fmt.Println(res.Ended, res.Supersteps, known.Value(res) || quiet.Value(res),
		heard.Value(res)[0])

	alone, err := superstep.FromEdges(ctx, nil, superstep.LoadOptions{Vertices: []uint64{7}})
	if err != nil {
		panic(err)
	}
	defer alone.Close()
	_, err = superstep.Run(ctx, alone, Rumour{})
	fmt.Println(err)
	// Output:
	// iterations 3 true 1
	// program Rumour, superstep 0: nobody has anybody to tell
}

// Bowtie computes, for each vertex, whether the source reaches it, and whether it reaches the
// source.
type Bowtie struct{ Source pregel.VertexID }

type sides struct{ Reached, Reaches bool }

func (Bowtie) Combiner() pregel.Combiner[uint8] { return combiners.OrBits[uint8]() }
func (Bowtie) Traits() pregel.Traits            { return pregel.Traits{Direction: pregel.Either} }

func (p Bowtie) Init(v *pregel.Vertex[sides, uint8]) {
	v.VoteToHalt()
	if v.ID() == p.Source {
		p.Compute(v, 3)
	}
}

// Compute propagates bit 0 along out-edges and bit 1 along in-edges.
func (Bowtie) Compute(v *pregel.Vertex[sides, uint8], bits uint8) {
	v.VoteToHalt()
	x := v.Ref()
	if bits&1 != 0 && !x.Reached {
		x.Reached = true
		v.SendAlong(pregel.Out, 1)
	}
	if bits&2 != 0 && !x.Reaches {
		x.Reaches = true
		v.SendAlong(pregel.In, 2)
	}
	if x.Reached && x.Reaches {
		v.Finish()
	}
}

func ExampleVertex_SendAlong() {
	ctx := context.Background()
	g, err := superstep.FromEdges(ctx,
		[]superstep.Edge{{From: 1, To: 2}, {From: 2, To: 3}, {From: 3, To: 2}, {From: 3, To: 4}})
	if err != nil {
		panic(err)
	}
	defer g.Close()
	source, _ := g.Vertex(2)
	res, err := superstep.Run(ctx, g, Bowtie{Source: source})
	if err != nil {
		panic(err)
	}
	fmt.Println(values(res))
	// Output: [{false true} {true true} {true true} {true false}]
}

// Careless panics at one vertex.
type Careless struct{}

func (Careless) Combiner() pregel.Combiner[float64] { return combiners.Sum[float64]() }

func (Careless) Compute(v *pregel.Vertex[float64, float64], sum float64) {
	if v.Superstep() == 1 {
		if math.Signbit(sum) {
			panic("a debt")
		}
		v.Logf("has %v of %d vertices and %d edges", sum, v.NumVertices(), v.NumEdges())
	}
	for e := range v.Edges() {
		v.Send(e.To, e.Weight)
	}
	if !v.HasMessage() || v.Woken() {
		v.VoteToHalt()
	}
}

func ExampleProgramError() {
	ctx := context.Background()
	g, err := superstep.FromEdges(ctx, []superstep.Edge{{From: 1, To: 2, Weight: -3}})
	if err != nil {
		panic(err)
	}
	defer g.Close()
	_, err = superstep.Run(ctx, g, Careless{})
	if e := new(pregel.ProgramError); errors.As(err, &e) {
		fmt.Println(e.Program, "failed in superstep", e.Superstep, "at", e.Vertex, "by", e.Value)
		fmt.Println(e.Known, e.Name == "", e.Method == "", strings.Contains(e.Stack, "Careless"))
	}
	// Output:
	// Careless failed in superstep 1 at 2 by a debt
	// true true true true
}
