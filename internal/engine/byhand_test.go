package engine_test

import (
	"math/bits"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/parallel"
)

// The same algorithms written by hand, over the same lists. The ratio of the times is the cost of
// the layer of vertex programs.

// handBFS is a direction-optimizing search (Beamer 2012) with the optimizations of the engine's:
// degree order, first neighbours stored separately, bitmaps, words of hubs first. It has no
// programs, messages, counts or cost model.
type handBFS struct {
	l      *kernel.Lists
	n      int
	team   *parallel.Team
	parent []uint32 // whole words
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
		l: &p.In.Lists, n: g.N, team: team, parent: make([]uint32, words<<6), chunks: p.In.Chunks,
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
		found, chunks := 0, len(h.chunks)-1
		for from, to := h.taken.TakePart(chunks,
			8*h.team.Size()); from < to; from, to = h.taken.TakePart(chunks, 8*h.team.Size()) {
			for w := int(h.chunks[from]); w < int(h.chunks[to]); w++ {
				need := l.Bits[w] &^ h.seen[w]
				if need == 0 {
					continue
				}
				hit := h.upWord(w, need)
				h.seen[w] |= hit
				h.next[w] = hit
				found += bits.OnesCount64(hit)
			}
		}
		h.found[16*worker] = found
	})
	found, _ := h.sums()
	return found, 0
}

// upWord looks for parents of the vertices need of word w: first among first neighbours, all 64 at
// once if many are needed, then among second neighbours, then among the rest.
func (h *handBFS) upWord(w int, need uint64) (hit uint64) {
	l, front := h.l, h.front
	rows, base := l.Bits[w], l.Rank[w]
	parent := (*[64]uint32)(h.parent[w<<6:])
	if rows == ^uint64(0) && bits.OnesCount64(need) > 20 {
		heads := (*[64]uint32)(l.Heads[base:])
		for i := 0; i < 64; i += 2 {
			a, b := heads[i], heads[i+1]
			hit = hit>>2 | (front[a>>6]>>(a&63)&1)<<62 | (front[b>>6]>>(b&63)&1)<<63
		}
		hit &= need
		for m := hit; m != 0; m &= m - 1 {
			i := bits.TrailingZeros64(m) & 63
			parent[i] = heads[i]
		}
	} else {
		hit = h.look(l.Heads[base:], rows, need, parent)
	}
	if need &^= hit; need == 0 || l.Same[w] == 1 {
		return hit
	}
	second := h.look(l.Seconds[base:], rows, need, parent)
	hit |= second
	for m := need &^ second; m != 0; m &= m - 1 {
		i := uint(bits.TrailingZeros64(m)) & 63
		r := base + uint32(bits.OnesCount64(rows&(1<<i-1)))
		lo, hi := l.Starts[r], l.Starts[r+1]
		for _, s := range l.Adj[min(lo+2, hi):hi] {
			if front[s>>6]>>(s&63)&1 != 0 {
				hit |= 1 << i
				parent[i] = s
				break
			}
		}
	}
	return hit
}

// look looks at one neighbour of each row of need.
func (h *handBFS) look(neighbors []uint32, rows, need uint64, parent *[64]uint32) (hit uint64) {
	for m := need; m != 0; m &= m - 1 {
		i := uint(bits.TrailingZeros64(m)) & 63
		s := neighbors[bits.OnesCount64(rows&(1<<i-1))]
		if h.front[s>>6]>>(s&63)&1 != 0 {
			hit |= 1 << i
			parent[i] = s
		}
	}
	return hit
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
						if atomic.LoadUint64(&h.seen[v>>6])&bit != 0 ||
							atomic.OrUint64(&h.seen[v>>6], bit)&bit != 0 {
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

// handPageRank is one iteration of PageRank, with messages in a separate array.
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
