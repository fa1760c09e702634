package graph_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// BenchmarkChanged removes 1 % of the edges of an undirected Kronecker graph of SCALE 18 and adds
// as many, with 2 threads. build is the time to build the graph.
func BenchmarkChanged(b *testing.B) {
	gen := generate.Kronecker{Scale: 18, EdgeFactor: 16, Seed1: 2, Seed2: 3}
	s, err := generate.RankInput(b.Context(), gen, 0, 1, false, generate.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	in := s.Input
	in.Free = nil
	team := parallel.NewTeam(2, true)
	defer team.Close()
	for _, parts := range []int{1, 4} {
		o := graph.Options{Partitions: parts, Duplicates: graph.FirstDuplicate, DropLoops: true, Team: team}
		g, err := build.Local(b.Context(), &in, o)
		if err != nil {
			b.Fatal(err)
		}
		defer g.Close()
		b.Run(fmt.Sprintf("partitions=%d/build", parts), func(b *testing.B) {
			for b.Loop() {
				g, err := build.Local(b.Context(), &in, o)
				if err != nil {
					b.Fatal(err)
				}
				g.Close()
			}
		})
		changes := percent(g, parts)
		if parts == 1 {
			changes[0].Team = team
		}
		b.Run(fmt.Sprintf("partitions=%d/change", parts), func(b *testing.B) {
			for b.Loop() {
				changeTwoAtATime(b, g, changes)
			}
		})
	}
}

// percent returns a change that removes 1 % of the edges and adds as many.
func percent(g *graph.Graph, parts int) []graph.Change {
	rng := rand.New(rand.NewPCG(1, 1))
	changes := make([]graph.Change, parts)
	for i := range changes {
		changes[i].N = g.N
	}
	block, at := edges.Block{}, 0
	list := g.Input()
	defer list.Close()
	for i := 0; i < list.Edges.Len(); i += edges.BlockSize {
		list.Edges.Read(at, &block)
		at++
		for j := range block.N {
			u, v := g.IDs[block.U[j]], g.IDs[block.V[j]]
			if rng.IntN(100) > 0 {
				continue
			}
			c := &changes[int(u)%parts]
			c.Remove = append(c.Remove, graph.Arc{From: pregel.VertexID(u), To: pregel.VertexID(v)})
			u = uint32(rng.IntN(g.Connected))
			c = &changes[int(u)%parts]
			c.Add = append(c.Add, graph.Arc{From: pregel.VertexID(u), To: pregel.VertexID(v)})
		}
	}
	return changes
}

// changeTwoAtATime changes all partitions like a run with 2 threads: two partitions at a time.
func changeTwoAtATime(b *testing.B, g *graph.Graph, changes []graph.Change) {
	changed := make([]*graph.Changed, len(g.Parts))
	m := graph.NewRendezvous(len(g.Parts))
	var group sync.WaitGroup
	for i, p := range g.Parts {
		group.Go(func() {
			var err error
			if changed[i], err = p.Changed(b.Context(), changes[i], m.Exchange(i)); err != nil {
				b.Error(err)
			}
		})
	}
	group.Wait()
	for _, c := range changed {
		c.Close()
	}
}
