package generate

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/edges"
)

// RankInput makes a rank's part of g's tuples. All ranks have equal parts, in order. If lazily is
// set, the tuples are computed at each read, and take no memory.
func RankInput(
	ctx context.Context, g Generator, rank, ranks int, lazily bool, o Options,
) (*edges.RankInput, error) {
	if err := check(g); err != nil {
		return nil, err
	}
	from, to := edges.Part(g.Edges(), rank, ranks)
	p := portion{g, from, to - from}
	if !lazily {
		in, err := Input(ctx, p, o)
		if err != nil {
			return nil, err
		}
		return &edges.RankInput{Input: *in}, nil
	}
	if err := Loadable(g); err != nil {
		return nil, err
	}
	return &edges.RankInput{Input: edges.Input{
		Name: g.Name(), Edges: Lazy(p, o.Weights != edges.Unweighted), Vertices: int(g.Vertices()),
		Directed: g.Directed(),
		Account: []string{fmt.Sprintf("%s: %d vertices, tuples %d to %d of %d, made when read",
			g.Name(), g.Vertices(), from, to-1, g.Edges())},
	}}, nil
}

// portion is a consecutive part of a generator's tuples.
type portion struct {
	Generator
	from, n int
}

func (p portion) Edges() int { return p.n }

func (p portion) Fill(first int, b *edges.Block, weights bool) {
	p.Generator.Fill(p.from+first, b, weights)
}
