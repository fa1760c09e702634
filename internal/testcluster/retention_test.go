package testcluster

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
)

// jobs lists all jobs.
func (c *Cluster) jobs(t testing.TB) []*control.Job {
	t.Helper()
	r, err := c.Client.ListJobs(t.Context(),
		&control.ListJobsRequest{Ended: true})
	if err != nil {
		t.Fatal(err)
	}
	return r.Jobs
}

// TestResultOfAnEarlierMaster: the next master with the same data has the result of a job.
func TestResultOfAnEarlierMaster(t *testing.T) {
	data := t.TempDir()
	c := Start(t, 2, master.Config{Options: master.Options{Data: data}}, programs()...)
	id := c.submitSpec(t, &job.Spec{Program: "wcc", Source: small(), KeepResult: true}).Id
	before, _ := c.watch(t, id, nil)
	if before.State != control.JobState_JOB_STATE_DONE {
		t.Fatal(before.Reason)
	}
	want := c.result(t, id)
	c.StopMaster()
	c.StartMaster(c.Address)
	c.Await(2)

	if got := c.result(t, id); !maps.Equal(got, want) {
		t.Errorf("found %d lines, expected %d: or others", len(got), len(want))
	}
	all := c.jobs(t)
	if len(all) != 1 || all[0].Id != id || all[0].Spec().Program != "wcc" ||
		all[0].State != control.JobState_JOB_STATE_DONE ||
		all[0].ResultBytes != before.ResultBytes {
		t.Errorf("found %v", all)
	}
	one, err := c.Client.GetJob(t.Context(), &control.GetJobRequest{Id: id})
	if err != nil || one.Id != id {
		t.Errorf("found %v, %v", one, err)
	}
	cancelled, err := c.Client.CancelJob(t.Context(),
		&control.CancelJobRequest{Id: id})
	if err != nil || cancelled.State != control.JobState_JOB_STATE_DONE {
		t.Errorf("found %v, %v", cancelled, err)
	}
	c.works(t, 2)
}

// TestResultThatWasRemoved: the error of a removed result has the reason: it made room for another.
func TestResultThatWasRemoved(t *testing.T) {
	c := Start(t, 1,
		master.Config{Options: master.Options{KeepResultBytes: 1, KeepResults: time.Hour}},
		programs()...)
	var ids [2]string
	for i := range ids {
		ids[i] = c.submitSpec(t, &job.Spec{Program: "wcc", Source: small(), KeepResult: true}).Id
		if j, _ := c.watch(t, ids[i], nil); j.State != control.JobState_JOB_STATE_DONE {
			t.Fatal(j.Reason)
		}
	}
	if n := len(c.result(t, ids[1])); n != 256 {
		t.Errorf("found %d lines of the newest result", n)
	}
	stream, err := c.Client.GetResult(t.Context(),
		&control.GetResultRequest{Id: ids[0]})
	if err != nil {
		t.Fatal(err)
	}
	for stream.Receive() {
		t.Error("found a chunk of a result that was removed")
	}
	want := "not_found: the result of job " + ids[0] +
		" is gone, or could not be stored: the master keeps results for 1h0m0s, and at most " +
		"1 bytes of them, or less of one owner (--keep-results, --keep-result-bytes, --quota)"
	if err := stream.Err(); err == nil || err.Error() != want {
		t.Errorf("found %v, expected %s", err, want)
	}
	if err := stream.Close(); err != nil {
		t.Error(err)
	}
}

// TestDiskThatIsFullAtTheEnd: if the end of a part cannot be written, the job fails, and nothing of
// the result is kept.
func TestDiskThatIsFullAtTheEnd(t *testing.T) {
	data := t.TempDir()
	c := Start(t, 2, master.Config{Options: master.Options{Data: data}, Master: daemon.Master{WrapPart: func(from io.Reader) io.Reader {
		return io.MultiReader(from, iotest.ErrReader(errors.New("no space left on device")))
	}}}, programs()...)
	id := c.submitSpec(t, &job.Spec{Program: "wcc", Source: small(), KeepResult: true}).Id
	if j, _ := c.watch(t, id, nil); j.State != control.JobState_JOB_STATE_FAILED ||
		!strings.HasSuffix(j.Reason, ": no space left on device") {
		t.Errorf("found %s: %s", j.State.Word(), j.Reason)
	}
	c.works(t, 2)
	c.StopMaster() // waits for the disk
	if entries, err := os.ReadDir(filepath.Join(data, "results")); err != nil || len(entries) != 0 {
		t.Errorf("found %v, %v", entries, err)
	}
	c.StartMaster(c.Address)
	if all := c.jobs(t); len(all) == 0 || all[0].Id != id ||
		all[0].State != control.JobState_JOB_STATE_FAILED {
		t.Errorf("found %v", all)
	}
}
