package scripts

import (
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// Forever never halts, and logs that. It yields the processor to others.
type Forever struct{}

func (Forever) Combiner() pregel.Combiner[int64] { return combiners.Min[int64]() }

func (Forever) Compute(v *vertex, _ int64) {
	if v.Superstep() == 3 {
		v.Logf("here")
	}
	if v.ID() == 0 {
		<-time.After(5 * time.Millisecond)
	}
	v.SendToAllNeighbors(1)
}

// Stuck never returns from Compute.
type Stuck struct{}

func (Stuck) Combiner() pregel.Combiner[int64] { return combiners.Min[int64]() }

func (Stuck) Compute(v *vertex, _ int64) {
	v.Logf("here")
	select {}
}

// Deep overflows the stack.
type Deep struct{}

func (Deep) Combiner() pregel.Combiner[int64] { return combiners.Min[int64]() }

func (Deep) Compute(v *vertex, _ int64) {
	debug.SetMaxStack(1 << 20)
	v.Set(deep(1))
}

func deep(n int64) int64 {
	if n == 0 {
		return 0
	}
	return deep(n+1) + 1
}

// Racing writes to a map in two goroutines.
type Racing struct{}

func (Racing) Combiner() pregel.Combiner[int64] { return combiners.Min[int64]() }

func (Racing) Compute(*vertex, int64) {
	m := map[int]int{}
	for range 2 {
		go func() {
			for {
				m[0]++
			}
		}()
	}
	select {}
}

// Hungry allocates memory without end at a hub, but slowly enough to be observed on a busy machine.
type Hungry struct{}

func (Hungry) Compute(v *vertex, came []int64) {
	if len(came) > 100_000 {
		for all := [][]byte{}; ; {
			all = append(all, slices.Repeat([]byte{1}, 1<<20))
			<-time.After(10 * time.Millisecond)
		}
	}
	if v.Superstep() < 2 {
		v.SendToAllNeighbors(1)
	}
	v.VoteToHalt()
}

// Everywhere makes each vertex send to many others all over the graph, in several rounds.
type Everywhere struct {
	Fan    int64 `param:"fan" default:"32" help:"to how many others"`
	Rounds int64 `param:"rounds" default:"4" help:"how often"`
}

func (p Everywhere) Compute(v *vertex, came []int64) {
	for _, x := range came {
		v.Set(v.Value() + x)
	}
	if int64(v.Superstep()) < p.Rounds {
		n := uint64(v.NumVertices())
		for i := range p.Fan {
			v.Send(pregel.VertexID((uint64(v.ID())+uint64(i+1)*7919*104729)%n), int64(v.ID())+i)
		}
	}
	v.VoteToHalt()
}

// Broken panics at a vertex, or ends its goroutine.
type Broken struct {
	At   pregel.VertexID `param:"at" help:"where to panic"`
	Exit bool            `param:"exit" default:"false" help:"call runtime.Goexit instead"`
}

func (Broken) Combiner() pregel.Combiner[int64] { return combiners.Min[int64]() }

func (p Broken) Compute(v *vertex, _ int64) {
	if v.ID() == p.At && v.Superstep() == 2 {
		if p.Exit {
			runtime.Goexit()
		}
		panic("no such thing")
	}
}

// Misled is a breadth-first search in which every vertex is its own parent.
type Misled struct {
	Source pregel.VertexID `param:"source" help:"root of the search"`
}

func (Misled) Combiner() pregel.Combiner[pregel.VertexID] { return combiners.Sender() }

func (p Misled) Start() (pregel.VertexID, []pregel.VertexID) {
	return pregel.None, []pregel.VertexID{p.Source}
}

func (p Misled) Init(v *pregel.Vertex[pregel.VertexID, pregel.VertexID]) { p.Compute(v, v.ID()) }

func (Misled) Compute(v *pregel.Vertex[pregel.VertexID, pregel.VertexID], _ pregel.VertexID) {
	v.Set(v.ID())
	v.SendToAllNeighbors(v.ID())
	v.Finish()
}
