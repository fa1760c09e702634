package testcluster

import (
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/master"
)

// TestAJobThatGoesOnCountsFromItsBeginning: a job resumes a cancelled one. The page, the metrics
// and the job count from the beginning of the run. With other parameters or another seed, it
// resumes only as a fork.
func TestAJobThatGoesOnCountsFromItsBeginning(t *testing.T) {
	config := withPage(control.Token{})
	config.Options = master.Options{Log: config.Options.Log, Checkpoints: t.TempDir(), CheckpointEvery: 10}
	c := Start(t, 2, config, programs()...)
	s := siteOf(t, c)
	first := c.submitSpec(t, endless())
	c.Until("it has a checkpoint", func() bool { return c.job(t, first.Id).Checkpoint > 0 })
	c.Until("the page has the checkpoint", func() bool {
		var stages struct{ Items []trace.Stage }
		s.call("GET", "stages", "", 200, &stages)
		return slices.ContainsFunc(stages.Items, func(x trace.Stage) bool {
			return x.Job == first.Id && x.Stage == trace.Checkpoint && x.Seconds > 1e-9 &&
				strings.HasPrefix(x.Part, "superstep ") && !x.Ended.IsZero()
		})
	})
	c.cancel(t, first.Id)
	c.Until("it is cancelled", func() bool { return c.job(t, first.Id).State.Ended() })
	first = c.job(t, first.Id)
	at := first.Supersteps

	next := first.Spec()
	next.GoOn, next.Checkpoints, next.Options = first.Spec().Checkpoints, "",
		job.Options{MaxSupersteps: at + 40}
	j, _ := c.watch(t, c.submitSpec(t, next).Id, nil)
	j = c.job(t, j.Id)
	shown := s.job(j.Id)
	if j.EndedBy != "limit" || j.Supersteps != at+40 || j.Messages != uint64(at+40)*first.Arcs ||
		j.MessagesSent == 0 || j.Forked != "" {
		t.Fatalf("found %v", j)
	}
	if shown.Ended != "limit" || shown.Supersteps != int(j.Supersteps) ||
		shown.Messages != int(j.Messages) || shown.Sent != int(j.MessagesSent) ||
		shown.Bytes != int(j.BytesSent) {
		t.Errorf("the page has %+v of %v", shown, j)
	}
	if m := shown.Summary; m.Supersteps != shown.Supersteps || m.Pushed.Supersteps+
		m.Pulled.Supersteps != shown.Supersteps-1 || shown.Seconds != j.RunSeconds {
		t.Errorf("the page has the summary %+v, %g seconds of %g", m, shown.Seconds, j.RunSeconds)
	}
	if began := first.Started.AsTime(); !shown.Began.Equal(began) {
		t.Errorf("it began %v, expected %v", shown.Began, began)
	}

	again := *next
	other := &again
	other.Parameters, other.Options.Seed = map[string]string{"quiet": "true"}, 3
	const want = "is of another run: parameter quiet is true, and was false, seed is 3, and was 0"
	if j, _ := c.watch(t, c.submitSpec(t, other).Id,
		nil); j.State != control.JobState_JOB_STATE_FAILED || !strings.Contains(j.Reason, want) {
		t.Errorf("with others: %s, %q", j.State.Word(), j.Reason)
	}
	other.Options.Fork = true
	if j, _ := c.watch(t, c.submitSpec(t, other).Id,
		nil); j.State != control.JobState_JOB_STATE_DONE || !strings.Contains(j.Forked, want[3:]) ||
		s.job(j.Id).Forked != j.Forked {
		t.Errorf("forked: %s, %q, forked %q", j.State.Word(), j.Reason, j.Forked)
	}
}
