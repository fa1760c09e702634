package graph

import (
	"context"
	"math"
	"slices"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/pregel"
)

// Input returns the stored edges as tuples; an undirected edge is one tuple. Removed vertices are
// omitted. The caller closes the result before the graph. Input needs the maps of the whole graph,
// and omits the edges of partitions in other processes.
func (g *Graph) Input() *edges.Input {
	if g.Vertices() < g.N {
		in, _ := g.inputOf(context.Background(),
			func(id pregel.VertexID) bool { return !g.Absent(id) })
		return in
	}
	return &edges.Input{
		Name: g.Name, Edges: &tupleList{g: g}, Vertices: g.N, Labels: g.Labels, Names: g.Names,
		Directed: g.Directed,
	}
}

// inputOf returns the edges between some of the vertices, which are renumbered. It returns an error
// only if the context ends.
func (g *Graph) inputOf(
	ctx context.Context, has func(id pregel.VertexID) bool,
) (*edges.Input, error) {
	const gone = math.MaxUint32
	numbers, labels := make([]uint32, g.N), make([]uint64, 0, g.N)
	for v, id := range g.IDs {
		numbers[v] = gone
		if has(pregel.VertexID(id)) {
			numbers[v] = uint32(len(labels))
			labels = append(labels, g.Labels.Of(uint64(v)))
		}
	}
	each := func(f func(u, v uint32, w float64)) error {
		return g.eachEdge(ctx, func(u, v uint32, w float64) {
			if numbers[u] != gone && numbers[v] != gone {
				f(numbers[u], numbers[v], w)
			}
		})
	}
	n := 0
	if err := each(func(uint32, uint32, float64) { n++ }); err != nil {
		return nil, err
	}
	list, err := pack(len(labels), n, g.Weights, each)
	if err != nil {
		return nil, err
	}
	return &edges.Input{
		Name: g.Name, Edges: list, Vertices: len(labels), Labels: edges.NewLabels(labels),
		Names: g.Names, Directed: g.Directed, Free: list.Close,
	}, nil
}

// pack packs the n edges between vertices below a number that each passes.
func pack(
	vertices, n int, weights edges.Weights, each func(f func(u, v uint32, w float64)) error,
) (*edges.Packed, error) {
	list, b, at := edges.NewPacked(uint64(vertices), n, weights), edges.Block{}, 0
	err := each(func(u, v uint32, w float64) {
		b.U[b.N], b.V[b.N], b.W[b.N] = uint64(u), uint64(v), w
		if b.N++; b.N == edges.BlockSize {
			list.Write(at, &b)
			at++
			b.N = 0
		}
	})
	if err != nil {
		list.Close()
		return nil, err
	}
	if b.N > 0 {
		list.Write(at, &b)
	}
	return list, nil
}

// LightestEdge returns an edge of the least weight, by input ids. ok is false if there is no edge,
// or if the whole graph is not in this process.
func (g *Graph) LightestEdge() (from, to uint64, weight float64, ok bool) {
	if g.Order == nil || slices.Contains(g.Parts, nil) {
		return 0, 0, 0, false
	}
	weight = math.Inf(1)
	_ = g.eachEdge(context.Background(), func(u, v uint32, w float64) {
		if w < weight {
			from, to, weight, ok = g.Labels.Of(uint64(u)), g.Labels.Of(uint64(v)), w, true
		}
	})
	return from, to, weight, ok
}

// eachEdge calls f once for every stored edge of the partitions in this process, with input
// vertices, until the context ends. Without the maps of the whole graph it passes VertexIDs.
func (g *Graph) eachEdge(ctx context.Context, f func(u, v uint32, w float64)) error {
	list, b := &tupleList{g: g}, edges.Block{}
	for i := range edges.Blocks(list) {
		if err := ctx.Err(); err != nil {
			return err
		}
		_ = list.Read(i, &b) // it never fails
		for j := range b.N {
			f(uint32(b.U[j]), uint32(b.V[j]), b.W[j])
		}
	}
	return nil
}
