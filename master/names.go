package master

import (
	"context"
	"time"

	"github.com/superstep-go/superstep/internal/control"
)

// locate asks workers what they know of vertices of a graph that they have. They answer while a job
// runs on it.
func (s *server) locate(ctx context.Context, what string, team []*control.Placement, l *control.Locate) ([]*control.Located, error) {
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
