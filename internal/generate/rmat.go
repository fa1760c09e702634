package generate

import (
	"fmt"

	"github.com/superstep-go/superstep/internal/edges"
)

// RMAT makes directed graphs with a fractal adjacency matrix (Chakrabarti, Zhan and Faloutsos
// 2004): at each of Scale levels an arc falls into one of four quadrants. Loops and duplicates are
// kept. Vertices are not permuted: if A is the largest probability, vertices with fewer ones in
// their label have higher degrees.
type RMAT struct {
	// Scale is the binary logarithm of the number of vertices, 1 to 48.
	Scale int `key:"scale" help:"2^scale vertices, 1 to 48"`
	// EdgeFactor is the number of arcs per vertex.
	EdgeFactor int `key:"edgefactor" default:"16" help:"tuples per vertex"`
	// A, B and C are the probabilities of the quadrants (0,0), (0,1) and (1,0) of (source bit,
	// target bit). The probability of (1,1) is 1 minus their sum.
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

// Fill makes b.N arcs, from arc first on. Each arc has its own random stream.
func (g RMAT) Fill(first int, b *edges.Block, weights bool) {
	// Limits of the quadrants as 63-bit numbers. The borrow of a difference shows which number is
	// greater, without a branch to mispredict.
	limit := func(p float64) uint64 { return uint64(min(p, 1) * (1 << 63)) }
	a, ab, abc := limit(g.A), limit(g.A+g.B), limit(g.A+g.B+g.C)
	k := newKey(g.Seed, forEdges)
	for j := range b.N {
		var u, v uint64 // the complements of the ends
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
	uniformWeights(g.Seed, first, b, weights)
}
