package verify

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/parallel"
)

// TestLouvainAtRandom compares the certificate with the definitions of its rules, on random
// communities.
func TestLouvainAtRandom(t *testing.T) {
	team := parallel.NewTeam(2, false)
	defer team.Close()
	broken := map[string]int{}
	for seed := range uint64(5000) {
		rng := rand.New(rand.NewPCG(seed, 5))
		n := 1 + rng.IntN(7)
		a, degree, total := make([]float64, n*n), make([]float64, n), 0.0
		var tuples [][2]uint64
		var weights []float64
		for range rng.IntN(2 * n) {
			u, v, w := rng.IntN(n), rng.IntN(n), []float64{0, 1, 2, 10, 1000}[rng.IntN(5)]
			tuples, weights = append(tuples, [2]uint64{uint64(u), uint64(v)}), append(weights, w)
			a[u*n+v] += w
			a[v*n+u] += w // a loop counts twice
		}
		for i, w := range a {
			degree[i/n] += w
			total += w
		}
		community := make([]uint64, n)
		for v := range community {
			community[v] = uint64(rng.IntN(1 + v%3))
			if rng.IntN(8) > 0 {
				community[v] = community[community[v]]
			}
		}
		quality := func(community []uint64) (q float64) {
			for u, c := range community {
				for v, d := range community {
					if c == d && total > 0 {
						q += (a[u*n+v] - degree[u]*degree[v]/total) / total
					}
				}
			}
			return q
		}
		edgesOf := make([]int, n)
		for _, e := range tuples {
			if edgesOf[e[0]]++; e[0] != e[1] {
				edgesOf[e[1]]++
			}
		}
		want, q := "", quality(community)
		changed := func(rule string, change func(v int, c uint64) uint64) {
			other := make([]uint64, n)
			for v, c := range community {
				other[v] = change(v, c)
			}
			if quality(other) > q+1e-9 {
				want = rule
			}
		}
		for _, c := range community {
			for _, d := range community {
				changed("merge", func(_ int, e uint64) uint64 {
					if e == c {
						return d
					}
					return e
				})
			}
		}
		for u := range community {
			for _, d := range append(slices.Clone(community), uint64(n)) {
				changed("move", func(v int, c uint64) uint64 {
					if v == u {
						return d
					}
					return c
				})
			}
		}
		for s := range community {
			reached := map[int]bool{s: true}
			for range n {
				for u := range reached {
					for v, w := range a[u*n : u*n+n] {
						if w > 0 && community[v] == community[s] {
							reached[v] = true
						}
					}
				}
			}
			for v, c := range community {
				if c == community[s] && !reached[v] {
					want = "connected"
				}
			}
		}
		for v, c := range community {
			if d := edgesOf[v] - edgesOf[c]; community[c] != c || d > 0 || d == 0 && v < int(c) {
				want = "member"
			}
		}
		broken[want]++
		list := edges.Pack(uint64(n), tuples, weights)
		wantRule(t, Louvain(Graph{Edges: list, Vertices: n, Team: team}, 1e-12, q, community), want)
		list.Close()
	}
	for _, rule := range []string{"", "member", "connected", "move"} {
		if broken[rule] < 20 {
			t.Errorf("rule %q was broken %d times", rule, broken[rule])
		}
	}
}

// TestLouvainOfGreatWeights: with overflowing weights, modularity is NaN. The certificate rejects
// it, because it is not at least the modularity of single vertices.
func TestLouvainOfGreatWeights(t *testing.T) {
	for w, want := range map[float64]string{1e200: "", 1e308: "move"} {
		g := graph(t, 4, false, [][2]uint64{{0, 1}, {2, 3}}, []float64{w, w})
		wantRule(t, Louvain(g, 1e-12, 0.5, []uint64{0, 0, 2, 2}), want)
	}
}

// TestLouvainOfPairs: no vertex gains by moving, but a merge of two pairs gains.
func TestLouvainOfPairs(t *testing.T) {
	g := graph(t, 6, false, [][2]uint64{{0, 1}, {2, 3}, {1, 2}, {4, 5}}, []float64{10, 10, 1, 1000})
	q := func(inside float64, totals ...float64) (q float64) {
		q = inside / 2042
		for _, x := range totals {
			q -= x / 2042 * x / 2042
		}
		return q
	}
	wantRule(t, Louvain(g, 1e-12, q(2040, 21, 21, 2000), []uint64{1, 1, 2, 2, 4, 4}), "merge")
	wantRule(t, Louvain(g, 1, q(2040, 21, 21, 2000), []uint64{1, 1, 2, 2, 4, 4}), "")
	wantRule(t, Louvain(g, 1e-12, q(2042, 42, 2000), []uint64{1, 1, 1, 1, 4, 4}), "")
	wantRule(t, Louvain(g, 1e-12, q(2040, 42, 2000), []uint64{1, 1, 1, 1, 4, 4}), "modularity")
}
