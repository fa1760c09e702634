package generate

import (
	"math/bits"

	"github.com/superstep-go/superstep/internal/edges"
)

// Uniform makes directed graphs in which each vertex has the same number of arcs. Their targets are
// drawn independently from all vertices; loops and duplicates are kept. Arcs are ordered by source.
type Uniform struct {
	// N is the number of vertices, 1 to 2^48.
	N uint64 `key:"vertices" help:"number of vertices"`
	// Degree is the number of arcs from each vertex.
	Degree int    `key:"degree" help:"arcs from each vertex"`
	Seed   uint64 `key:"seed" default:"1" help:"of the random numbers"`
}

// Name returns the canonical text of the generator.
func (g Uniform) Name() string { return nameOf(g) }

// Vertices returns N.
func (g Uniform) Vertices() uint64 { return g.N }

// Edges returns the number of arcs.
func (g Uniform) Edges() int { return int(g.N) * g.Degree }

// Directed returns true.
func (g Uniform) Directed() bool { return true }

func (g Uniform) validate() error {
	if err := within("vertices", g.N, 1, 1<<maxScale); err != nil {
		return err
	}
	return within("degree", g.Degree, 0, int(maxTuples/g.N))
}

// Fill makes the b.N arcs from the given one on.
func (g Uniform) Fill(first int, b *edges.Block, weights bool) {
	if b.N == 0 {
		return
	}
	k := newKey(g.Seed, forEdges)
	u, arc := uint64(first/g.Degree), first%g.Degree
	for j := range b.N {
		// The high word of the product is biased by one part in 2^64/N, which no run could detect.
		v, _ := bits.Mul64(k.at(first+j), g.N)
		b.U[j], b.V[j] = u, v
		if arc++; arc == g.Degree {
			u, arc = u+1, 0
		}
	}
	uniformWeights(g.Seed, first, b, weights)
}
