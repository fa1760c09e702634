package generate

import (
	"fmt"

	"github.com/superstep-go/superstep/internal/edges"
)

// RMAT makes directed graphs whose adjacency matrix is a fractal (Chakrabarti, Zhan and Faloutsos
// 2004): at each of Scale levels an arc falls into one of four quadrants. Loops and duplicates are
// kept. Vertices are not permuted: the smaller a label, and the fewer ones in it, the higher the
// degree where A is the largest.
type RMAT struct {
	// Scale is the binary logarithm of the number of vertices, 1 to 48.
	Scale int `key:"scale" help:"2^scale vertices, 1 to 48"`
	// EdgeFactor is the number of arcs per vertex.
	EdgeFactor int `key:"edgefactor" default:"16" help:"tuples per vertex"`
	// A, B and C are the probabilities of the quadrants (0,0), (0,1) and (1,0) of (source bit,
	// target bit); what they lack to 1 is that of (1,1).
	A    float64 `key:"a" default:"0.57" help:"probability of quadrant 0,0"`
	B    float64 `key:"b" default:"0.19" help:"of quadrant 0,1"`
	C    float64 `key:"c" default:"0.19" help:"of quadrant 1,0"`
	Seed uint64  `key:"seed" default:"1" help:"of the random numbers"`
}

// Name returns the canonical text of the generator.
func (g RMAT) Name() string { return nameOf(g) }

// Vertices returns 2^Scale.
func (g RMAT) Vertices() uint64 { return 1 << g.Scale }

// Edges returns the number of arcs.
func (g RMAT) Edges() int { return g.EdgeFactor << g.Scale }

// Directed returns true.
func (g RMAT) Directed() bool { return true }

func (g RMAT) validate() error {
	if err := within("scale", g.Scale, 1, maxScale); err != nil {
		return err
	}
	if err := within("edgefactor", g.EdgeFactor, 1, maxTuples>>g.Scale); err != nil {
		return err
	}
	for _, p := range []struct {
		name  string
		value float64
	}{{"a", g.A}, {"b", g.B}, {"c", g.C}} {
		if !(p.value >= 0 && p.value <= 1) {
			return fmt.Errorf("%s is %v, want a probability from 0 to 1", p.name, p.value)
		}
	}
	const rounding = 1e-9
	if sum := g.A + g.B + g.C; sum > 1+rounding {
		return fmt.Errorf("a, b and c sum to %.10g, want at most 1", sum)
	}
	return nil
}

// Fill makes the b.N arcs from the given one on. Each has a random stream of its own.
func (g RMAT) Fill(first int, b *edges.Block, weights bool) {
	// Limits of the quadrants among 63-bit numbers; the borrow of a difference then tells below
	// from above, with no branch to mispredict.
	limit := func(p float64) uint64 { return uint64(min(p, 1) * (1 << 63)) }
	a, ab, abc := limit(g.A), limit(g.A+g.B), limit(g.A+g.B+g.C)
	k := newKey(g.Seed, forEdges)
	for j := range b.N {
		var u, v uint64 // complements
		s := k.at(first + j)
		for range g.Scale {
			s += golden
			x := mix(s) >> 1
			inA, inAB, inABC := (x-a)>>63, (x-ab)>>63, (x-abc)>>63
			u = u<<1 | inAB
			v = v<<1 | inA ^ inAB ^ inABC
		}
		b.U[j], b.V[j] = g.Vertices()-1-u, g.Vertices()-1-v
	}
	if weights {
		uniformWeights(g.Seed, first, b)
	}
}
