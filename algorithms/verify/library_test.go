package verify

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/algorithms/reference"
	"github.com/superstep-go/superstep/internal/parallel"
)

// TestCentralitiesAgainstReference: the certificate accepts the reference's scores and rejects
// changed ones.
func TestCentralitiesAgainstReference(t *testing.T) {
	team := parallel.NewTeam(2, false)
	defer team.Close()
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 2))
		r, g, list := sample(rng, team)
		x, k := rng.IntN(r.N), 1+rng.IntN(6)
		twice := func(check func(a, b []float64) error, rules [2]string, a, b []float64) {
			t.Helper()
			wantRule(t, check(a, b), "")
			a[x] += 1e-6
			wantRule(t, check(a, b), rules[0])
			a[x] -= 1e-6
			b[x] += 1e-6
			wantRule(t, check(a, b), rules[1])
		}
		hub, authority := reference.HITS(r, k)
		twice(func(a, b []float64) error { return HITS(g, 2*k, 0, a, b) },
			[2]string{"hub", "authority"}, hub, authority)
		reached, harmonic := reference.HyperBall(r)
		twice(func(a, b []float64) error { return HyperBall(g, a, b) },
			[2]string{"reached", "harmonic"}, reached, harmonic)
		score := reference.Eigenvector(r, k)
		wantRule(t, Eigenvector(g, k, 0, score), "")
		score[x] += 1e-6
		wantRule(t, Eigenvector(g, k, 0, score), "score")
		sources := Sample(g, k)
		closeness, inverse := reference.Closeness(r, sources)
		twice(func(a, b []float64) error { return Closeness(g, sources, a, b) },
			[2]string{"closeness", "harmonic"}, closeness, inverse)
		between := reference.Betweenness(r, sources)
		wantRule(t, Betweenness(g, sources, between), "")
		between[x] += 1e-6
		wantRule(t, Betweenness(g, sources, between), "score")
		list.Close()
	}
}

// joins returns which pairs of vertices an arc joins, in either direction.
func joins(r reference.Graph) [][]bool {
	all := make([][]bool, r.N)
	for v := range all {
		all[v] = make([]bool, r.N)
	}
	for _, a := range r.Arcs {
		all[a[0]][a[1]], all[a[1]][a[0]] = true, true
	}
	return all
}

// TestIndependentSetsAtRandom compares the certificates with the definitions, for right and random
// values.
func TestIndependentSetsAtRandom(t *testing.T) {
	team := parallel.NewTeam(2, false)
	defer team.Close()
	accepted := 0
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		r, g, list := sample(rng, team)
		near, x := joins(r), rng.IntN(r.N)
		expect := func(what string, right bool, err error) {
			t.Helper()
			if right {
				accepted++
			}
			if (err == nil) != right {
				t.Fatalf("seed %d, %s: right is %t, got %v of %+v", seed, what, right, err, r)
			}
		}
		member, color, partner := make([]bool, r.N), make([]int64, r.N),
			slices.Repeat([]int64{-1}, r.N)
		for v := range r.N {
			for u := range v {
				member[v] = member[v] || near[v][u] && member[u]
			}
			member[v] = !member[v]
			for slices.ContainsFunc(color[:v], func(int64) bool {
				for u := range v {
					if near[u][v] && color[u] == color[v] {
						return true
					}
				}
				return false
			}) {
				color[v]++
			}
			for u := range v {
				if near[u][v] && partner[u] < 0 && partner[v] < 0 {
					partner[u], partner[v] = int64(v), int64(u)
				}
			}
		}
		expect("members", true, MIS(g, member))
		expect("colors", true, Coloring(g, color))
		expect("partners", true, Matching(g, partner))
		member[x] = !member[x]
		color[x] = rng.Int64N(4) - 1
		partner[x] = rng.Int64N(int64(r.N+2)) - 1
		expect("changed members", misIsRight(near, member), MIS(g, member))
		expect("changed colors", coloringIsRight(near, color), Coloring(g, color))
		expect("changed partners", matchingIsRight(near, partner), Matching(g, partner))
		list.Close()
	}
	if accepted < 6100 || accepted > 11900 {
		t.Errorf("%d of 12000 results are right: changes are always or never seen", accepted)
	}
}

func misIsRight(near [][]bool, member []bool) bool {
	for v, in := range member {
		beside := false
		for u := range member {
			beside = beside || u != v && near[u][v] && member[u]
		}
		if beside == in {
			return false
		}
	}
	return true
}

func coloringIsRight(near [][]bool, color []int64) bool {
	for v, c := range color {
		below := map[int64]bool{}
		for u, d := range color {
			if u != v && near[u][v] && d == c {
				return false
			}
			if u != v && near[u][v] && d >= 0 && d < c {
				below[d] = true
			}
		}
		if c < 0 || int64(len(below)) != c {
			return false
		}
	}
	return true
}

func matchingIsRight(near [][]bool, partner []int64) bool {
	n := int64(len(partner))
	for v, p := range partner {
		if p < -1 || p >= n || p == int64(v) || p >= 0 && (partner[p] != int64(v) || !near[v][p]) {
			return false
		}
		for u, q := range partner {
			if u != v && near[u][v] && p < 0 && q < 0 {
				return false
			}
		}
	}
	return true
}
