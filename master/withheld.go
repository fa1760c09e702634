package master

import (
	"context"
	"regexp"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
)

// An error of an input quotes the line that is wrong. Who may look at a cluster, but is neither the
// owner of the job or graph nor an operator, is not shown what files have. Without certificates all
// callers are one.

// quoted is what an error of an input quotes.
var quoted = regexp.MustCompile(`(?s)found .*, expected `)

const unquoted = "found something that its owner is told, expected "

// hides reports whether a caller is not shown what files have that are for an owner.
func (s *Server) hides(ctx context.Context, owner string) bool {
	return s.gate.TLS != nil && allowed(ctx, owner, "", "") != nil
}

// shownJob returns a job as a caller may see it.
func (s *Server) shownJob(ctx context.Context, j *control.Job) *control.Job {
	if s.hides(ctx, j.Owner) {
		j = proto.CloneOf(j)
		j.Reason, j.Skipped = quoted.ReplaceAllString(j.Reason, unquoted), nil
	}
	return j
}

// shownGraph is the same of a graph, which nobody else has.
func (s *Server) shownGraph(ctx context.Context, g *control.Graph) *control.Graph {
	if s.hides(ctx, g.Owner) {
		g.Reason, g.Skipped = quoted.ReplaceAllString(g.Reason, unquoted), nil
	}
	return g
}

// shownEvent is the same of what happens to a job.
func (s *Server) shownEvent(ctx context.Context, owner string, e *control.JobEvent) *control.JobEvent {
	text := e.GetLog().GetText()
	if !s.hides(ctx, owner) || e.GetJob() == nil && !quoted.MatchString(text) {
		return e
	}
	e = proto.CloneOf(e)
	if log := e.GetLog(); log != nil {
		log.Text = quoted.ReplaceAllString(text, unquoted)
	} else {
		e.Body = &control.JobEvent_Job{Job: s.shownJob(ctx, e.GetJob())}
	}
	return e
}
