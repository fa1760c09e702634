package testcluster

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
)

// TestMasterStartsOnAFullDisk: a master with a full disk starts, twice. It takes over the running
// job, and reports that it accepts no other job until there is room.
func TestMasterStartsOnAFullDisk(t *testing.T) {
	data := t.TempDir()
	if err := unix.Mount("none", data, "tmpfs", 0, "size=4m"); err != nil {
		t.Skip("no file system can be mounted here:", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(data, unix.MNT_DETACH) })
	at := new(atomic.Pointer[gate])
	c := Start(t, 2, master.Config{Options: master.Options{Data: data, Retries: 2}},
		engine.Register("summing", pregel.Erase(summing{at})))
	g := newGate()
	at.Store(g)
	spec := &job.Spec{Program: "summing", Source: &job.Source{Input: "kronecker:scale=9"}}
	running := c.submitSpec(t, spec)
	g.await(t)
	c.Until("the master to know that the job runs", func() bool {
		return c.job(t, running.Id).State == control.JobState_JOB_STATE_RUNNING
	})
	ballast := filepath.Join(data, "ballast")
	for range 2 {
		c.StopMaster()
		fill(t, ballast)
		c.StartMaster(c.Address)
		c.Await(2)
		c.takesNone(t, spec, "no space left on device")
	}
	if j := c.job(t, running.Id); j.State.Ended() || j.Epoch != 1 {
		t.Errorf("the job that ran is %v in attempt %d: %s", j.State, j.Epoch, j.Reason)
	}
	at.Store(nil)
	close(g.open)
	if j, _ := c.watch(t, running.Id, nil); j.State != control.JobState_JOB_STATE_DONE ||
		j.Epoch != 1 {
		t.Errorf("the job that ran is %v in attempt %d: %s", j.State, j.Epoch, j.Reason)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	c.takesJobs(t)
	if j, _ := c.watch(t, c.submitSpec(t, spec).Id,
		nil); j.State != control.JobState_JOB_STATE_DONE {
		t.Errorf("the next job is %v: %s", j.State, j.Reason)
	}
}

// fill writes a file until its disk is full.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for size := 64 << 10; size > 0; size /= 2 {
		for err == nil {
			_, err = f.Write(make([]byte, size))
		}
		err = nil
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
