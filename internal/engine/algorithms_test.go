package engine_test

import (
	"math"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	_ "github.com/superstep-go/superstep/internal/laxgc"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

// adjacency returns the shape's lists of neighbours, for the sequential twins.
func (s shape) adjacency() (out [][]int, weights [][]float64) {
	out, weights = make([][]int, s.n), make([][]float64, s.n)
	add := func(u, v uint64, w float64) {
		out[u], weights[u] = append(out[u], int(v)), append(weights[u], w)
	}
	for i, t := range s.tuples {
		add(t[0], t[1], s.weights[i])
		if !s.directed && t[0] != t[1] {
			add(t[1], t[0], s.weights[i])
		}
	}
	return out, weights
}

func levels(out [][]int, source int) []int64 {
	level := make([]int64, len(out))
	for i := range level {
		level[i] = math.MaxInt64
	}
	level[source] = 0
	for queue := []int{source}; len(queue) > 0; queue = queue[1:] {
		for _, v := range out[queue[0]] {
			if level[v] == math.MaxInt64 {
				level[v] = level[queue[0]] + 1
				queue = append(queue, v)
			}
		}
	}
	return level
}

func distances(out [][]int, weights [][]float64, source int) []float64 {
	dist := make([]float64, len(out))
	for i := range dist {
		dist[i] = math.Inf(1)
	}
	dist[source] = 0
	for changed := true; changed; {
		changed = false
		for u := range out {
			for i, v := range out[u] {
				if d := dist[u] + weights[u][i]; d < dist[v] {
					dist[v], changed = d, true
				}
			}
		}
	}
	return dist
}

func TestBFSAgainstTwin(t *testing.T) {
	for i, shape := range shapes(1) {
		graphs := shape.partitioned(edges.Unweighted)
		out, _ := shape.adjacency()
		source := shape.n / 3
		want := levels(out, source)
		for k, s := range forShape(i, shape, inGrids(delivery.ChooseRingPull)) {
			g := graphs.in(t, s)
			id, _ := g.Find(uint64(source))
			got, _ := run(t, g, algorithms.BFSLevels{Source: id}, s)
			for v := range want {
				if got[v] != want[v] {
					t.Fatalf("%s, %v: level of %d is %d, want %d", shape.name, s, v, got[v],
						want[v])
				}
			}
			parents, _ := run(t, g, algorithms.BFS{Source: id}, s)
			checkTree(t, shape, s, g.Order, out, want, parents)
			if k%2 == 0 {
				parents, _ = run(t, g, vertexBFS{Source: id}, s)
				checkTree(t, shape, s, g.Order, out, want, parents)
			}
		}
	}
}

func checkTree(
	t *testing.T, shape shape, s setting, order []uint32, out [][]int, level []int64,
	parents []pregel.VertexID,
) {
	t.Helper()
	for v, p := range parents {
		if (p == pregel.None) != (level[v] == math.MaxInt64) {
			t.Fatalf("%s, %v: parent of %d is %d at level %d", shape.name, s, v, p, level[v])
		}
		if p == pregel.None || level[v] == 0 {
			continue
		}
		u, found := int(order[p]), false
		for _, x := range out[u] {
			found = found || x == v
		}
		if !found || level[u] != level[v]-1 {
			t.Fatalf("%s, %v: parent of %d (level %d) is %d (level %d), edge %t", shape.name, s, v,
				level[v], u, level[u], found)
		}
	}
}

func TestSSSPAgainstTwin(t *testing.T) {
	for i, shape := range shapes(2) {
		graphs := shape.partitioned(edges.Float64)
		out, weights := shape.adjacency()
		source := shape.n / 2
		want := distances(out, weights, source)
		for k, s := range forShape(i, shape, inGrids()) {
			g := graphs.in(t, s)
			id, _ := g.Find(uint64(source))
			var got []float64
			if (i+k)%2 == 0 {
				got, _ = run(t, g, algorithms.SSSP[float64]{Source: id}, s)
			} else {
				tree, _ := run(t, g, algorithms.SSSPTree[float64]{Source: id}, s)
				for _, hop := range tree {
					got = append(got, hop.Dist)
				}
			}
			for v := range want {
				if got[v] != want[v] {
					t.Fatalf("%s, %v: distance of %d is %g, want %g", shape.name, s, v, got[v],
						want[v])
				}
			}
		}
	}
}

func TestWCCAgainstTwin(t *testing.T) {
	for i, shape := range shapes(3) {
		graphs := shape.partitioned(edges.Unweighted)
		components := shape.components()
		for _, s := range forShape(i, shape, inGrids()) {
			g := graphs.in(t, s)
			got, _ := run(t, g, algorithms.WCC{}, s)
			least := slices.Repeat([]pregel.VertexID{pregel.None}, shape.n)
			for v, c := range components {
				least[c] = min(least[c], pregel.VertexID(g.IDs[v]))
			}
			for v, c := range components {
				if got[v] != least[c] {
					t.Fatalf("%s, %v: component of %d is %d, want %d", shape.name, s, v, got[v],
						least[c])
				}
			}
		}
	}
}

// components returns the first vertex of each vertex's component.
func (s shape) components() []int {
	s.directed = false
	out, _ := s.adjacency()
	of := slices.Repeat([]int{-1}, s.n)
	for v := range of {
		if of[v] >= 0 {
			continue
		}
		for u, level := range levels(out, v) {
			if level < math.MaxInt64 {
				of[u] = v
			}
		}
	}
	return of
}

// ranking is PageRank by sums along lists.
func ranking(out [][]int, iterations int) []float64 {
	n := float64(len(out))
	rank := make([]float64, len(out))
	for v := range rank {
		rank[v] = 1 / n
	}
	for range iterations {
		next, loose := make([]float64, len(out)), 0.0
		for u, list := range out {
			for _, v := range list {
				next[v] += rank[u] / float64(len(list))
			}
			if len(list) == 0 {
				loose += rank[u]
			}
		}
		for v := range next {
			next[v] = 0.15/n + 0.85*(next[v]+loose/n)
		}
		rank = next
	}
	return rank
}

func TestPageRankAgainstTwin(t *testing.T) {
	for i, shape := range shapes(4) {
		graphs := shape.partitioned(edges.Unweighted)
		out, _ := shape.adjacency()
		want := ranking(out, 7)
		var exact []float64
		for _, s := range forShape(i, shape, inGrids()) {
			g := graphs.in(t, s)
			if s.o.Deterministic && s.o.Delivery != 0 {
				continue
			}
			got, o := run(t, g, algorithms.PageRank{Damping: 0.85, Iterations: 7}, s)
			if o.Supersteps != 8 || o.Ended != trace.Iterations {
				t.Fatalf("%s, %v: %+v", shape.name, s, o)
			}
			for v := range want {
				if math.Abs(got[v]-want[v]) > 1e-12 {
					t.Fatalf("%s, %v: rank of %d is %g, want %g", shape.name, s, v, got[v], want[v])
				}
			}
			if s.o.Deterministic {
				if exact == nil {
					exact = got
				}
				for v := range exact {
					if exact[v] != got[v] {
						t.Fatalf("%s, %v: rank of %d is %g, and %g with other partitions",
							shape.name, s, v, got[v], exact[v])
					}
				}
			}
		}
	}
}
