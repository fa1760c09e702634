package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/parallel"
)

// TestAdjacency compares all kinds of lists with lists built arc by arc.
func TestAdjacency(t *testing.T) {
	team := parallel.NewTeam(2, false)
	defer team.Close()
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		r, g, list := sample(rng, team)
		for _, d := range []direction{outward, inward, bothWays} {
			for _, what := range []arcsOf{multigraph, weighted, simple} {
				want := make([][][2]float64, r.N) // neighbour, weight
				add := func(u, v int, w float64) { want[u] = append(want[u], [2]float64{float64(v), w}) }
				for i, a := range r.Arcs {
					u, v, w := a[0], a[1], r.Weights[i]
					switch {
					case u == v && what == simple:
					case !r.Directed && u == v:
						add(u, u, w)
					case !r.Directed:
						add(u, v, w)
						add(v, u, w)
					default:
						if d != inward {
							add(u, v, w)
						}
						if d != outward {
							add(v, u, w)
						}
					}
				}
				got, err := g.adjacency(d, what)
				if err != nil {
					t.Fatal(err)
				}
				for v := range r.N {
					slices.SortFunc(want[v],
						func(x, y [2]float64) int { return slices.Compare(x[:], y[:]) })
					if what != weighted {
						for i := range want[v] {
							want[v][i][1] = 0
						}
					}
					if what == simple {
						want[v] = slices.Compact(want[v])
					}
					found := make([][2]float64, len(got.of(v)))
					for i, to := range got.of(v) {
						if found[i][0] = float64(to); what == weighted {
							found[i][1] = got.weights(v)[i]
						}
					}
					if fmt.Sprint(found) != fmt.Sprint(want[v]) {
						t.Fatalf("seed %d, direction %d, kind %d: the arcs of %d are %v, want %v of %+v", seed, d, what, v, found, want[v], r)
					}
					for u := range uint32(r.N) {
						if got.has(v, u) != slices.Contains(got.of(v), u) {
							t.Fatalf("seed %d: has(%d, %d) is %t", seed, v, u, got.has(v, u))
						}
					}
				}
			}
		}
		list.Close()
	}
}
