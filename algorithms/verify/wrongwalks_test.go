package verify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// town makes a random graph: a circle, additional arcs from each vertex, and a parallel arc for
// every third arc.
func town(t *testing.T, rng *rand.Rand, n, arcs int) (Graph, adjacency) {
	var tuples [][2]uint64
	for v := range n {
		tuples = append(tuples, [2]uint64{uint64(v), uint64((v + 1) % n)})
		for range arcs {
			tuples = append(tuples, [2]uint64{uint64(v), uint64(rng.IntN(n))})
		}
		if v%3 == 0 {
			tuples = append(tuples, tuples[len(tuples)-1])
		}
	}
	g := graph(t, n, false, tuples, nil)
	out, _ := g.adjacency(outward, multigraph)
	return g, out
}

// walk makes random walks. weight returns the weight of arc i of vertex at; before is the previous
// vertex, at first -1.
func (a adjacency) walk(rng *rand.Rand, number, length int, weight func(before, at,
	i int) float64,
) [][][]uint64 {
	all := make([][][]uint64, len(a.start)-1)
	for v := range all {
		for range number {
			w, before, at := []uint64{uint64(v)}, -1, v
			for range length {
				sum, shares := 0.0, make([]float64, len(a.of(at)))
				for i := range shares {
					shares[i] = weight(before, at, i)
					sum += shares[i]
				}
				x, i := rng.Float64()*sum, 0
				for ; i < len(shares)-1 && x >= shares[i]; i++ {
					x -= shares[i]
				}
				before, at = at, int(a.of(at)[i])
				w = append(w, uint64(at))
			}
			all[v] = append(all[v], w)
		}
	}
	return all
}

// node2vec returns the right weights.
func (a adjacency) node2vec(p, q float64) func(before, at, i int) float64 {
	return func(before, at, i int) float64 {
		switch to := a.of(at)[i]; {
		case before < 0:
		case int(to) == before:
			return 1 / p
		case !a.has(int(to), uint32(before)):
			return 1 / q
		}
		return 1
	}
}

// TestRightWalks: right walks are accepted. Their likelihood ratio has mean 1, so by Markov's
// inequality it is at least x in at most 1/x of the runs.
func TestRightWalks(t *testing.T) {
	const runs = 2000
	beyond := map[float64]int{2: 0, 10: 0, 100: 0}
	for seed := range uint64(runs) {
		rng := rand.New(rand.NewPCG(seed, 48))
		g, out := town(t, rng, 3+rng.IntN(12), rng.IntN(4))
		number, length := 1+rng.IntN(8), 1+rng.IntN(8)
		p, q := math.Exp2(float64(rng.IntN(7)-3)), math.Exp2(float64(rng.IntN(7)-3))
		if seed%3 == 0 {
			p, q = 1, 1
		}
		walks := out.walk(rng, number, length, out.node2vec(p, q))
		if seed%8 == 0 { // the certificate uses the same ratio as below
			wantRule(t, Walks(g, number, length, p, q, walks), "")
		}
		steps, err := out.steps(g, number, length, p != 1 || q != 1, walks)
		if err != nil {
			t.Fatal(err)
		}
		ratio, _ := out.ratio(steps, number, length, p, q)
		for x := range beyond {
			if ratio >= math.Log(x) {
				beyond[x]++
			}
		}
	}
	t.Logf("of %d right results so many have a ratio of at least: %v", runs, beyond)
	for x, n := range beyond {
		if most := runs / x; float64(n) > most+4*math.Sqrt(most) {
			t.Errorf("of %d right results %d have a ratio of at least %g", runs, n, x)
		}
	}
}

// TestRightWalksEnd: a walk that reaches a vertex without out-edges ends early.
func TestRightWalksEnd(t *testing.T) {
	g := graph(t, 3, true, [][2]uint64{{0, 1}, {1, 2}}, nil)
	walks := [][][]uint64{{{0, 1, 2}}, {{1, 2}}, {{2}}}
	wantRule(t, Walks(g, 1, 5, 1, 1, walks), "")
	walks[0][0] = walks[0][0][:2]
	wantRule(t, Walks(g, 1, 5, 1, 1, walks), "length")
}

// TestWalksThatAreSeldomWrong: a large error at a single vertex is found from this vertex's steps.
// A small error at every vertex is found from the kinds of arcs.
func TestWalksThatAreSeldomWrong(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 49))
		g, out := town(t, rng, 150, 4)
		walk := func(number, length int, weight func(before, at, i int) float64) [][][]uint64 {
			return out.walk(rng, number, length, weight)
		}
		one := walk(50, 8, func(_, at, i int) float64 {
			if arcs := out.of(at); at == 1 && arcs[i] == arcs[0] {
				return 0
			}
			return 1
		})
		wantRule(t, Walks(g, 50, 8, 1, 1, one), "chance")
		for _, x := range []float64{0.25, 4} {
			right := walk(4, 4, out.node2vec(1, 1))
			wantRule(t, Walks(g, 4, 4, x, 1, right), "chance")
			wantRule(t, Walks(g, 4, 4, 1, x, right), "chance")
		}
	}
}

// TestWrongWalks: walks that are not random, or have other parameters, are rejected.
func TestWrongWalks(t *testing.T) {
	const number, length = 40, 12
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 46))
		n := 12 + rng.IntN(20)
		g, out := town(t, rng, n, 2)
		walk := func(weight func(before, at, i int) float64) [][][]uint64 {
			return out.walk(rng, number, length, weight)
		}
		node2vec := out.node2vec
		check := func(p, q float64, walks [][][]uint64) error { return Walks(g, number, length, p, q, walks) }
		for _, pq := range [][2]float64{{1, 1}, {0.25, 4}, {4, 0.25}, {2, 1}, {1, 0.5}} {
			wantRule(t, check(pq[0], pq[1], walk(node2vec(pq[0], pq[1]))), "")
		}
		right := walk(node2vec(1, 1))
		change := func(f func(v int, walks [][]uint64) [][]uint64) [][][]uint64 {
			all := make([][][]uint64, n)
			for v := range all {
				all[v] = f(v, slices.Clone(right[v]))
			}
			return all
		}
		for name, wrong := range map[string]struct {
			p, q  float64
			walks [][][]uint64
			rule  string
		}{
			"the first arc":  {1, 1, walk(func(_, _, i int) float64 { return math.Exp2(float64(-40 * i)) }), "chance"},
			"never the last": {1, 1, walk(func(_, at, i int) float64 { return float64(min(1, len(out.of(at))-1-i)) + 1e-9 }), "chance"},
			"the first half": {1, 1, walk(func(_, at, i int) float64 { return 1 + float64(2*i/len(out.of(at))) }), "chance"},
			"hubs":           {1, 1, walk(func(_, at, i int) float64 { return float64(len(out.of(int(out.of(at)[i])))) }), "chance"},
			"parallel arcs as one": {1, 1, walk(func(_, at, i int) float64 {
				if arcs := out.of(at); i > 0 && arcs[i] == arcs[i-1] {
					return 0
				}
				return 1
			}), "chance"},
			"one vertex never goes to its first neighbour": {1, 1, walk(func(_, at, i int) float64 {
				if arcs := out.of(at); at == 1 && arcs[i] == arcs[0] {
					return 0
				}
				return 1
			}), "chance"},
			"never back":            {2, 1, walk(node2vec(1e9, 1)), "chance"},
			"all alike":             {1, 1, change(func(_ int, w [][]uint64) [][]uint64 { return slices.Repeat(w[:1], number) }), "chance"},
			"p not looked at":       {0.25, 1, right, "chance"},
			"q not looked at":       {1, 0.25, right, "chance"},
			"p and q exchanged":     {4, 0.25, walk(node2vec(0.25, 4)), "chance"},
			"p for 1/p":             {4, 1, walk(node2vec(0.25, 1)), "chance"},
			"one too few":           {1, 1, change(func(_ int, w [][]uint64) [][]uint64 { return w[1:] }), "number"},
			"a step too few":        {1, 1, change(func(_ int, w [][]uint64) [][]uint64 { return append(w[1:], w[0][:length]) }), "length"},
			"a step too many":       {1, 1, change(func(_ int, w [][]uint64) [][]uint64 { return append(w[1:], append(slices.Clone(w[0]), w[0][length-1])) }), "length"},
			"a start without walks": {1, 1, change(func(v int, w [][]uint64) [][]uint64 { return w[:number*min(1, v)] }), "number"},
			"another start":         {1, 1, change(func(v int, _ [][]uint64) [][]uint64 { return slices.Clone(right[(v+1)%n]) }), "start"},
			"a vertex that is none": {1, 1, change(func(_ int, w [][]uint64) [][]uint64 {
				return append(w[1:], append(slices.Clone(w[0][:length]), uint64(n)))
			}), "step"},
		} {
			t.Run(fmt.Sprintf("%d %s", seed, name), func(t *testing.T) { wantRule(t, check(wrong.p, wrong.q, wrong.walks), wrong.rule) })
		}
	}
}
