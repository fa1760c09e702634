package testcluster

import (
	"context"
	"testing"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/client"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
)

// held is a program that blocks the master while it checks the parameters of a job.
type held struct {
	Gate int64 `param:"gate"`
}

// At gate 1 Validate reports to atGate and waits for openGate. Counted receives a value for each
// vertex that runs.
var atGate, openGate, counted chan struct{}

func (held) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (p held) Validate(g *pregel.GraphInfo) error {
	if p.Gate == 1 && g == nil {
		atGate <- struct{}{}
		<-openGate
	}
	return nil
}

func (p held) Compute(v *pregel.Vertex[int64, int64], _ int64) {
	counted <- struct{}{}
	v.VoteToHalt()
}

// TestClientGoneWhileTheMasterIsHeld: the master is blocked while it accepts a job, and the client
// gives up. Afterwards the master may accept the job, but never runs it. Later jobs run.
func TestClientGoneWhileTheMasterIsHeld(t *testing.T) {
	atGate, openGate, counted = make(chan struct{}, 100), make(chan struct{}),
		make(chan struct{}, 1000)
	c := Start(t, 1, master.Config{},
		append(programs(), engine.Register("held", pregel.Erase(held{})))...)
	ctx, giveUp := context.WithCancel(t.Context())
	answer := make(chan error)
	go func() {
		_, err := c.Client.SubmitJob(ctx, &control.SubmitJobRequest{
			Key: "gone", ConfirmMilliseconds: 100,
			SpecJson: job.Text(&job.Spec{Program: "held", Parameters: map[string]string{"gate": "1"}, Source: small()}),
		})
		answer <- err
	}()
	<-atGate
	giveUp()
	if err := <-answer; connect.CodeOf(err) != connect.CodeCanceled {
		t.Fatal(err)
	}
	close(openGate)
	there, err := client.New(client.Options{Address: c.Address})
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	for range 2 { // jobs run in the order of submission
		j, err := there.Run(t.Context(), short(), func(*control.JobEvent) error { return nil })
		if err != nil || j.State != control.JobState_JOB_STATE_DONE {
			t.Fatal(j, err)
		}
	}
	c.Until("the job of the client that is gone to be none", func() bool {
		r, err := c.Client.ListJobs(t.Context(), &control.ListJobsRequest{})
		return err == nil && len(r.Jobs) == 0
	})
	if n := len(counted); n != 0 {
		t.Errorf("%d vertices of the job ran", n)
	}
	// The same job from a client that waits.
	if j, err := there.Run(t.Context(), &job.Spec{Program: "held", Source: small()}, func(*control.JobEvent) error { return nil }); err != nil || j.State != control.JobState_JOB_STATE_DONE || len(counted) == 0 {
		t.Error(j, err, len(counted))
	}
}

// TestClientGoneBeforeItConfirms: the client is gone when the answer arrives.
func TestClientGoneBeforeItConfirms(t *testing.T) {
	c := Start(t, 1, master.Config{}, programs()...)
	r, err := c.Client.SubmitJob(t.Context(),
		&control.SubmitJobRequest{Key: "gone", ConfirmMilliseconds: 1, SpecJson: job.Text(short())})
	if err != nil {
		t.Fatal(err)
	}
	j, words := c.watch(t, r.Id, nil)
	if j.State != control.JobState_JOB_STATE_CANCELLED || j.Epoch != 0 ||
		j.Reason != "its client was gone before it confirmed the job" {
		t.Errorf("found %v after %s", j, words)
	}
	if _, err := c.Client.ConfirmJob(t.Context(),
		&control.ConfirmJobRequest{Id: "x-1"}); connect.CodeOf(err) != connect.CodeNotFound {
		t.Error(err)
	}
	if r, err := c.Client.ConfirmJob(t.Context(),
		&control.ConfirmJobRequest{Id: j.Id}); err != nil ||
		r.State != j.State {
		t.Error(r, err)
	}
}
