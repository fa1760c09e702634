package generate

import (
	"github.com/superstep-go/superstep/internal/edges"
)

// shapeSeed is the seed for the weights of shapes.
const shapeSeed = 1

// Grid is the undirected lattice in which each vertex is joined to those above, below, left and
// right. Vertices are numbered row by row. Edges are numbered by their upper or left end; the one
// to the right comes first.
type Grid struct {
	// Rows and Columns are at least 1, and their product at most 2^48.
	Rows    uint64 `key:"rows" help:"number of rows"`
	Columns uint64 `key:"columns" help:"number of columns"`
}

// Name returns the canonical text of the generator.
func (g Grid) Name() string { return nameOf(g) }

// Vertices returns the number of vertices.
func (g Grid) Vertices() uint64 { return g.Rows * g.Columns }

// Edges returns the number of edges.
func (g Grid) Edges() int { return int(g.Rows*(g.Columns-1) + (g.Rows-1)*g.Columns) }

// Directed returns false.
func (g Grid) Directed() bool { return false }

func (g Grid) validate() error {
	if err := within("rows", g.Rows, 1, 1<<maxScale); err != nil {
		return err
	}
	return within("columns", g.Columns, 1, 1<<maxScale/g.Rows)
}

// Fill makes the b.N edges from the given one on.
func (g Grid) Fill(first int, b *edges.Block, weights bool) {
	// A row but the last has 2*Columns-1 edges: right, down, right, down, ..., down.
	row, at := uint64(first)/(2*g.Columns-1), uint64(first)%(2*g.Columns-1)
	for j := range b.N {
		switch last := row == g.Rows-1; {
		case last:
			b.U[j] = row*g.Columns + at
			b.V[j] = b.U[j] + 1
		case at%2 == 0 && at < 2*g.Columns-2:
			b.U[j] = row*g.Columns + at/2
			b.V[j] = b.U[j] + 1
		default:
			b.U[j] = row*g.Columns + at/2
			b.V[j] = b.U[j] + g.Columns
		}
		if at++; at == 2*g.Columns-1 {
			row, at = row+1, 0
		}
	}
	uniformWeights(shapeSeed, first, b, weights)
}

// Star is the undirected graph in which vertex 0, the hub, is joined to every other vertex.
type Star struct {
	// N is the number of vertices, 1 to 2^48.
	N uint64 `key:"vertices" help:"number of vertices"`
}

// Name returns the canonical text of the generator.
func (g Star) Name() string { return nameOf(g) }

// Vertices returns N.
func (g Star) Vertices() uint64 { return g.N }

// Edges returns the number of edges.
func (g Star) Edges() int { return int(g.N - 1) }

// Directed returns false.
func (g Star) Directed() bool { return false }

func (g Star) validate() error { return within("vertices", g.N, 1, 1<<maxScale) }

// Fill makes the b.N edges from the given one on.
func (g Star) Fill(first int, b *edges.Block, weights bool) {
	for j := range b.N {
		b.U[j], b.V[j] = 0, uint64(first+j)+1
	}
	uniformWeights(shapeSeed, first, b, weights)
}

// Path is the undirected graph in which each vertex is joined to the next.
type Path struct {
	// N is the number of vertices, 1 to 2^48.
	N uint64 `key:"vertices" help:"number of vertices"`
}

// Name returns the canonical text of the generator.
func (g Path) Name() string { return nameOf(g) }

// Vertices returns N.
func (g Path) Vertices() uint64 { return g.N }

// Edges returns the number of edges.
func (g Path) Edges() int { return int(g.N - 1) }

// Directed returns false.
func (g Path) Directed() bool { return false }

func (g Path) validate() error { return within("vertices", g.N, 1, 1<<maxScale) }

// Fill makes the b.N edges from the given one on.
func (g Path) Fill(first int, b *edges.Block, weights bool) {
	for j := range b.N {
		b.U[j], b.V[j] = uint64(first+j), uint64(first+j)+1
	}
	uniformWeights(shapeSeed, first, b, weights)
}
