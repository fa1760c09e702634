package master

import (
	"context"
	"fmt"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
)

// maxListed bounds how many vertices one call lists.
const maxListed = 1 << 16

// maxNames bounds how many names one call asks for.
const maxNames = 1 << 10

// ListVertices says which input ids vertices of a graph have. Those of a number are its partition's, which is one of a worker's.
func (s *Server) ListVertices(ctx context.Context, r *connect.Request[control.ListVerticesRequest]) (*connect.Response[control.ListVerticesResponse], error) {
	s.mu.Lock()
	g := s.cluster.graphs[r.Msg.Graph]
	ready := g != nil && g.state == control.GraphState_GRAPH_STATE_READY
	var placements []*control.Placement
	vertices := uint64(0)
	if ready {
		placements, vertices = g.placements, g.report.Vertices
	}
	s.mu.Unlock()
	switch {
	case g == nil:
		return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("there is no graph %.150q", r.Msg.Graph))
	case !ready:
		return nil, connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("graph %s is not there", r.Msg.Graph))
	case r.Msg.First > vertices:
		return nil, invalid("found vertex %d of %d", r.Msg.First, vertices)
	}
	count := min(vertices-r.Msg.First, uint64(r.Msg.Count), maxListed)
	if n := len(r.Msg.Names) + len(r.Msg.NamesOf); n > maxNames {
		return nil, invalid("found %d names and input ids of names, expected at most %d", n, maxNames)
	}
	team := onePerWorker(placements)
	answers, err := s.locate(ctx, "list vertices", team, &control.Locate{
		Graph: r.Msg.Graph, First: r.Msg.First, Count: uint32(count), Names: r.Msg.Names, NamesOf: r.Msg.NamesOf,
	})
	if err != nil {
		return nil, connect.NewError(connect.CodeAborted, err)
	}
	labels := map[string][]uint64{} // that are still to come, by worker
	response := &control.ListVerticesResponse{}
	for i, a := range answers {
		labels[team[i].Worker] = a.Labels
		response.Names = append(response.Names, a.Names...)
	}
	for id := r.Msg.First; id < r.Msg.First+count; id++ {
		worker := placements[id%uint64(len(placements))].Worker
		if len(labels[worker]) == 0 {
			return nil, connect.NewError(connect.CodeInternal, fmt.Errorf("worker %s knows nothing of vertex %d", worker, id))
		}
		response.Labels = append(response.Labels, labels[worker][0])
		labels[worker] = labels[worker][1:]
	}
	return connect.NewResponse(response), nil
}
