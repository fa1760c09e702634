package master

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/control"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/objects"
	"github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/internal/trace"
)

// The submitter of a job owns it, and the caller that loaded a graph owns the graph. The owner and
// operators may confirm, cancel and resume a job, read its result, and drop a graph. Everybody may
// do so if there is no owner.

// allowed fails if the caller may not do something to a thing of another owner.
func allowed(ctx context.Context, owner, what, do string) error {
	caller := control.CallerOf(ctx)
	if owner == "" || caller.Owner() == owner || caller.Roles.Has(certs.Operator) {
		return nil
	}
	return failed(connect.CodePermissionDenied,
		"%s is of %s: %s or an operator may %s it, and not %s", what, owner, owner, do, caller.Name)
}

// places are files and directories of the master. Workers may not load graphs from them or save
// graphs to them.
func (s *server) places() []string {
	o := s.options
	all := []string{s.results.files.String(), o.Data, o.AuditLog, o.TokenFile, o.MetricsTokenFile, o.TLSKey}
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

// allowedJob fails if the caller may not do something to another owner's job. It accepts an unknown
// job, which fails later.
func (s *server) allowedJob(ctx context.Context, id, do string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.cluster.jobs[id]; j != nil {
		return allowed(ctx, j.owner, "job "+id, do)
	}
	return nil
}

// allowedGraph fails if the caller may not do something to another owner's graph.
func (s *server) allowedGraph(ctx context.Context, name, do string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.cluster.graphs[name]; g != nil {
		return allowed(ctx, g.owner, "graph "+name, do)
	}
	return nil
}

// allowedInputs fails if a job uses another owner's result, or resumes from another owner's
// checkpoints.
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

// allowedSent fails if a job uses columns or vertex sets that were sent for another owner's job.
func (s *server) allowedSent(ctx context.Context, spec *jobspec.Spec) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := map[string]*job{}
	for _, j := range s.cluster.jobs {
		for _, data := range j.spec.Sent() {
			if of[data.ID] == nil || allowed(ctx, j.owner, "", "") == nil {
				of[data.ID] = j
			}
		}
	}
	for what, data := range spec.Sent() {
		j := of[data.ID]
		if j == nil {
			continue
		}
		what = fmt.Sprintf("%.150s of job %s", what, j.id)
		if err := allowed(ctx, j.owner, what, "use"); err != nil {
			return err
		}
	}
	return nil
}

// allowedPlace fails if the caller may not resume from the checkpoints at a place, given by its
// base name. what describes the job that stored them.
func (s *server) allowedPlace(ctx context.Context, at string) (what string, refused error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	went := false
	for _, j := range s.cluster.jobs {
		switch at { // base names are unique, even if the master's place was renamed
		case path.Base(j.spec.Checkpoints):
			return "job " + j.id, allowed(ctx, j.owner, "job "+j.id, "go on with")
		case path.Base(j.spec.GoOn): // stored by a forgotten job
			err := allowed(ctx, j.owner, "job "+j.id, "go on with what was before")
			went, refused = went || err == nil, cmp.Or(refused, err)
		}
	}
	if went {
		refused = nil
	}
	return "the job", refused
}

// Errors about an input quote the faulty line. Callers that may view a cluster, but are neither
// operators nor the owner of the job or graph, do not see such quotes. Without certificates all
// callers count as the same.

// hides reports whether a caller may not see quotes from an owner's files.
func (s *server) hides(ctx context.Context, owner string) bool {
	return s.gate.TLS != nil && allowed(ctx, owner, "", "") != nil
}

// shownJob returns a job as a caller may see it.
func (s *server) shownJob(ctx context.Context, j *control.Job) *control.Job {
	if s.hides(ctx, j.Owner) {
		j = proto.CloneOf(j)
		j.Reason, j.Skipped = trace.Unquoted(j.Reason), nil
		j.SpecJson = withoutSent(j)
	}
	return j
}

// withoutSent returns a job's spec without the ids and checksums of what its client has sent: who
// knows them could use the data.
func withoutSent(j *control.Job) string {
	spec, hidden := j.Spec(), false
	for _, data := range spec.Sent() {
		data.ID, data.Sum, hidden = "", nil, true
	}
	if !hidden {
		return j.SpecJson
	}
	return jobspec.Text(spec)
}

// shownGraph is shownJob for a graph. It changes g, which must not be shared.
func (s *server) shownGraph(ctx context.Context, g *control.Graph) *control.Graph {
	if s.hides(ctx, g.Owner) {
		g.Reason, g.Skipped = trace.Unquoted(g.Reason), nil
	}
	return g
}

// shownEvent is shownJob for an event of a job.
func (s *server) shownEvent(
	ctx context.Context, owner string, e *control.JobEvent,
) *control.JobEvent {
	text := e.GetLog().GetText()
	if !s.hides(ctx, owner) || e.GetJob() == nil && trace.Unquoted(text) == text {
		return e
	}
	e = proto.CloneOf(e)
	if log := e.GetLog(); log != nil {
		log.Text = trace.Unquoted(text)
	} else {
		e.Body = &control.JobEvent_Job{Job: s.shownJob(ctx, e.GetJob())}
	}
	return e
}
