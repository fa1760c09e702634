package master

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/fill"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/kernel"
)

// findNames puts input ids in place of the names that the job's parameters have for vertices: each name is known by one worker.
func (r *run) findNames(ctx context.Context, p engine.Registered) error {
	var names []string
	seen := map[string]bool{}
	_, _ = resolve.VertexParameters(p.Parameters, r.spec.Parameters, func(name string) (uint64, bool) { // which finds all
		if !seen[name] {
			seen[name], names = true, append(names, name)
		}
		return 0, true
	})
	if len(names) == 0 {
		return nil
	}
	labels, err := r.labelsOf(ctx, names)
	if err != nil {
		return err
	}
	r.parameters, err = resolve.VertexParameters(p.Parameters, r.spec.Parameters, func(name string) (uint64, bool) {
		label, ok := labels[name]
		return label, ok
	})
	if err != nil {
		return fmt.Errorf("%s: %w", r.spec.Origin(), err)
	}
	return nil
}

// labelsOf asks all workers for the input ids of names.
func (r *run) labelsOf(ctx context.Context, names []string) (map[string]uint64, error) {
	answers, err := r.server.locate(ctx, "find names", r.team, &control.Locate{Graph: r.job.graph(), Names: names})
	labels := map[string]uint64{}
	for _, a := range answers {
		for _, one := range a.Names {
			labels[one.Name] = one.Label
		}
	}
	return labels, err
}

// locate asks workers what they know of vertices of a graph that they have. They answer while a job runs on it.
func (s *Server) locate(ctx context.Context, what string, team []*control.Placement, l *control.Locate) ([]*control.Located, error) {
	reports, err := s.gather(ctx, team, order{
		what: what, command: func() *control.Command { return &control.Command{Body: &control.Command_Locate{Locate: l}} },
		fits: func(_ int, report *control.Report) bool { return report.GetLocated() != nil },
	})
	var answers []*control.Located
	for _, report := range reports {
		answers = append(answers, report.GetLocated())
	}
	return answers, err
}

// namePatience is how long a job that has failed waits for the name of the vertex.
const namePatience = 2 * time.Second

// namePanic gives the vertex of a program's panic the name that the input has for it, which another worker may know than the one that failed.
func (r *run) namePanic(ctx context.Context, f *control.Failure) {
	p := f.Panic
	if p == nil || !p.Known || p.Name != "" || !r.figures().Named {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, namePatience)
	defer cancel()
	// If no worker answers, it has its input id.
	answers, _ := r.server.locate(ctx, "find names", r.team, &control.Locate{Graph: r.job.graph(), NamesOf: []uint64{p.Vertex}})
	for _, a := range answers {
		for _, one := range a.Names {
			p.Name = one.Name
			f.Message = control.Text(p.Err().Error(), control.MaxText)
		}
	}
}

// unnamed returns lines of a column by input ids, of lines by names.
func (r *run) unnamed(
	ctx context.Context, column kernel.Property, batch [][]byte, file string,
) ([][]byte, error) {
	lines, names := make([]graphio.Value, len(batch)), []string(nil)
	labels := map[string]uint64{}
	for i, text := range batch {
		var err error
		if lines[i], err = fill.ParseNamedLine(text); err != nil {
			return nil, err
		}
		names = append(names, string(lines[i].Names[0]))
	}
	if r.figures().Named {
		names := slices.Clone(names)
		for _, v := range lines {
			if name, ok := fill.NameIn(column, v.Text); ok {
				names = append(names, name)
			}
		}
		var err error
		if labels, err = r.labelsOf(ctx, names); err != nil {
			return nil, err
		}
	} else {
		for i, name := range names {
			label, err := strconv.ParseUint(name, 10, 64)
			if err != nil {
				return nil, graphio.LineError(file, lines[i].Line, fmt.Sprintf("vertex %.80q", name), "a whole number: "+r.graphName()+" has no names")
			}
			labels[name] = label
		}
	}
	plain := make([][]byte, len(batch))
	for i, v := range lines {
		label, ok := labels[names[i]]
		if !ok {
			return nil, graphio.LineError(file, v.Line, fmt.Sprintf("vertex %.80q", v.Names[0]), "one of "+r.graphName())
		}
		if name, ok := fill.NameIn(column, v.Text); ok && r.figures().Named {
			value, known := labels[name]
			if !known {
				found := fmt.Sprintf("vertex %.80q as a value", name)
				return nil, graphio.LineError(file, v.Line, found, "one of the graph, or -1")
			}
			v.Text = strconv.AppendUint(nil, value, 10)
		}
		// It is not known at which columns these are.
		plain[i] = fmt.Appendf(nil, "%d:0:0 %d %s", v.Line, label, v.Text)
	}
	return plain, nil
}
