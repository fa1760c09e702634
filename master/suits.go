package master

import (
	"fmt"

	"github.com/superstep-go/superstep/internal/engine"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/pregel"
)

// suits refuses a program that does not want its graph, if that is of the catalog; one that is
// loaded for the job its workers know.
func (s *server) suits(spec *jobspec.Spec) error {
	s.mu.Lock()
	g := s.cluster.graphs[spec.Graph]
	if g == nil || g.report.Vertices == 0 {
		s.mu.Unlock()
		return nil
	}
	about := pregel.GraphInfo{
		NumVertices: g.report.Vertices, NumEdges: g.report.Arcs, Directed: g.report.Directed,
		Weighted:   g.report.Weighted,
		Partitions: len(g.placements),
	}
	named := g.report.Named && spec.Values == ""
	s.mu.Unlock()
	p, err := s.options.Registry.Find(spec.Program)
	if err != nil {
		return err
	}
	parameters := spec.Parameters
	if named {
		parameters = resolve.AsNames(p.Parameters, parameters)
	}
	if err := engine.Check(p.Parameters, parameters); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	program, err := p.New(parameters, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return program.ValidateGraph(spec.Graph, about)
}
