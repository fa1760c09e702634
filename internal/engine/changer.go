package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/engine/change"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// changer carries out the requests of a partition's vertices to change the graph.
type changer struct{ *partition }

// changedState describes the changed partition.
type changedState struct {
	changed  *graph.Changed
	ids      uint64          // one more than the largest id of a vertex
	vertices []change.Vertex // removed and added vertices
	values   kernel.Column   // their values
}

// makeChanged makes the changed partition from the vertices' requests.
func (r *changer) makeChanged(ctx context.Context) (to changedState, err error) {
	list, values, ids, err := r.requests(ctx)
	if err != nil {
		return to, fmt.Errorf("changing the graph: %w", err)
	}
	change.InOrder(list)
	s := change.Resolver{Exists: r.exists, Own: r.instance.Values(), Values: values}
	s.Of = func(id uint64) int { _, local := r.part.Deal.Of(uint32(id)); return int(local) }
	if r.job.methods.Has("Resolve") {
		s.Resolve = r.instance.Resolve
	}
	all := s.Run(list)
	all.Remove = slices.DeleteFunc(all.Remove,
		func(a graph.Arc) bool { return uint64(a.To) >= r.changing.ids })
	gone, err := r.outArcs(ctx, all.Gone)
	if err != nil {
		return to, fmt.Errorf("changing the graph: %w", err)
	}
	to = changedState{ids: ids, vertices: all.Vertices, values: values}
	to.changed, err = r.part.Changed(ctx, graph.Change{
		N: int(ids), Remove: append(all.Remove, gone...), Add: all.Add,
		Places: r.shared.columns.OfEdges(), Team: r.team,
	}, r.exchange.All)
	return to, err
}

// requests returns the requests about owned vertices, their values, and one more than the
// largest vertex id after the change.
func (r *changer) requests(ctx context.Context) ([]kernel.Request, kernel.Column, uint64, error) {
	c, deal := &r.changing, r.part.Deal
	byOwner, ids := make([][]kernel.Request, r.part.Of), c.ids
	asked, values := r.pendingRequests()
	for _, q := range asked {
		if q.Kind == kernel.AddVertex || q.Kind == kernel.AddEdge {
			ids = max(ids, q.Of+1, q.To+1)
		}
		to, _ := deal.Of(uint32(q.Of))
		byOwner[to] = append(byOwner[to], q)
	}
	for _, t := range r.threads {
		t.ResetRequests()
	}
	data := make([][]byte, r.part.Of)
	var err error
	for q := range data {
		if q != r.part.Index {
			if data[q], err = c.codec.Encode(ids, byOwner[q], values); err != nil {
				return nil, nil, 0, err
			}
		}
	}
	received, err := r.exchange.All(ctx, data)
	if err != nil {
		return nil, nil, 0, err
	}
	list := byOwner[r.part.Index]
	limit := min(2*c.ids+idsAhead, graph.MaxVertices)
	owns := func(id uint64) bool {
		q, _ := deal.Of(uint32(id))
		return id < limit && q == r.part.Index
	}
	for q, b := range received {
		if q == r.part.Index {
			continue
		}
		var needed uint64
		if list, needed, err = c.codec.Decode(b, list, values, owns); err != nil {
			return nil, nil, 0, fmt.Errorf("from partition %d: %w", q, err)
		}
		ids = max(ids, needed)
	}
	if ids > limit {
		return nil, nil, 0, fmt.Errorf("%w: ids up to %d, where %d are allowed", change.ErrRequests,
			ids, limit)
	}
	// A request about an id that neither exists nor is added has no effect.
	return slices.DeleteFunc(list, func(q kernel.Request) bool { return q.Of >= ids }), values, ids,
		nil
}

// exists reports whether an owned vertex exists.
func (r *changer) exists(id uint64) bool {
	_, local := r.part.Deal.Of(uint32(id))
	return int(local) < r.part.Owned && !r.isAbsent(local)
}

// outArcs returns all arcs that lead out of owned vertices. In a 2D grid other partitions have some
// of them, so all partitions must call it.
func (r *changer) outArcs(ctx context.Context, from map[pregel.VertexID]bool) ([]graph.Arc, error) {
	if r.part.Grid.Flat() {
		if len(from) == 0 {
			return nil, nil
		}
		return r.part.OutArcs(from), nil
	}
	arcs := r.part.OutArcs(from)
	var ids []uint64
	for id := range from {
		ids = append(ids, uint64(id))
	}
	data := make([][]uint64, r.part.Of)
	asked, err := r.exchange.Words(ctx, slices.Repeat([][]uint64{ids}, r.part.Of))
	if err != nil {
		return nil, err
	}
	for q, ids := range asked {
		if q == r.part.Index || len(ids) == 0 {
			continue
		}
		of := map[pregel.VertexID]bool{}
		for _, id := range ids {
			of[pregel.VertexID(id)] = true
		}
		for _, a := range r.part.OutArcs(of) {
			data[q] = append(data[q], uint64(a.From), uint64(a.To))
		}
	}
	received, err := r.exchange.Words(ctx, data)
	if err != nil {
		return nil, err
	}
	for q, ends := range received {
		for ; len(ends) >= 2; ends = ends[2:] {
			a := graph.Arc{From: pregel.VertexID(ends[0]), To: pregel.VertexID(ends[1])}
			if !from[a.From] {
				return nil, fmt.Errorf("%w: an edge of vertex %d from partition %d",
					change.ErrRequests, a.From, q)
			}
			arcs = append(arcs, a)
		}
	}
	return arcs, nil
}
