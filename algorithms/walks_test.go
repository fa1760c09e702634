package algorithms_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/programtest"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/pregel/pregeltest"
)

// walksOf checks that walks follow arcs and begin at every vertex. It returns them by input ids.
func walksOf(
	t *testing.T, s sample, p algorithms.Walks, walks [][][]pregel.VertexID,
) (all [][]int) {
	t.Helper()
	arc, leaves := map[[2]int]bool{}, map[int]bool{}
	for _, a := range s.twin.Arcs {
		arc[a], leaves[a[0]] = true, true
		if !s.twin.Directed {
			arc[[2]int{a[1], a[0]}], leaves[a[1]] = true, true
		}
	}
	for start, of := range walks {
		if len(of) != p.Walks {
			t.Fatalf("%s: %d walks from %d, want %d", s.name, len(of), start, p.Walks)
		}
		for _, walk := range of {
			var labels []int
			for i, id := range walk {
				labels = append(labels, int(s.graph.Label(id)))
				if i > 0 && !arc[[2]int{labels[i-1], labels[i]}] {
					t.Errorf("%s: a walk goes from %d to %d", s.name, labels[i-1], labels[i])
				}
			}
			last := labels[len(labels)-1]
			if steps := len(walk) - 1; labels[0] != start || steps > p.Length || steps < p.Length &&
				leaves[last] {
				t.Errorf("%s: a walk of %d steps from %d is %v, want %d steps", s.name, steps,
					start, labels, p.Length)
			}
			all = append(all, labels)
		}
	}
	return all
}

func TestWalks(t *testing.T) {
	for s := range samples(t) {
		for _, p := range []algorithms.Walks{{Length: 6, Walks: 2}, {Length: 4, Walks: 3, P: 0.25, Q: 3}, {Length: 4, Walks: 1, P: 4, Q: 0.5}} {
			if s.twin.Directed && p.P != 0 {
				_, err := superstep.Run(t.Context(), s.graph, pregel.List(p), superstep.Options{})
				refused(t, err, "expected an undirected one for walks with p and q")
				continue
			}
			s := s
			s.alike = s.alike || p.P > 1
			walksOf(t, s, p, pregeltest.Values(everyWay(t, s, pregel.List(p))))
		}
	}
	conn := programtest.Cluster(t, 2)
	for _, name := range []string{"kronecker:scale=7", "star:vertices=40"} {
		here, there := programtest.Load(t, conn, name)
		programtest.Same(t, here, there, pregel.List(algorithms.Walks{Walks: 2}),
			superstep.Options{Seed: 3})
		programtest.Same(t, here, there, pregel.List(algorithms.Walks{P: 0.5, Q: 2}),
			superstep.Options{})
	}
	g := pregeltest.Graph(t, "0-1")
	for words, p := range map[string]algorithms.Walks{
		"length is -1": {Length: -1}, "walks is 1048577": {Walks: 1<<20 + 1}, "p is -1": {P: -1},
		"q is NaN": {Q: math.NaN()}, "q is +Inf": {Q: math.Inf(1)},
	} {
		_, err := superstep.Run(t.Context(), g, pregel.List(p), superstep.Options{})
		refused(t, err, words)
	}
}

// TestWalksByProbability: for each vertex and each previous vertex, steps have the probabilities of
// node2vec's definition.
func TestWalksByProbability(t *testing.T) {
	// Two triangles with a common edge, a tail, a parallel edge, and a loop.
	edges := [][2]uint64{{0, 1}, {0, 2}, {1, 2}, {1, 3}, {2, 3}, {3, 4}, {4, 5}, {4, 5}, {5, 5}}
	var list []superstep.Edge
	between := map[[2]uint64]float64{}
	for _, e := range edges {
		list = append(list, superstep.Edge{From: e[0], To: e[1]})
		between[e]++
		if e[0] != e[1] {
			between[[2]uint64{e[1], e[0]}]++
		}
	}
	g := pregeltest.FromEdges(t, list, superstep.LoadOptions{Undirected: true, Partitions: 2})
	for _, p := range []algorithms.Walks{{}, {P: 0.2, Q: 3}, {P: 5, Q: 0.3}, {P: 1, Q: 4}} {
		p.Walks, p.Length = 2000, 4
		share := func(x float64) float64 {
			if x == 0 {
				return 1
			}
			return 1 / x
		}
		t.Run(fmt.Sprintf("p=%g,q=%g", p.P, p.Q), func(t *testing.T) {
			res, err := superstep.Run(t.Context(), g, pregel.List(p), superstep.Options{Seed: 7})
			if err != nil {
				t.Fatal(err)
			}
			seen := map[[2]uint64]map[uint64]float64{}
			for _, walks := range res.All() {
				for _, walk := range walks {
					for i := 2; i < len(walk); i++ {
						at := [2]uint64{g.Label(walk[i-2]), g.Label(walk[i-1])}
						if seen[at] == nil {
							seen[at] = map[uint64]float64{}
						}
						seen[at][g.Label(walk[i])]++
					}
				}
			}
			for at, next := range seen {
				total, sum, want := 0.0, 0.0, map[uint64]float64{}
				for x := range uint64(6) {
					w := between[[2]uint64{at[1], x}]
					switch {
					case x == at[0]:
						w *= share(p.P)
					case between[[2]uint64{at[0], x}] == 0:
						w *= share(p.Q)
					}
					want[x] = w
					sum += w
					total += next[x]
				}
				chi, degrees := 0.0, -1
				for x, w := range want {
					if expected := total * w / sum; expected > 0 {
						chi += (next[x] - expected) * (next[x] - expected) / expected
						degrees++
					} else if next[x] > 0 {
						t.Errorf("from %d by %d to %d, where there is no edge", at[0], at[1], x)
					}
				}
				// With at most 3 degrees of freedom, a larger value has a probability below
				// 1/10,000.
				if degrees > 3 || chi > 22 {
					t.Errorf("from %d by %d: chi-square is %.1f with %d degrees of freedom", at[0],
						at[1], chi, degrees)
				}
			}
			if len(seen) < 15 {
				t.Errorf("%d pairs of vertices were seen", len(seen))
			}
		})
	}
}
