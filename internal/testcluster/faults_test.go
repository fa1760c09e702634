package testcluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
)

// small returns a job's own graph.
func small() *job.Source { return &job.Source{Input: "kronecker:scale=8"} }

func (c *Cluster) cancel(t testing.TB, id string) {
	t.Helper()
	if _, err := c.Client.CancelJob(t.Context(),
		&control.CancelJobRequest{Id: id}); err != nil {
		t.Error(err)
	}
}

// works runs a job to its end on this number of workers.
func (c *Cluster) works(t testing.TB, workers int) {
	t.Helper()
	j, _ := c.watch(t, c.submitSpec(t, &job.Spec{Program: "wcc", Source: small()}).Id, nil)
	if j.State != control.JobState_JOB_STATE_DONE || len(j.Workers) != workers {
		t.Errorf("the next job: %v on %v: %s", j.State.Word(), j.Workers, j.Reason)
	}
}

// holdsOnly waits until every worker has nothing of ended jobs, and only kept graphs.
func (c *Cluster) holdsOnly(t testing.TB, kept int) {
	t.Helper()
	for name := range c.workers {
		c.holdsGraphs(t, name, kept)
	}
}

func (c *Cluster) holdsGraphs(t testing.TB, name string, kept int) {
	t.Helper()
	c.Until(fmt.Sprintf("worker %s to hold no jobs and %d graphs", name, kept), func() bool {
		jobs, graphs := c.workers[name].worker.Holds()
		return jobs == 0 && graphs == kept
	})
}

// TestProgramsThatPanic: a program panics in each of its methods. The job fails with the place of
// the panic, and the workers continue.
func TestProgramsThatPanic(t *testing.T) {
	c := Start(t, 3, master.Config{}, programs()...)
	for method, want := range map[string]string{
		"compute":    "program broken, vertex 7, superstep 2: no such thing",
		"coordinate": "program broken, superstep 2: no such thing",
		"output":     "program broken, Output of vertex ",
	} {
		j := c.submitSpec(t, &job.Spec{
			Program: "broken", Parameters: map[string]string{"at": "7", "method": method},
			Source: small(), KeepResult: true,
		})
		j, _ = c.watch(t, j.Id, nil)
		if j.State != control.JobState_JOB_STATE_FAILED || !strings.HasPrefix(j.Reason, want) {
			t.Errorf("%s: found %s, %q; expected %q", method, j.State.Word(), j.Reason, want)
		}
		if method == "coordinate" {
			continue // on the master
		}
		if j = c.job(t, j.Id); !strings.Contains(j.Stack, "programs_test.go") {
			t.Errorf("%s: the stack is %q", method, j.Stack)
		}
	}
	c.works(t, 3)
	c.holdsOnly(t, 0)
}

// TestProgramsThatExit: a program ends its goroutine, on the worker that drives the run or on
// another. The job fails with the place, and the workers continue.
func TestProgramsThatExit(t *testing.T) {
	c := Start(t, 2, master.Config{}, programs()...)
	for _, at := range []string{"6", "7"} {
		j := c.submitSpec(t, &job.Spec{
			Program: "broken", Parameters: map[string]string{"at": at, "method": "compute exits"},
			Source: small(),
		})
		j, _ = c.watch(t, j.Id, nil)
		want := "program broken, vertex " + at + ", superstep 2: runtime.Goexit ended the goroutine"
		if j.State != control.JobState_JOB_STATE_FAILED || !strings.HasPrefix(j.Reason, want) {
			t.Errorf("vertex %s: found %s, %q; expected %q", at, j.State.Word(), j.Reason, want)
		}
	}
	c.works(t, 2)
	c.holdsOnly(t, 0)
}

// TestPanicsThatAreNoText: a panic has any value, on a worker or the master. The job fails and is
// shown.
func TestPanicsThatAreNoText(t *testing.T) {
	c := Start(t, 2, master.Config{}, programs()...)
	for method, want := range map[string]string{
		"compute bytes": "superstep 2: no such \ufffd thing", "compute long": "\u20ac...",
		"coordinate bytes": "superstep 2: no such \ufffd thing", "coordinate long": "\u20ac...",
		"output bytes": ": no such \ufffd thing", "output long": "\u20ac...",
	} {
		j := c.submitSpec(t, &job.Spec{
			Program: "broken", Parameters: map[string]string{"at": "7", "method": method},
			Source: small(), KeepResult: true,
		})
		j, _ = c.watch(t, j.Id, nil)
		if j.State != control.JobState_JOB_STATE_FAILED || !strings.HasSuffix(j.Reason, want) ||
			len(j.Reason) > control.MaxText {
			t.Errorf("%s: found %s, %.200q; expected %q", method, j.State.Word(), j.Reason, want)
		}
	}
	c.works(t, 2)
	c.holdsOnly(t, 0)
}

func TestJobsThatCannotRun(t *testing.T) {
	c := Start(t, 2, master.Config{}, programs()...)
	for _, x := range []struct {
		want string
		spec *job.Spec
	}{
		{"there is no algorithm \"none\"", &job.Spec{Program: "none", Source: small()}},
		{"parameter source is missing", &job.Spec{Program: "levels", Source: small()}},
		{"parameter \"sauce\"", &job.Spec{Program: "levels", Parameters: map[string]string{"sauce": "1"}, Source: small()}},
		{"damping is 2", &job.Spec{Program: "pagerank", Parameters: map[string]string{"damping": "2"}, Source: small()}},
		{"there is no method nothing", &job.Spec{Program: "broken", Parameters: map[string]string{"at": "1", "method": "nothing"}, Source: small()}},
		{"delivery: ", &job.Spec{Program: "wcc", Source: small(), Options: job.Options{Delivery: "post"}}},
		{"uncombined", &job.Spec{Program: "wcc", Source: small(), Options: job.Options{Delivery: "pull", Uncombined: true}}},
		{"is unknown", &job.Spec{Program: "wcc", Source: &job.Source{Input: "kronecker:size=8"}}},
		{"weights: ", &job.Spec{Program: "wcc", Source: &job.Source{Input: "grid:rows=2,columns=2", Weights: "heavy"}}},
	} {
		_, err := c.Client.SubmitJob(t.Context(),
			&control.SubmitJobRequest{SpecJson: job.Text(x.spec)})
		if connect.CodeOf(err) != connect.CodeInvalidArgument ||
			!strings.Contains(err.Error(), x.want) {
			t.Errorf("found %v, expected %q", err, x.want)
		}
	}
	for _, x := range []struct {
		want string
		spec *job.Spec
	}{
		{"parameter source: the graph has no vertex 99999", &job.Spec{Program: "levels", Parameters: map[string]string{"source": "99999"}, Source: small()}},
		{"no such file", &job.Spec{Program: "wcc", Source: &job.Source{Input: "/no/such/file.txt"}}},
	} {
		j, _ := c.watch(t, c.submitSpec(t, x.spec).Id, nil)
		if j.State != control.JobState_JOB_STATE_FAILED || !strings.Contains(j.Reason, x.want) {
			t.Errorf("found %s, %q; expected %q", j.State.Word(), j.Reason, x.want)
		}
	}
	c.works(t, 2)
	c.holdsOnly(t, 0)
}

// TestCancelInASuperstep cancels jobs while their partitions compute and send.
func TestCancelInASuperstep(t *testing.T) {
	c := Start(t, 4, master.Config{}, programs()...)
	for _, quiet := range []string{"true", "false"} {
		for range 3 {
			j := c.submitSpec(t,
				&job.Spec{Program: "forever", Parameters: map[string]string{"busy": "true", "quiet": quiet}, Source: small()})
			began := time.Time{}
			j, _ = c.watch(t, j.Id, func(e *control.JobEvent) {
				if here(e) {
					began = time.Now()
					c.cancel(t, j.Id)
				}
			})
			if j.State != control.JobState_JOB_STATE_CANCELLED ||
				j.Reason != "cancelled by a client" {
				t.Errorf("found %s: %s", j.State.Word(), j.Reason)
			}
			if took := time.Since(began); took > prompt {
				t.Errorf("it was cancelled after %v", took)
			}
		}
	}
	c.works(t, 4)
	c.holdsOnly(t, 0)
}

// TestWorkerDiesInAJob loses a worker during a job: its process ends, which closes its connections,
// or its host or link fails, which does not. The job fails within 30 s with the loss as its only
// reason, and the other workers continue.
func TestWorkerDiesInAJob(t *testing.T) {
	t.Parallel()
	for _, way := range []struct {
		name, want string
		lose       func(*Cluster, string)
	}{
		{"process", "worker w2 was lost: its session broke", (*Cluster).Kill},
		{"host", "worker w2 was lost: silent for", (*Cluster).Freeze},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			c := Start(t, 4, master.Config{Options: master.Options{Lease: 4 * time.Second}},
				programs()...)
			var began time.Time
			j := c.submitSpec(t, endless())
			j, _ = c.watch(t, j.Id, func(e *control.JobEvent) {
				if here(e) {
					began = time.Now()
					way.lose(c, "w2")
				}
			})
			took := time.Since(began)
			t.Logf("failed after %v: %s", took, j.Reason)
			if j.State != control.JobState_JOB_STATE_FAILED ||
				!strings.HasPrefix(j.Reason, way.want) {
				t.Errorf("found %s, %q; expected %q", j.State.Word(), j.Reason, way.want)
			}
			if took > prompt {
				t.Errorf("the job failed after %v", took)
			}
			c.Until("w2 to be lost", func() bool {
				w := c.WorkerNamed("w2")
				return w == nil || w.State == control.WorkerState_WORKER_STATE_LOST
			})
			c.works(t, 3)
			c.StartWorker("w4")
			c.Await(4)
			c.works(t, 4)
		})
	}
}

// TestSessionBreaks breaks only a worker's connections during a job. The job fails. The worker
// returns with everything except the job, and continues to work.
func TestSessionBreaks(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, master.Config{}, programs()...)
	c.load(t, "web", small(), 0, 0)
	j := c.submitSpec(t, endless())
	j, _ = c.watch(t, j.Id, func(e *control.JobEvent) {
		if here(e) {
			c.Break("w1")
		}
	})
	if j.State != control.JobState_JOB_STATE_FAILED ||
		j.Reason != "worker w1 was lost: its session broke" {
		t.Errorf("found %s: %s", j.State.Word(), j.Reason)
	}
	c.Await(3)
	j, _ = c.watch(t, c.submitSpec(t, &job.Spec{Program: "wcc", Graph: "web"}).Id, nil)
	if j.State != control.JobState_JOB_STATE_DONE || len(j.Workers) != 3 {
		t.Errorf("the next job: %v on %v: %s", j.State.Word(), j.Workers, j.Reason)
	}
	c.Until("the workers to hold the one graph", func() bool {
		for _, p := range c.workers {
			if jobs, graphs := p.worker.Holds(); jobs != 0 || graphs != 1 {
				return false
			}
		}
		return true
	})
}
