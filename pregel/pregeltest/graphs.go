package pregeltest

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"

	"github.com/superstep-go/superstep"
)

// Graphs yields small graphs and their names, from a single vertex to some hundreds of vertices:
// edge cases and random graphs from the seed. It yields each graph undirected and directed, with
// weights that add up without rounding. The graphs are closed when the test ends.
func Graphs(t testing.TB, seed uint64) iter.Seq2[string, *superstep.Graph] {
	return func(yield func(string, *superstep.Graph) bool) {
		for _, s := range shapes(seed) {
			rng := rand.New(rand.NewPCG(seed, 1))
			for i := range s.list {
				s.list[i].Weight = float64(1+rng.IntN(32)) / 16
			}
			for _, o := range []superstep.LoadOptions{{Undirected: true}, {Directed: true}} {
				name := s.name + ", undirected"
				if o.Directed {
					name = s.name + ", directed"
				}
				o.Weights = superstep.Float64
				for v := range uint64(s.vertices) {
					o.Vertices = append(o.Vertices, v)
				}
				if !yield(name, FromEdges(t, s.list, o)) {
					return
				}
			}
		}
	}
}

// shape is a graph of the vertices 0, 1, 2 and so on.
type shape struct {
	name     string
	vertices int
	list     []superstep.Edge
}

func shapes(seed uint64) []shape {
	join := func(pairs ...uint64) (list []superstep.Edge) {
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, superstep.Edge{From: pairs[i], To: pairs[i+1]})
		}
		return list
	}
	all := []shape{
		{"a vertex", 1, nil},
		{"a loop", 1, join(0, 0)},
		{"five vertices without edges", 5, nil},
		{"a pair", 2, join(0, 1)},
		{"two components and a vertex", 7, join(0, 1, 1, 2, 4, 3, 3, 5, 5, 4)},
		{"a triangle with parallel edges", 3, join(0, 1, 1, 2, 2, 0, 0, 1, 1, 0)},
	}
	star, path, grid := shape{name: "a star", vertices: 101}, shape{name: "a path", vertices: 101},
		shape{name: "a grid", vertices: 100}
	for i := range uint64(100) {
		star.list = append(star.list, join(0, i+1)...)
		path.list = append(path.list, join(i, i+1)...)
		if i%10 < 9 {
			grid.list = append(grid.list, join(i, i+1)...)
		}
		if i < 90 {
			grid.list = append(grid.list, join(i, i+10)...)
		}
	}
	all = append(all, star, path, grid)
	rng := rand.New(rand.NewPCG(seed, 2))
	for _, size := range [][2]int{{70, 1}, {300, 8}} {
		s := shape{name: fmt.Sprintf("%d vertices of degree %d at random, seed %d", size[0],
			size[1], seed), vertices: size[0]}
		for range size[0] * size[1] {
			u, v := rng.IntN(size[0]), rng.IntN(size[0])
			s.list = append(s.list, join(uint64(u), uint64(rng.IntN(v+1)))...) // skewed
		}
		all = append(all, s)
	}
	return all
}
