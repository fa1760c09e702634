package master

import (
	"cmp"
	"context"
	"path"
	"path/filepath"
	"regexp"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/control"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/objects"
	"github.com/superstep-go/superstep/internal/store"
)

// Who submitted a job owns it, and who had a graph loaded that graph: they, and operators, may
// confirm, cancel and go on with the one, read what it computed, and drop the other. What has no
// owner is everybody's.

// allowed refuses to do something to what another owns.
func allowed(ctx context.Context, owner, what, do string) error {
	caller := control.CallerOf(ctx)
	if owner == "" || caller.Owner() == owner || caller.Roles.Has(certs.Operator) {
		return nil
	}
	return failed(connect.CodePermissionDenied,
		"%s is of %s: %s or an operator may %s it, and not %s", what, owner, owner, do, caller.Name)
}

// places are files and directories of the master's own, of which workers read no graph, and to
// which they save none.
func (s *server) places() []string {
	o := s.options
	all := []string{s.results.dir, o.Data, o.AuditLog, o.TokenFile, o.MetricsTokenFile, o.TLSKey}
	if o.TLS != nil {
		all = append(all, o.TLS.Names.Key)
	}
	if o.Checkpoints != noCheckpoints && !objects.Is(o.Checkpoints) {
		all = append(all, o.Checkpoints)
	}
	for i, place := range all {
		if full, err := filepath.Abs(place); err == nil && place != "" && !store.IsS3(place) {
			all[i] = full
		}
	}
	return slices.DeleteFunc(all, func(place string) bool { return place == "" })
}

// allowedJob refuses to do something to another's job. One that there is not is refused later.
func (s *server) allowedJob(ctx context.Context, id, do string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.cluster.jobs[id]; j != nil {
		return allowed(ctx, j.owner, "job "+id, do)
	}
	return nil
}

// allowedGraph refuses to do something to another's graph.
func (s *server) allowedGraph(ctx context.Context, name, do string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.cluster.graphs[name]; g != nil {
		return allowed(ctx, g.owner, "graph "+name, do)
	}
	return nil
}

// allowedInputs refuses a job that begins with what another's has computed, or goes on from
// another's checkpoints.
func (s *server) allowedInputs(ctx context.Context, spec *jobspec.Spec) error {
	for _, id := range spec.Inputs {
		if err := s.allowedJob(ctx, id, "read the result of"); err != nil {
			return err
		}
	}
	if spec.GoOn == "" {
		return nil
	}
	what, err := s.allowedPlace(ctx, path.Base(spec.GoOn))
	if err != nil {
		return err
	}
	return s.hasStored(ctx, spec.GoOn, what)
}

// allowedPlace refuses to go on from another's checkpoints, by the name of their place, and says
// whose they are.
func (s *server) allowedPlace(ctx context.Context, at string) (what string, refused error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	went := false
	for _, j := range s.cluster.jobs {
		switch at { // no two jobs have the same, whatever the master's place was called then
		case path.Base(j.spec.Checkpoints):
			return "job " + j.id, allowed(ctx, j.owner, "job "+j.id, "go on with")
		case path.Base(j.spec.GoOn): // of a job that is forgotten
			err := allowed(ctx, j.owner, "job "+j.id, "go on with what was before")
			went, refused = went || err == nil, cmp.Or(refused, err)
		}
	}
	if went {
		refused = nil
	}
	return "the job", refused
}

// An error of an input quotes the line that is wrong. Who may look at a cluster, but is neither the
// owner of the job or graph nor an operator, is not shown what files have. Without certificates all
// callers are one.

// quoted is what an error of an input quotes.
var quoted = regexp.MustCompile(`(?s)found .*, expected `)

const unquoted = "found something that its owner is told, expected "

// hides reports whether a caller is not shown what files have that are for an owner.
func (s *server) hides(ctx context.Context, owner string) bool {
	return s.gate.TLS != nil && allowed(ctx, owner, "", "") != nil
}

// shownJob returns a job as a caller may see it.
func (s *server) shownJob(ctx context.Context, j *control.Job) *control.Job {
	if s.hides(ctx, j.Owner) {
		j = proto.CloneOf(j)
		j.Reason, j.Skipped = quoted.ReplaceAllString(j.Reason, unquoted), nil
	}
	return j
}

// shownGraph is the same of a graph, which nobody else has.
func (s *server) shownGraph(ctx context.Context, g *control.Graph) *control.Graph {
	if s.hides(ctx, g.Owner) {
		g.Reason, g.Skipped = quoted.ReplaceAllString(g.Reason, unquoted), nil
	}
	return g
}

// shownEvent is the same of what happens to a job.
func (s *server) shownEvent(ctx context.Context, owner string, e *control.JobEvent) *control.JobEvent {
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
