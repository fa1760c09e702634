package generate

import (
	"math"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
)

func TestGrid(t *testing.T) {
	for rows := uint64(1); rows <= 6; rows++ {
		for columns := uint64(1); columns <= 6; columns++ {
			var want [][2]uint64
			for r := range rows {
				for c := range columns {
					if c+1 < columns {
						want = append(want, [2]uint64{r*columns + c, r*columns + c + 1})
					}
					if r+1 < rows {
						want = append(want, [2]uint64{r*columns + c, (r+1)*columns + c})
					}
				}
			}
			g := Grid{rows, columns}
			if g.Edges() != len(want) {
				t.Fatalf("%s: %d edges, want %d", g.Name(), g.Edges(), len(want))
			}
			var b edges.Block
			for first := range want { // ranges of three tuples, so ranges begin at any tuple
				b.N = min(3, len(want)-first)
				g.Fill(first, &b, false)
				for j := range b.N {
					if got := [2]uint64{b.U[j], b.V[j]}; got != want[first+j] {
						t.Errorf("%s: edge %d is %v, want %v", g.Name(), first+j, got,
							want[first+j])
					}
				}
			}
		}
	}
}

func TestStarAndPath(t *testing.T) {
	star, _ := all(Lazy(Star{2000}, false))
	path, _ := all(Lazy(Path{2000}, false))
	if len(star) != 1999 || len(path) != 1999 {
		t.Fatalf("%d and %d edges", len(star), len(path))
	}
	for i := range uint64(1999) {
		if star[i] != [2]uint64{0, i + 1} || path[i] != [2]uint64{i, i + 1} {
			t.Fatalf("edge %d is %v and %v", i, star[i], path[i])
		}
	}
}

func TestUniform(t *testing.T) {
	g := Uniform{300, 100, 5}
	tuples, _ := all(Lazy(g, false))
	in := make([]int, g.N)
	for i, e := range tuples {
		if e[0] != uint64(i/g.Degree) {
			t.Fatalf("arc %d is from %d", i, e[0])
		}
		in[e[1]]++
	}
	chi := 0.0 // 299 degrees of freedom: mean 299, standard deviation 24.5
	for _, d := range in {
		chi += (float64(d) - 100) * (float64(d) - 100) / 100
	}
	if chi < 299-5*24.5 || chi > 299+5*24.5 {
		t.Errorf("chi square of the targets is %v, want about 299", chi)
	}
	other, _ := all(Lazy(Uniform{300, 100, 6}, false))
	if slices.Equal(tuples, other) {
		t.Error("the seed does not matter")
	}
	if got, _ := all(Lazy(Uniform{300, 0, 6}, false)); len(got) != 0 {
		t.Errorf("%d arcs of degree 0", len(got))
	}
}

// slowRMAT generates one arc, with explicit quadrants.
func slowRMAT(g RMAT, i int) (u, v uint64) {
	s := newKey(g.Seed, forEdges).at(i)
	for n := range g.Scale {
		x := float64(key(s).at(n)) / (1 << 64)
		switch {
		case x < g.A:
			u, v = 2*u, 2*v
		case x < g.A+g.B:
			u, v = 2*u, 2*v+1
		case x < g.A+g.B+g.C:
			u, v = 2*u+1, 2*v
		default:
			u, v = 2*u+1, 2*v+1
		}
	}
	return u, v
}

func TestRMAT(t *testing.T) {
	for _, g := range []RMAT{
		{10, 16, 0.57, 0.19, 0.19, 1},
		{1, 500, 0.25, 0.25, 0.25, 1 << 63},
		{48, 1, 0.1, 0.2, 0.3, 0},
		{5, 4, 1, 0, 0, 1},
		{5, 4, 0, 1, 0, 1},
		{5, 4, 0, 0, 1, 1},
		{5, 4, 0, 0, 0, 1},
	} {
		b := edges.Block{N: min(edges.BlockSize, g.Edges())}
		g.Fill(0, &b, false)
		var quadrants [4]int
		for j := range b.N {
			u, v := slowRMAT(g, j)
			if u != b.U[j] || v != b.V[j] {
				t.Fatalf("%s: arc %d is %d-%d, want %d-%d", g.Name(), j, b.U[j], b.V[j], u, v)
			}
			quadrants[u>>(g.Scale-1)*2+v>>(g.Scale-1)]++
		}
		for i, p := range []float64{g.A, g.B, g.C, 1 - g.A - g.B - g.C} {
			n := float64(b.N)
			if math.Abs(float64(quadrants[i])-n*p) > 5*math.Sqrt(n*p*(1-p)+1e-9) {
				t.Errorf("%s: %d arcs of %d in quadrant %d, want about %v", g.Name(), quadrants[i],
					b.N, i, n*p)
			}
		}
	}
}
