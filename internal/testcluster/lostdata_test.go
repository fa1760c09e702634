package testcluster

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
)

// takesNone waits until the status has the reason why no job is accepted, and checks that
// submissions fail with it.
func (c *Cluster) takesNone(t *testing.T, spec *job.Spec, why string) {
	t.Helper()
	c.Until("the master to say "+why, func() bool {
		s, err := c.Client.Status(t.Context(), &control.StatusRequest{})
		return err == nil && strings.Contains(s.Refusing, why) &&
			strings.Contains(control.StatusText(s), why)
	})
	_, err := c.Client.SubmitJob(t.Context(),
		&control.SubmitJobRequest{SpecJson: job.Text(spec)})
	if connect.CodeOf(err) != connect.CodeFailedPrecondition ||
		!strings.Contains(err.Error(), why) {
		t.Errorf("a job is refused with %v, expected %s", err, why)
	}
}

// takesJobs waits until the status has no such reason.
func (c *Cluster) takesJobs(t *testing.T) {
	t.Helper()
	c.Until("the master to take jobs", func() bool {
		s, err := c.Client.Status(t.Context(), &control.StatusRequest{})
		return err == nil && s.Refusing == ""
	})
}

// TestLostData: a master's data are removed, completely or partly, while a job runs. The master
// reports it, keeps the job, and accepts no other until the data are back.
func TestLostData(t *testing.T) {
	at, data := new(atomic.Pointer[gate]), filepath.Join(t.TempDir(), "data")
	c := Start(t, 2, master.Config{Options: master.Options{Data: data}},
		engine.Register("summing", pregel.Erase(summing{at})))
	g := newGate()
	at.Store(g)
	spec := &job.Spec{Program: "summing", Source: &job.Source{Input: "kronecker:scale=9"}}
	running := c.submitSpec(t, spec)
	g.await(t)
	for _, lost := range []string{"", "results", "state"} {
		moved := filepath.Join(filepath.Dir(data), "moved")
		if err := os.Rename(filepath.Join(data, lost), moved); err != nil {
			t.Fatal(err)
		}
		c.takesNone(t, spec, filepath.Join(data, lost)+" was removed or replaced")
		if err := os.Rename(moved, filepath.Join(data, lost)); err != nil {
			t.Fatal(err)
		}
		c.takesJobs(t)
	}
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	c.takesNone(t, spec, data+" was removed or replaced")
	at.Store(nil)
	close(g.open)
	if j, _ := c.watch(t, running.Id, nil); j.State != control.JobState_JOB_STATE_DONE {
		t.Errorf("the job that ran is %v: %s", j.State, j.Reason)
	}
	c.StopMaster()
	if _, err := os.Stat(data); err == nil {
		t.Error(
			"the master has created the directory again, so its lost contents cannot be restored")
	}
}
