package generate

import (
	"math/bits"

	"github.com/superstep-go/superstep/internal/edges"
)

// Kronecker is the generator of Graph500: bit for bit the same tuples as the official generator
// makes from the same seeds. Edges are undirected, with loops and duplicates, and labels are
// scrambled. The official seeds are 2 and 3, the official edge factor is 16.
type Kronecker struct {
	// Scale is the binary logarithm of the number of vertices, 1 to 48.
	Scale int `key:"scale" help:"2^scale vertices, 1 to 48"`
	// EdgeFactor is the number of tuples per vertex.
	EdgeFactor int `key:"edgefactor" default:"16" help:"tuples per vertex"`
	// Seed1 and Seed2 are the official generator's userseed1 and userseed2.
	Seed1 uint64 `key:"seed1" default:"2" help:"first official seed"`
	Seed2 uint64 `key:"seed2" default:"3" help:"second official seed"`
}

// rejected is the number of smallest outputs that are drawn again, so that the others are evenly
// distributed modulo 10000.
const rejected = modulus % 10000

// Name returns the canonical text of the generator.
func (g Kronecker) Name() string { return nameOf(g) }

// Vertices returns 2^Scale.
func (g Kronecker) Vertices() uint64 { return 1 << g.Scale }

// Edges returns the number of tuples.
func (g Kronecker) Edges() int { return g.EdgeFactor << g.Scale }

// Directed returns false.
func (g Kronecker) Directed() bool { return false }

func (g Kronecker) validate() error {
	if err := within("scale", g.Scale, 1, maxScale); err != nil {
		return err
	}
	return within("edgefactor", g.EdgeFactor, 1, maxTuples>>g.Scale)
}

// Fill makes b.N tuples, from tuple first on. Weights are in single precision, and may be exactly
// 1.
func (g Kronecker) Fill(first int, b *edges.Block, weights bool) {
	var l lanes
	seed := seeded(g.Seed1, g.Seed2)
	l.begin(seed, first)
	split := max(g.Scale-32, 0) // levels that do not fit into one draw
	for i := 0; i < b.N; i += width {
		if i > 0 {
			l.advance()
		}
		var high, low [width]uint64
		ok := true
		if split > 0 {
			high, ok = l.draw(0, split)
		}
		if ok {
			low, ok = l.draw(split, g.Scale)
		}
		for k := range min(width, b.N-i) {
			u, v := high[k]&upper|low[k]>>32, high[k]<<32|low[k]&^upper
			var w float64
			if !ok {
				u, v, w = g.plain(seed, first+i+k)
			} else if weights {
				w = weight((factor1*l.z[g.Scale+4][k] + factor5*l.z[g.Scale][k]) % modulus)
			}
			// Clips and flips: as long as the endpoints are equal, a level in quadrant C counts as
			// B. That affects only the highest bit in which they differ: the target gets it.
			top := uint64(1) << bits.Len64(u^v) >> 1
			b.U[i+k], b.V[i+k] = u&^top, v|top
			if weights {
				b.W[i+k] = w
			}
		}
	}
	labels := newScramble(seed, g.Scale)
	labels.all(b.U[:b.N], b.V[:b.N])
}

const upper = 1<<64 - 1<<32

// plain draws the levels and the weight of one tuple, step by step as in the specification.
func (g Kronecker) plain(seed state, i int) (u, v uint64, w float64) {
	s := seed.skip(0, uint64(i), 0)
	for range g.Scale {
		x := s.next()
		for x < rejected {
			x = s.next()
		}
		source, target := level(x % 10000)
		u, v = u<<1|source, v<<1|target
	}
	return u, v, weight(s.next())
}

// level returns the bits of a level. Quadrants A, B, C, D have probabilities 0.57, 0.19, 0.19,
// 0.05.
func level(x uint64) (source, target uint64) {
	switch {
	case x < 1900:
		return 0, 1
	case x < 3800:
		return 1, 0
	case x < 9500:
		return 0, 0
	default:
		return 1, 1
	}
}

// weight returns the weight for an output. The official generator converts to single precision
// twice, so the weight may be exactly 1.
func weight(x uint64) float64 {
	return float64(float32(float64(float32(x)) * 0.000000000465661287524579692))
}
