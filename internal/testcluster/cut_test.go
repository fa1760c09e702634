package testcluster

import (
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
)

// excluded returns the workers that get no work, and the reason.
func (c *Cluster) excluded() (names []string, reason string) {
	for _, w := range c.Workers() {
		if w.Excluded {
			names, reason = append(names, w.Name), w.Reason
		}
	}
	return names, reason
}

// TestTwoWorkersAreCutFromEachOther cuts the connection between two workers that both reach the
// master. The running job fails and names both. One of them is excluded and shown as excluded, and
// jobs run on the others. After the connection is restored, jobs run on all workers.
func TestTwoWorkersAreCutFromEachOther(t *testing.T) {
	t.Parallel()
	c := Start(t, 0, master.Config{Options: master.Options{Lease: 8 * time.Second}}, programs()...)
	c.Worker.Silence = 4 * time.Second
	for i, name := range []string{"w0", "w1", "w2"} {
		c.StartWorker(name)
		c.Await(i + 1) // so that w1 registers after w0
	}
	c.load(t, "web", small(), 0, 0)
	j := c.submitSpec(t, endless())
	var began time.Time
	j, _ = c.watch(t, j.Id, func(e *control.JobEvent) {
		if began.IsZero() && here(e) {
			began = time.Now()
			c.Part("w0", "w1", true)
		}
	})
	if j.State != control.JobState_JOB_STATE_FAILED || !strings.Contains(j.Reason, "worker w0") ||
		!strings.Contains(j.Reason, "worker w1") {
		t.Errorf("found %s: %s", j.State.Word(), j.Reason)
	}
	if took := time.Since(began); took > prompt {
		t.Errorf("it failed after %v", took)
	}
	c.Until("one to be excluded", func() bool { names, _ := c.excluded(); return len(names) > 0 })
	if names, reason := c.excluded(); len(names) != 1 || names[0] != "w1" ||
		reason != "no connection to worker w0" {
		t.Errorf("excluded are %v: %s", names, reason)
	}
	if page := c.status(t); !strings.Contains(page, "registered, excluded") {
		t.Errorf("the status does not show it:\n%s", page)
	}
	c.works(t, 2)
	on := &job.Spec{Program: "wcc", Graph: "web"}
	if j, _ := c.watch(t, c.submitSpec(t, on).Id,
		nil); j.State != control.JobState_JOB_STATE_FAILED ||
		j.Reason != "graph web: there is no connection between workers w0 and w1, which hold shares of it" {
		t.Errorf("a job on a graph of both: %s: %s", j.State.Word(), j.Reason)
	}
	c.Part("w0", "w1", false)
	c.Until("nobody to be excluded",
		func() bool { names, _ := c.excluded(); return len(names) == 0 })
	c.works(t, 3)
	if j, _ := c.watch(t, c.submitSpec(t, on).Id, nil); j.State != control.JobState_JOB_STATE_DONE {
		t.Errorf("a job on the graph: %s: %s", j.State.Word(), j.Reason)
	}
}
