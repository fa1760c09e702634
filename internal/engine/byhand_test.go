package engine_test

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"testing"
	"time"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// The same algorithms by hand, over the same lists: what the layer of vertex programs costs is the ratio of the times.

// handBFS is a direction-optimizing search (Beamer 2012) with all that the engine's has: degree order, the first
// neighbours apart, bitmaps, hubs' words first; but no programs, no messages, no counts, no model.
type handBFS struct {
	l      *pregel.Lists
	n      int
	team   *parallel.Team
	parent []uint32
	seen   []uint64
	front  []uint64
	next   []uint64
	chunks []uint32
	taken  parallel.Counter
	found  []int // per worker, padded
	edges  []int
}

func newHandBFS(g *graph.Graph, team *parallel.Team) *handBFS {
	p := g.Parts[0]
	words := p.Words()
	return &handBFS{
		l: &p.In.Lists, n: g.N, team: team, parent: make([]uint32, g.N), chunks: p.In.Chunks,
		seen: make([]uint64, words), front: make([]uint64, words), next: make([]uint64, words),
		found: make([]int, 16*team.Size()), edges: make([]int, 16*team.Size()),
	}
}

func (h *handBFS) prepare() {
	for i := range h.parent {
		h.parent[i] = ^uint32(0)
	}
}

func (h *handBFS) run(root uint32) {
	clear(h.seen)
	clear(h.front)
	clear(h.next)
	h.parent[root] = root
	h.seen[root>>6] |= 1 << (root & 63)
	h.front[root>>6] |= 1 << (root & 63)
	lo, hi := h.l.Row(root)
	found, edges, pulling := 1, int(hi-lo), false
	total := len(h.l.Adj)
	for found > 0 {
		before := found
		switch {
		case !pulling && edges > total/30:
			pulling = true
		case pulling && found < h.n/24 && found < before:
			pulling = false
		}
		if pulling {
			found, edges = h.up()
			if found < h.n/24 {
				pulling = false
			}
		} else {
			found, edges = h.down(edges)
		}
		h.front, h.next = h.next, h.front
		clear(h.next)
	}
}

func (h *handBFS) sums() (found, edges int) {
	for i := 0; i < len(h.found); i += 16 {
		found += h.found[i]
		edges += h.edges[i]
		h.found[i], h.edges[i] = 0, 0
	}
	return found, edges
}

func (h *handBFS) up() (int, int) {
	l := h.l
	h.taken.Reset(0)
	h.team.Run(func(worker int) {
		found, edges := 0, 0
		for {
			c := h.taken.Take(1)
			if c >= len(h.chunks)-1 {
				break
			}
			for w := int(h.chunks[c]); w < int(h.chunks[c+1]); w++ {
				rows, base := l.Bits[w], l.Rank[w]
				need := rows &^ h.seen[w]
				if need == 0 {
					continue
				}
				hit := uint64(0)
				for m := need; m != 0; m &= m - 1 {
					i := uint(bits.TrailingZeros64(m)) & 63
					s := l.Heads[base+uint32(bits.OnesCount64(rows&(1<<i-1)))]
					if h.front[s>>6]>>(s&63)&1 != 0 {
						hit |= 1 << i
						h.parent[w<<6+int(i)] = s
					}
				}
				for m := need &^ hit; m != 0; m &= m - 1 {
					i := uint(bits.TrailingZeros64(m)) & 63
					r := base + uint32(bits.OnesCount64(rows&(1<<i-1)))
					for _, s := range l.Adj[l.Starts[r]+1 : l.Starts[r+1]] {
						if h.front[s>>6]>>(s&63)&1 != 0 {
							hit |= 1 << i
							h.parent[w<<6+int(i)] = s
							break
						}
					}
				}
				h.seen[w] |= hit
				h.next[w] = hit
				found += bits.OnesCount64(hit)
			}
		}
		h.found[16*worker], h.edges[16*worker] = found, edges
	})
	found, _ := h.sums()
	return found, 0
}

func (h *handBFS) down(edges int) (int, int) {
	h.taken.Reset(0)
	task := func(worker int) {
		found, edges := 0, 0
		for {
			c := h.taken.Take(1)
			if c >= len(h.chunks)-1 {
				break
			}
			for w := int(h.chunks[c]); w < int(h.chunks[c+1]); w++ {
				for m := h.front[w]; m != 0; m &= m - 1 {
					u := uint32(w<<6 + bits.TrailingZeros64(m))
					lo, hi := h.l.Row(u)
					for _, v := range h.l.Adj[lo:hi] {
						bit := uint64(1) << (v & 63)
						if atomic.LoadUint64(&h.seen[v>>6])&bit != 0 || atomic.OrUint64(&h.seen[v>>6], bit)&bit != 0 {
							continue
						}
						atomic.OrUint64(&h.next[v>>6], bit)
						h.parent[v] = u
						found++
						a, b := h.l.Row(v)
						edges += int(b - a)
					}
				}
			}
		}
		h.found[16*worker], h.edges[16*worker] = found, edges
	}
	if edges < 4096 {
		task(0)
	} else {
		h.team.Run(task)
	}
	return h.sums()
}

// handPageRank is one iteration of PageRank with messages in an array of their own.
func handPageRank(g *graph.Graph, team *parallel.Team, rank, share, next []float64) {
	p := g.Parts[0]
	l, n := &p.In.Lists, float64(g.N)
	loose := 0.0
	for v := g.Connected; v < g.N; v++ {
		loose += rank[v]
	}
	base := 0.15/n + 0.85*loose/n
	var taken parallel.Counter
	team.Run(func(int) {
		for {
			c := taken.Take(1)
			if c >= len(p.In.Chunks)-1 {
				return
			}
			for v := p.In.Chunks[c] << 6; v < min(p.In.Chunks[c+1]<<6, uint32(g.N)); v++ {
				lo, hi := l.Row(v)
				sum := 0.0
				for _, u := range l.Adj[lo:hi] {
					sum += share[u]
				}
				r := base + 0.85*sum
				rank[v] = r
				next[v] = r / float64(max(hi-lo, 1))
			}
		}
	})
}

// layerGraph is a Kronecker graph as kernel 1 makes it.
func layerGraph(b *testing.B, scale int, team *parallel.Team) (*graph.Graph, []pregel.VertexID) {
	gen := generate.Kronecker{Scale: scale, EdgeFactor: 16, Seed1: 2, Seed2: 3}
	in, err := generate.Input(b.Context(), gen, generate.Options{Team: team})
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	g, err := graph.Build(b.Context(), in, graph.Options{DropLoops: true, Duplicates: graph.LeastDuplicate, TupleDegrees: true, Team: team})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(g.Close)
	var ids []pregel.VertexID
	for _, r := range gen.Roots(64, func(v uint64) bool { return g.TupleDegrees[v] > 0 }) {
		id, _ := g.Find(r)
		ids = append(ids, id)
	}
	return g, ids
}

// BenchmarkLayerBFS searches from the roots of Graph500, by turns by hand, by the vertex form and by the block form, and
// reports the sums of the times and their ratios.
func BenchmarkLayerBFS(b *testing.B) {
	for _, scale := range layerScales() {
		b.Run(fmt.Sprintf("scale=%d", scale), func(b *testing.B) {
			team := parallel.NewTeam(2, true)
			defer team.Close()
			g, roots := layerGraph(b, scale, team)
			hand := newHandBFS(g, team)
			vertex, err := engine.NewJob(g, algorithms.BFS{}, engine.Options{Team: team})
			if err != nil {
				b.Fatal(err)
			}
			defer vertex.Close()
			block, err := engine.NewJob(g, algorithms.BFSBlocks{}, engine.Options{Team: team})
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
					check(b, vertex.Restart(p))
					vertex.Prepare()
					byVertex += clocked(func() { _, err = vertex.Run(b.Context()) })
					check(b, err)
					check(b, block.Restart(algorithms.BFSBlocks{BFS: p}))
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

// BenchmarkLayerPageRank runs ten iterations, by turns by hand and by the block form, and reports the time of one.
func BenchmarkLayerPageRank(b *testing.B) {
	const iterations = 10
	for _, scale := range layerScales() {
		b.Run(fmt.Sprintf("scale=%d", scale), func(b *testing.B) {
			team := parallel.NewTeam(2, true)
			defer team.Close()
			g, _ := layerGraph(b, scale, team)
			rank, share, next := make([]float64, g.N), make([]float64, g.N), make([]float64, g.N)
			p := algorithms.PageRank{Damping: 0.85, Iterations: iterations}
			block, err := engine.NewJob(g, p, engine.Options{Team: team})
			if err != nil {
				b.Fatal(err)
			}
			defer block.Close()
			var byHand, byBlock time.Duration
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
				check(b, block.Restart(p))
				block.Prepare()
				byBlock += clocked(func() { _, err = block.Run(b.Context()) })
				check(b, err)
			}
			each := float64(b.N * iterations)
			b.ReportMetric(byHand.Seconds()*1e3/each, "hand-ms")
			b.ReportMetric(byBlock.Seconds()*1e3/each, "block-ms")
			b.ReportMetric(byBlock.Seconds()/byHand.Seconds(), "block/hand")
		})
	}
}

// layerScales are the sizes to compare at; the least alone with -short.
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
