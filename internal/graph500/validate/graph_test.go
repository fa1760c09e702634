package validate

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/generate"
)

// tuple is an edge in the tests' notation.
type tuple struct {
	u, v uint64
	w    float32
}

func listOf(n int, tuples []tuple) *edges.Packed {
	ends, weights := make([][2]uint64, len(tuples)), make([]float64, len(tuples))
	for i, t := range tuples {
		ends[i], weights[i] = [2]uint64{t.u, t.v}, float64(t.w)
	}
	return edges.Pack(uint64(n), ends, weights)
}

// kronecker makes a graph of the benchmark.
func kronecker(t testing.TB, scale int, weights edges.Weights) (*edges.Input, []tuple) {
	in, err := generate.Input(t.Context(),
		generate.Kronecker{Scale: scale, EdgeFactor: 16, Seed1: 2, Seed2: 3},
		generate.Options{Weights: weights})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.Close)
	var tuples []tuple
	var b edges.Block
	for i := range edges.Blocks(in.Edges) {
		if err := in.Edges.Read(i, &b); err != nil {
			t.Fatal(err)
		}
		for j := range b.N {
			tuples = append(tuples, tuple{b.U[j], b.V[j], float32(b.W[j])})
		}
	}
	return in, tuples
}

// random makes a small random graph: sparse or dense, with loops, duplicates and zero weights.
func random(rng *rand.Rand) (int, []tuple) {
	n := 1 + rng.IntN(40)
	tuples := make([]tuple, rng.IntN(3*n+1))
	weight := []func() float32{
		rng.Float32,
		func() float32 { return float32(rng.IntN(3)) / 4 },
		func() float32 { return 0 },
	}[rng.IntN(3)]
	for i := range tuples {
		tuples[i] = tuple{rng.Uint64N(uint64(n)), rng.Uint64N(uint64(n)), weight()}
		if i > 0 && rng.IntN(8) == 0 {
			tuples[i].u, tuples[i].v = tuples[i-1].v, tuples[i-1].u
		}
	}
	return n, tuples
}

type half struct {
	to uint32
	w  float32
}

func adjacency(n int, tuples []tuple) [][]half {
	adjacent := make([][]half, n)
	for _, t := range tuples {
		adjacent[t.u] = append(adjacent[t.u], half{uint32(t.v), t.w})
		adjacent[t.v] = append(adjacent[t.v], half{uint32(t.u), t.w})
	}
	return adjacent
}

// breadthFirst returns a BFS tree. Each parent is chosen at random from the possible ones.
func breadthFirst(rng *rand.Rand, n int, tuples []tuple, root uint32) []uint32 {
	adjacent := adjacency(n, tuples)
	parent, level := slices.Repeat([]uint32{Unreached}, n), make([]int, n)
	parent[root] = root
	queue := []uint32{root}
	for i := 0; i < len(queue); i++ {
		u := queue[i]
		for _, h := range adjacent[u] {
			if parent[h.to] == Unreached {
				parent[h.to], level[h.to] = u, level[u]+1
				queue = append(queue, h.to)
			} else if level[h.to] == level[u]+1 && rng.IntN(2) == 0 {
				parent[h.to] = u
			}
		}
	}
	return parent
}

// shortest returns a shortest-path tree and its distances. Parents are chosen at random from the
// possible ones.
func shortest(rng *rand.Rand, n int, tuples []tuple, root uint32) ([]uint32, []float32) {
	adjacent := adjacency(n, tuples)
	parent, dist := slices.Repeat([]uint32{Unreached}, n), slices.Repeat([]float32{-1}, n)
	settled := make([]bool, n)
	todo := &queue{{root, root, 0}}
	for todo.Len() > 0 {
		p := heap.Pop(todo).(path)
		if settled[p.to] {
			continue
		}
		// choose any of several shortest paths: all in the queue come from settled vertices, so
		// none makes a cycle
		if n < 100 {
			for _, q := range *todo {
				if q.to == p.to && q.dist == p.dist && rng.IntN(2) == 0 {
					p = q
				}
			}
		}
		settled[p.to], parent[p.to], dist[p.to] = true, p.from, p.dist
		for _, h := range adjacent[p.to] {
			if !settled[h.to] {
				heap.Push(todo, path{h.to, p.to, p.dist + h.w})
			}
		}
	}
	return parent, dist
}

type path struct {
	to, from uint32
	dist     float32
}

type queue []path

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].dist < q[j].dist }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(path)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = (*q)[:last]
	return x
}

// broken returns the rules that a result breaks. It checks each rule in the simplest way. dist is
// nil for BFS trees. Rule 0 stands for everything that the validators check before the rules.
func broken(n int, tuples []tuple, root uint32, parent []uint32, dist []float32) map[int]bool {
	rules := map[int]bool{}
	for x, p := range parent {
		if p != Unreached && int(p) >= n {
			rules[0] = true
		}
		if dist != nil && (math.IsNaN(float64(dist[x])) || dist[x] < 0 && dist[x] != -1 ||
			(dist[x] == -1) != (p == Unreached)) {
			rules[0] = true
		}
	}
	if rules[0] || parent[root] != root || dist != nil && dist[root] != 0 {
		return map[int]bool{0: true}
	}
	level := make([]int, n)
	for x := range parent {
		at := uint32(x)
		for level[x] = 0; parent[x] != Unreached && at != root; level[x]++ {
			if at = parent[at]; at == Unreached || level[x] > n {
				return map[int]bool{1: true}
			}
		}
	}
	joined, exact := make([]bool, n), make([]bool, n)
	joined[root], exact[root] = true, true
	for _, t := range tuples {
		if (parent[t.u] == Unreached) != (parent[t.v] == Unreached) {
			rules[4] = true
		}
		if t.u == t.v || parent[t.u] == Unreached || parent[t.v] == Unreached {
			continue
		}
		for _, e := range [][2]uint64{{t.u, t.v}, {t.v, t.u}} {
			from, to := e[0], e[1]
			if dist == nil && level[to] > level[from]+1 || dist != nil && dist[to] > dist[from]+
				t.w {
				rules[3] = true
			}
			if uint64(parent[to]) == from {
				joined[to] = true
				exact[to] = exact[to] || dist == nil || dist[to] == dist[from]+t.w
			}
		}
	}
	for x, p := range parent {
		if p != Unreached {
			rules[5] = rules[5] || !joined[x]
			rules[2] = rules[2] || joined[x] && !exact[x]
		}
	}
	for r, is := range rules {
		if !is {
			delete(rules, r)
		}
	}
	return rules
}

// span returns the first vertex of a rank's range, and the end.
func (v *Validator) span(rank int) (lo, hi int) {
	lo = min(rank*v.per, v.n)
	return lo, lo + v.size(rank)
}
