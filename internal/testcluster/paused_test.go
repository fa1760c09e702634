package testcluster

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
)

// TestMasterIsPaused blocks the master for three leases while a job runs, as SIGSTOP does. No
// worker is lost, no session breaks, the graph stays, the job continues, and the next job runs.
func TestMasterIsPaused(t *testing.T) {
	t.Parallel()
	const lease = 4 * time.Second
	var once sync.Once
	c := Start(t, 3, master.Config{Options: master.Options{Lease: lease}, Master: daemon.Master{Watch: func(_ string,
		e *control.JobEvent,
	) {
		// the master's lock is held: it neither receives nor sends
		if e.GetJob().GetState() == control.JobState_JOB_STATE_RUNNING {
			once.Do(func() { <-time.After(3 * lease) })
		}
	}}}, programs()...)
	before := map[string]uint64{}
	for _, w := range c.Workers() {
		before[w.Name] = w.Incarnation
	}
	c.load(t, "web", small(), 0, 0)
	for range 2 {
		j, _ := c.watch(t, c.submitSpec(t, &job.Spec{Program: "wcc", Graph: "web"}).Id, nil)
		if j.State != control.JobState_JOB_STATE_DONE || len(j.Workers) != 3 {
			t.Fatalf("%s on %v: %s", j.State.Word(), j.Workers, j.Reason)
		}
	}
	for _, w := range c.Workers() {
		if w.State != control.WorkerState_WORKER_STATE_REGISTERED || !w.Attached ||
			w.Incarnation != before[w.Name] {
			t.Errorf("found %v", w)
		}
	}
}

// TestTimeThatTheMasterMissed lets the master's clock jump between two ticks, as after a pause.
// This does not count as silence of the workers.
func TestTimeThatTheMasterMissed(t *testing.T) {
	t.Parallel()
	const lease = 5 * time.Second
	var missed atomic.Int64
	c := Start(t, 3, master.Config{Options: master.Options{Lease: lease}, Master: daemon.Master{Process: daemon.Process{Now: func() time.Time { return time.Now().Add(time.Duration(missed.Load())) }}}}, programs()...)
	for range 3 {
		missed.Add(int64(time.Minute))
		c.after(t, 2*lease/5, 3)
	}
}
