package master

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/fill"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/kernel"
)

// labelsOf asks all workers for the input ids of names.
func (r *run) labelsOf(ctx context.Context, names []string) (map[string]uint64, error) {
	answers, err := r.server.locate(ctx, "find names", r.team,
		&control.Locate{Graph: r.job.graph(), Names: names})
	labels := map[string]uint64{}
	for _, a := range answers {
		for _, one := range a.Names {
			labels[one.Name] = one.Label
		}
	}
	return labels, err
}

// locate asks workers what they know of vertices of a graph that they have. They answer while a job
// runs on it.
func (s *Server) locate(ctx context.Context, what string, team []*control.Placement, l *control.Locate) ([]*control.Located, error) {
	reports, err := s.gather(ctx, team, order{
		what: what, command: &control.Command{Body: &control.Command_Locate{Locate: l}},
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

// namePanic gives the vertex of a program's panic the name that the input has for it, which another
// worker may know than the one that failed.
func (r *run) namePanic(ctx context.Context, f *control.Failure) {
	p := f.Panic
	// whether there are names the run may have failed too soon to tell
	if p == nil || !p.Known || p.Name != "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, namePatience)
	defer cancel()
	// If no worker answers, it has its input id.
	answers, _ := r.server.locate(ctx, "find names", r.team,
		&control.Locate{Graph: r.job.graph(), NamesOf: []uint64{p.Vertex}})
	for _, a := range answers {
		for _, one := range a.Names {
			p.Name = one.Name
			f.Message = control.Text(p.Err().Error(), control.MaxText)
		}
	}
}

// unnamed puts input ids in place of the names that lines of a column have for vertices.
func (r *run) unnamed(ctx context.Context, column kernel.Property, lines []graphio.Value, file string) error {
	var names []string
	labels, named := map[string]uint64{}, r.figures().Named
	for _, v := range lines {
		name := string(v.Names[0])
		names = append(names, name)
		if value, ok := fill.NameIn(column, v.Text); ok && named {
			names = append(names, value)
		}
		if named {
			continue
		}
		label, err := strconv.ParseUint(name, 10, 64)
		if err != nil {
			return v.Fault(file, fmt.Sprintf("vertex %.80q", name),
				"a whole number: "+r.graphName()+" has no names")
		}
		labels[name] = label
	}
	if named {
		var err error
		if labels, err = r.labelsOf(ctx, names); err != nil {
			return err
		}
	}
	for i := range lines {
		v := &lines[i]
		label, ok := labels[string(v.Names[0])]
		if !ok {
			return v.Fault(file, fmt.Sprintf("vertex %.80q", v.Names[0]), "one of "+r.graphName())
		}
		v.ID = label
		if name, ok := fill.NameIn(column, v.Text); ok && named {
			value, known := labels[name]
			if !known {
				return v.Fault(file, fmt.Sprintf("vertex %.80q as a value", name),
					"one of the graph, or -1")
			}
			v.Text = strconv.AppendUint(nil, value, 10)
		}
	}
	return nil
}
