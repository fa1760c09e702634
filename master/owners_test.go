package master

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/control"
	jobspec "github.com/superstep-go/superstep/internal/job"
)

// TestOwners: only the owner of an object and operators may use it. With only a token, or without
// any, all callers are the same.
func TestOwners(t *testing.T) {
	dir := t.TempDir()
	s, end := served(t, dir)
	as := func(name string, roles certs.Role) context.Context {
		return control.As(t.Context(), control.Caller{Name: name, Roles: roles})
	}
	alice, bob, olga := as("alice", control.Using), as("bob", control.Using),
		as("olga", control.Using|certs.Operator)
	submit := func(ctx context.Context, key string, spec *jobspec.Spec) (string, error) {
		spec.Program, spec.Source = "wcc", &jobspec.Source{Input: "path:vertices=3"}
		j, _, err := s.Submit(ctx,
			&control.SubmitJobRequest{Key: key, SpecJson: jobspec.Text(spec)})
		return j.GetId(), err
	}
	code := func(what string, err error, want connect.Code) {
		t.Helper()
		if got := connect.CodeOf(err); (err != nil || want != 0) && got != want {
			t.Errorf("%s: found %v, expected code %v", what, err, want)
		}
	}
	const done, no = connect.Code(0), connect.CodePermissionDenied
	job, err := submit(alice, "a", &jobspec.Spec{KeepResult: true})
	code("submit", err, done)
	code("another's result as input",
		s.allowedInputs(bob, &jobspec.Spec{Inputs: map[string]string{"x": job}}), no)
	code("one's own as input",
		s.allowedInputs(alice, &jobspec.Spec{Inputs: map[string]string{"x": job}}), done)
	second := func(_ any, err error) error { return err }
	for _, c := range []struct {
		what string
		ctx  context.Context
		want connect.Code
	}{{"bob", bob, no}, {"nobody", t.Context(), no}, {"alice", alice, done}, {"olga", olga, done}} {
		code(c.what+" confirms", second(s.ConfirmJob(c.ctx,
			&control.ConfirmJobRequest{Id: job})), c.want)
		wanted := c.want
		if wanted == done {
			wanted = connect.CodeFailedPrecondition // it has no result yet
		}
		code(c.what+" reads", s.Result(c.ctx, job, 0, func([]byte) error { return nil }), wanted)
	}
	code("bob cancels",
		second(s.CancelJob(bob, &control.CancelJobRequest{Id: job})), no)
	end()
	s, end = served(t, dir) // the next master knows the owners, too
	defer end()
	code("bob cancels later",
		second(s.CancelJob(bob, &control.CancelJobRequest{Id: job})), no)
	code("alice cancels",
		second(s.CancelJob(alice, &control.CancelJobRequest{Id: job})), done)
	code("nobody's", second(s.CancelJob(bob,
		&control.CancelJobRequest{Id: "none"})), connect.CodeNotFound)
	s.mu.Lock()
	s.cluster.graphs["web"] = &graph{name: "web", owner: "alice", source: &jobspec.Source{}, report: &control.LoadReport{}, state: control.GraphState_GRAPH_STATE_FAILED}
	s.mu.Unlock()
	code("bob drops",
		second(s.DropGraph(bob, &control.DropGraphRequest{Name: "web"})), no)
	code("alice drops", second(s.DropGraph(alice,
		&control.DropGraphRequest{Name: "web"})), done)

	job, err = submit(as("token", control.Reading), "c", &jobspec.Spec{})
	code("submit by token", err, done)
	code("the browser that gave it", second(s.CancelJob(as("browser", control.Reading),
		&control.CancelJobRequest{Id: job})), done)
}

// TestKeysOfAnother: a submission key belongs to its owner, also in the next master.
func TestKeysOfAnother(t *testing.T) {
	dir := t.TempDir()
	s, end := served(t, dir)
	defer func() { end() }()
	submit := func(name, program string) (string, error) {
		j, _, err := s.Submit(
			control.As(t.Context(), control.Caller{Name: name, Roles: control.Using}),
			&control.SubmitJobRequest{Key: "nightly", SpecJson: jobspec.Text(&jobspec.Spec{
				Program: program, Source: &jobspec.Source{Input: "path:vertices=3"},
			})})
		return j.GetId(), err
	}
	ids := map[string]string{}
	for range 2 {
		for name, program := range map[string]string{"alice": "wcc", "bob": "pagerank"} {
			id, err := submit(name, program)
			if err != nil || ids[name] != "" && ids[name] != id {
				t.Errorf("%s: found job %q, %v, expected %q", name, id, err, ids[name])
			}
			ids[name] = id
		}
		if _, err := submit("bob", "wcc"); connect.CodeOf(err) != connect.CodeAlreadyExists {
			t.Errorf("another job under a key: %v", err)
		}
		end()
		s, end = served(t, dir)
	}
	if ids["alice"] == ids["bob"] {
		t.Error("two owners have one job")
	}
}

// TestCheckpointsOfAnother: no user can resume from another user's checkpoints, whatever the
// spelling of their place. This holds after the job was forgotten, and if the next master names the
// place differently.
func TestCheckpointsOfAnother(t *testing.T) {
	dir := t.TempDir()
	s, end := served(t, dir)
	as := func(name string) context.Context {
		return control.As(t.Context(), control.Caller{Name: name, Roles: control.Using})
	}
	submit := func(name, from string) (*control.Job, error) {
		j, _, err := s.Submit(as(name),
			&control.SubmitJobRequest{SpecJson: jobspec.Text(&jobspec.Spec{
				Program: "wcc", Source: &jobspec.Source{Input: "path:vertices=3"}, GoOn: from,
			})})
		return j, err
	}
	check := func(what, all, name string) {
		t.Helper()
		for _, from := range []string{all + name, all + name + "/", all + name + "//", all + "./" + name, all + "/" + name, all + "x/../" + name, "./" + all + name} {
			if _, err := submit("bob", from); connect.CodeOf(err) != connect.CodePermissionDenied &&
				connect.CodeOf(err) != connect.CodeInvalidArgument {
				t.Errorf("%s, %s: found %v", what, from, err)
			}
		}
		if _, err := submit("alice", all+name); err != nil {
			t.Errorf("%s, its owner: %v", what, err)
		}
	}
	first, err := submit("alice", "")
	if err != nil {
		t.Fatal(err)
	}
	name := path.Base(first.Spec().Checkpoints)
	stored := filepath.Join(dir, "checkpoints", name)
	if _, err := submit("alice", "master:/"+name); connect.CodeOf(err) !=
		connect.CodeFailedPrecondition || !strings.HasSuffix(err.Error(),
		"job "+first.Id+" has stored no checkpoint: run it again") {
		t.Errorf("without a checkpoint: found %v", err)
	}
	if _, err := os.Stat(stored); err == nil {
		t.Errorf("%s was made", stored)
	}
	if err := errors.Join(os.Mkdir(stored, 0o700), os.WriteFile(filepath.Join(stored,
		"checkpoint-000000001.json"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	check("a job", "master:/", name)
	end()
	s, end = servedBy(t, Options{Data: dir, Checkpoints: filepath.Join(dir, "checkpoints")})
	defer end()
	check("by another master", filepath.Join(dir, "checkpoints")+"/", name)
	s.mu.Lock()
	s.cluster.ended = 0 // as after many other jobs
	s.mu.Unlock()
	if _, err := s.CancelJob(as("alice"),
		&control.CancelJobRequest{Id: first.Id}); err != nil {
		t.Fatal(err)
	}
	check("a job that is forgotten", filepath.Join(dir, "checkpoints")+"/", name)
}
