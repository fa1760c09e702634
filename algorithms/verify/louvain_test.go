package verify

import (
	"math/rand/v2"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/parallel"
)

// TestLouvainAtRandom compares the certificate with its rules, by definition, on random communities.
func TestLouvainAtRandom(t *testing.T) {
	team := parallel.NewTeam(2, false)
	defer team.Close()
	broken := map[string]int{}
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 5))
		n := 1 + rng.IntN(7)
		a, degree, total := make([]float64, n*n), make([]float64, n), 0.0
		var tuples [][2]uint64
		var weights []float64
		for range rng.IntN(2 * n) {
			u, v, w := rng.IntN(n), rng.IntN(n), float64(rng.IntN(4))
			tuples, weights = append(tuples, [2]uint64{uint64(u), uint64(v)}), append(weights, w)
			a[u*n+v] += w
			a[v*n+u] += w // a loop twice
		}
		for i, w := range a {
			degree[i/n] += w
			total += w
		}
		community := make([]uint64, n)
		for v := range community {
			community[v] = uint64(rng.IntN(1 + v))
			if rng.IntN(8) > 0 {
				community[v] = community[community[v]]
			}
		}
		want, gain := "", 0.0
		for v, c := range community {
			alone, near := true, 0.0
			for u, d := range community {
				if u == v || c != d {
					continue
				}
				alone = false
				near += a[v*n+u]
				if total > 0 {
					gain += (a[v*n+u] - degree[u]*degree[v]/total) / total
				}
			}
			if !alone && near == 0 {
				want = "neighbour"
			}
		}
		if want == "" && gain < -1e-9 {
			want = "modularity"
		}
		for _, c := range community {
			if community[c] != c {
				want = "member"
			}
		}
		broken[want]++
		list := edges.Pack(uint64(n), tuples, weights)
		wantRule(t, Louvain(Graph{Edges: list, Vertices: n, Team: team}, community), want)
		list.Close()
	}
	for _, rule := range []string{"", "member", "neighbour", "modularity"} {
		if broken[rule] < 20 {
			t.Errorf("rule %q was broken %d times", rule, broken[rule])
		}
	}
}

// TestLouvainOfGreatWeights: a modularity that is no number is not one of at least that of every vertex by itself.
func TestLouvainOfGreatWeights(t *testing.T) {
	for w, want := range map[float64]string{1e200: "", 1e308: "modularity"} {
		g := graph(t, 4, false, [][2]uint64{{0, 1}, {2, 3}}, []float64{w, w})
		wantRule(t, Louvain(g, []uint64{0, 0, 2, 2}), want)
	}
}
