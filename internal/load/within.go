package load

import (
	"context"
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/graphio"
)

// ErrWithin is the error for a part of a graph in the catalog of a cluster.
var ErrWithin = errors.New("within: a graph of the catalog is loaded whole: store the part by graphs save --within, and load the snapshot")

// buildWithin is Build for the part of the graph within a vertex set. Memory for both graphs is
// needed at the same time.
func (r Request) buildWithin(
	ctx context.Context, o graph.Options,
) (*graph.Graph, *edges.Input, error) {
	set, err := graph.OpenSet(ctx, r.Within)
	if err != nil {
		return nil, nil, fmt.Errorf("within: %w", err)
	}
	file := r.Within
	r.Within = ""
	all, read, err := Build(ctx, r, o)
	if err != nil {
		return nil, nil, err
	}
	defer all.Close()
	read.Close() // all has its edges
	part, in, err := Part(ctx, all, set, o)
	if err != nil {
		return nil, nil, fmt.Errorf("within: %s: %w", file, err)
	}
	part.PartOf(all)
	whole := all.Input()
	note := WithinNote(file, part.N, all.Vertices(), in.Edges.Len(), whole.Edges.Len())
	whole.Close()
	in.Account, in.Notes, in.Skipped = append(read.Account, note), append(read.Notes, note),
		read.Skipped
	return part, in, nil
}

// WithinNote is a note about a part of a graph: its vertices and edges, and those of the whole.
func WithinNote(file string, vertices, ofVertices, edges, ofEdges int) string {
	n := graphio.Thousands[int]
	return fmt.Sprintf("%s: within %s of %s vertices, %s of %s edges", file, n(vertices),
		n(ofVertices), n(edges), n(ofEdges))
}

// Part builds the part of a graph within a set, with as many partitions and the same weights. The
// options can only drop edges and weights. The caller closes the input and then the graph.
func Part(
	ctx context.Context, all *graph.Graph, set graph.VertexSet, o graph.Options,
) (*graph.Graph, *edges.Input, error) {
	if err := all.Has(set); err != nil {
		return nil, nil, err
	}
	in, err := all.Within(ctx, set)
	if err != nil {
		return nil, nil, err
	}
	o.Grid, o.Partitions, o.Weights = all.Options.Grid, all.Options.Partitions, all.Weights
	part, err := build.Local(ctx, in, o)
	if err != nil {
		in.Close()
		return nil, nil, err
	}
	return part, in, nil
}
