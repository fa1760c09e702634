package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// vertexBFS and vertexPageRank are the programs with only their vertex form. vertexWCC has only
// labels, without the search.
type (
	vertexBFS      algorithms.BFS
	vertexPageRank algorithms.PageRank
	vertexWCC      struct{}
)

func (vertexBFS) Combiner() pregel.Combiner[id]   { return algorithms.BFS{}.Combiner() }
func (p vertexBFS) Start() (id, []id)             { return algorithms.BFS(p).Start() }
func (p vertexBFS) Init(v *pregel.Vertex[id, id]) { p.Compute(v, v.ID()) }
func (vertexBFS) Compute(v *pregel.Vertex[id, id], from id) {
	v.Set(from)
	v.SendToAllNeighbors(v.ID())
	v.Finish()
}

func (vertexPageRank) Combiner() pregel.Combiner[float64] {
	return algorithms.PageRank{}.Combiner()
}

func (p vertexPageRank) Traits() pregel.Traits { return algorithms.PageRank(p).Traits() }

func (p vertexPageRank) Coordinate(c *pregel.Coordinator) {
	algorithms.PageRank(p).Coordinate(c)
}
func (p vertexPageRank) Init(v *pregel.Vertex[float64, float64]) { algorithms.PageRank(p).Init(v) }
func (p vertexPageRank) Compute(v *pregel.Vertex[float64, float64], sum float64) {
	algorithms.PageRank(p).Compute(v, sum)
}

func (vertexWCC) Combiner() pregel.Combiner[id] { return algorithms.WCC{}.Combiner() }

func (vertexWCC) Traits() pregel.Traits {
	return pregel.Traits{Direction: pregel.Both, Monotone: true}
}
func (vertexWCC) Resend(v *pregel.Vertex[id, id]) { algorithms.WCC{}.Resend(v) }
func (p vertexWCC) Compute(v *pregel.Vertex[id, id], least id) {
	algorithms.WCC{}.Compute(v, least)
}

func (p vertexWCC) Init(v *pregel.Vertex[id, id]) {
	v.Set(v.ID())
	v.SendToAllNeighbors(v.ID())
	if v.VoteToHalt(); v.ID() == 0 {
		v.Finish()
	}
}

type id = pregel.VertexID

// layerGraph returns a Kronecker graph as kernel 1 makes it.
func layerGraph(b *testing.B, scale int, team *parallel.Team) (*graph.Graph, []pregel.VertexID) {
	gen := generate.Kronecker{Scale: scale, EdgeFactor: 16, Seed1: 2, Seed2: 3}
	in, err := generate.Input(b.Context(), gen, generate.Options{Team: team})
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	g, err := build.Local(b.Context(), in,
		graph.Options{DropLoops: true, Duplicates: graph.LeastDuplicate, Team: team})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(g.Close)
	var ids []pregel.VertexID
	for _, r := range gen.Roots(64, func(v uint64) bool { return int(g.IDs[v]) < g.Connected }) {
		id, _ := g.Find(r)
		ids = append(ids, id)
	}
	return g, ids
}

// BenchmarkLayerBFS searches from the roots of Graph500, in turn by hand, by the vertex form and by
// the block form. It reports the sums of the times and their ratios.
func BenchmarkLayerBFS(b *testing.B) {
	for _, scale := range layerScales() {
		b.Run(fmt.Sprintf("scale=%d", scale), func(b *testing.B) {
			team := parallel.NewTeam(2, true)
			defer team.Close()
			g, roots := layerGraph(b, scale, team)
			hand := newHandBFS(g, team)
			vertex, err := engine.NewJob(b.Context(), g, pregel.Erase(vertexBFS{}),
				engine.Options{Team: team})
			if err != nil {
				b.Fatal(err)
			}
			defer vertex.Close()
			block, err := engine.NewJob(b.Context(), g, pregel.Erase(algorithms.BFS{}),
				engine.Options{Team: team})
			if err != nil {
				b.Fatal(err)
			}
			defer block.Close()
			var byHand, byVertex, byBlock time.Duration
			for b.Loop() {
				for _, root := range roots {
					hand.prepare()
					byHand += clocked(func() { hand.run(uint32(root)) })
					p := algorithms.BFS{Source: root}
					check(b, vertex.Restart(pregel.Erase(vertexBFS(p))))
					vertex.Prepare()
					byVertex += clocked(func() { _, err = vertex.Run(b.Context()) })
					check(b, err)
					check(b, block.Restart(pregel.Erase(p)))
					block.Prepare()
					byBlock += clocked(func() { _, err = block.Run(b.Context()) })
					check(b, err)
				}
			}
			searches := float64(b.N * len(roots))
			b.ReportMetric(byHand.Seconds()*1e3/searches, "hand-ms")
			b.ReportMetric(byVertex.Seconds()*1e3/searches, "vertex-ms")
			b.ReportMetric(byBlock.Seconds()*1e3/searches, "block-ms")
			b.ReportMetric(byVertex.Seconds()/byHand.Seconds(), "vertex/hand")
			b.ReportMetric(byBlock.Seconds()/byHand.Seconds(), "block/hand")
		})
	}
}

// BenchmarkLayerPageRank runs ten iterations, in turn by hand, by the vertex form and by the block
// form. It reports the time of one iteration.
func BenchmarkLayerPageRank(b *testing.B) {
	const iterations = 10
	for _, scale := range layerScales() {
		b.Run(fmt.Sprintf("scale=%d", scale), func(b *testing.B) {
			team := parallel.NewTeam(2, true)
			defer team.Close()
			g, _ := layerGraph(b, scale, team)
			rank, share, next := make([]float64, g.N), make([]float64, g.N), make([]float64, g.N)
			p := algorithms.PageRank{Damping: 0.85, Iterations: iterations}
			block, err := engine.NewJob(b.Context(), g, pregel.Erase(p), engine.Options{Team: team})
			if err != nil {
				b.Fatal(err)
			}
			defer block.Close()
			vertex, err := engine.NewJob(b.Context(), g, pregel.Erase(vertexPageRank(p)),
				engine.Options{Team: team})
			if err != nil {
				b.Fatal(err)
			}
			defer vertex.Close()
			var byHand, byVertex, byBlock time.Duration
			for b.Loop() {
				for v := range rank {
					lo, hi := g.Parts[0].In.Row(uint32(v))
					rank[v] = 1 / float64(g.N)
					share[v] = rank[v] / float64(max(hi-lo, 1))
				}
				byHand += clocked(func() {
					for range iterations {
						handPageRank(g, team, rank, share, next)
						share, next = next, share
					}
				})
				check(b, block.Restart(pregel.Erase(p)))
				block.Prepare()
				byBlock += clocked(func() { _, err = block.Run(b.Context()) })
				check(b, err)
				vertex.Prepare()
				byVertex += clocked(func() { _, err = vertex.Run(b.Context()) })
				check(b, err)
			}
			each := float64(b.N * iterations)
			b.ReportMetric(byHand.Seconds()*1e3/each, "hand-ms")
			b.ReportMetric(byVertex.Seconds()*1e3/each, "vertex-ms")
			b.ReportMetric(byBlock.Seconds()*1e3/each, "block-ms")
			b.ReportMetric(byVertex.Seconds()/byHand.Seconds(), "vertex/hand")
			b.ReportMetric(byBlock.Seconds()/byHand.Seconds(), "block/hand")
		})
	}
}

// layerScales returns the scales to compare; with -short only the smallest.
func layerScales() []int {
	if testing.Short() {
		return []int{16}
	}
	return []int{16, 18, 20, 22}
}

func clocked(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
