package testcluster

import (
	"io"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
)

// summing sums the received messages in every vertex, for six supersteps. If there is a gate, one
// vertex waits there in superstep 3.
type summing struct{ at *atomic.Pointer[gate] }

func (summing) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (p summing) Compute(v *pregel.Vertex[int64, int64], sum int64) {
	v.Set(v.Value()*7 + sum + int64(v.Label()))
	if v.Superstep() == 5 {
		v.VoteToHalt()
		return
	}
	v.SendToAllNeighbors(v.Value() % 1000)
	if g := p.at.Load(); g != nil && v.Superstep() == 3 && v.ID() == 0 {
		g.reached <- struct{}{}
		<-g.open
	}
}

// heldReader blocks reads until let is closed.
type heldReader struct {
	io.Reader
	let <-chan struct{}
}

func (h heldReader) Read(p []byte) (int, error) {
	<-h.let
	return h.Reader.Read(p)
}

// TestJobBeginsAgain loses a worker while a job loads, runs or writes. The job starts again on the
// other workers and has the same result as without a loss.
func TestJobBeginsAgain(t *testing.T) {
	held, at := make(chan struct{}), new(atomic.Pointer[gate])
	var writing sync.Once
	c := Start(t, 6, master.Config{Options: master.Options{Lease: control.Lease, Retries: 2}, Master: daemon.Master{WrapPart: func(from io.Reader) io.Reader { return heldReader{from, held} }}}, append(programs(), engine.Register("summing", pregel.Erase(summing{at})))...)
	spec := func(input string) *job.Spec {
		return &job.Spec{Program: "summing", Source: &job.Source{Input: input}, KeepResult: true}
	}
	left := 6
	lose := func() {
		left--
		c.Kill("w" + string('0'+rune(left)))
	}
	begins := func(e *control.JobEvent) bool {
		return e.GetJob().GetState() == control.JobState_JOB_STATE_QUEUED &&
			strings.Contains(e.GetJob().Reason, "the job begins again, attempt 2 of 3")
	}
	const input = "kronecker:scale=9"
	var results []map[uint64]string
	run := func(what, input string, seen func(*control.JobEvent)) {
		t.Helper()
		j, _ := c.watch(t, c.submitSpec(t, spec(input)).Id, seen)
		if want := uint32(2); j.State != control.JobState_JOB_STATE_DONE || what != "" &&
			(j.Epoch != want || len(j.Workers) != left) || j.Supersteps != 6 {
			t.Fatalf("%s: found %s %q, attempt %d on %v, %d supersteps", what, j.State.Word(),
				j.Reason, j.Epoch, j.Workers, j.Supersteps)
		}
		results = append(results, c.result(t, j.Id))
	}
	run("writing", input, func(e *control.JobEvent) {
		switch {
		case begins(e):
			// data of the first attempt may reach the disk during the second
			close(held)
		case e.GetJob().GetState() == control.JobState_JOB_STATE_WRITING:
			writing.Do(lose)
		}
	})
	g := newGate()
	at.Store(g)
	run("running", input, func(e *control.JobEvent) {
		if e.GetJob().GetState() == control.JobState_JOB_STATE_RUNNING && at.Load() != nil {
			g.await(t)
			at.Store(nil)
			lose()
			close(g.open)
		}
	})
	run("", input, nil)
	for i, r := range results {
		if len(r) == 0 || !maps.Equal(r, results[len(results)-1]) {
			t.Errorf("result %d is another than without a loss", i)
		}
	}
	const other = "kronecker:scale=11"
	results = nil
	var loading sync.Once
	c.Slow(32 << 10) // the load takes some seconds
	run("loading", other, func(e *control.JobEvent) {
		if e.GetJob().GetState() == control.JobState_JOB_STATE_LOADING {
			loading.Do(func() {
				lose()
				c.Slow(0)
			})
		}
	})
	run("", other, nil)
	if len(results[0]) == 0 || !maps.Equal(results[0], results[1]) {
		t.Error("a result is another than without a loss in the load")
	}
}

// TestCancelBetweenAttempts cancels a job while it waits to start again. It does not start.
func TestCancelBetweenAttempts(t *testing.T) {
	t.Parallel()
	c := Start(t, 1, master.Config{Options: master.Options{Lease: control.Lease, Retries: 2}},
		programs()...)
	lost := false
	j, _ := c.watch(t, c.submitSpec(t, endless()).Id, func(e *control.JobEvent) {
		switch {
		case here(e):
			lost = true
			c.Kill("w0")
		case lost && e.GetJob().GetState() == control.JobState_JOB_STATE_QUEUED:
			c.cancel(t, e.GetJob().Id)
		}
	})
	if j.State != control.JobState_JOB_STATE_CANCELLED || j.Epoch != 1 {
		t.Errorf("found %s after attempt %d: %s", j.State.Word(), j.Epoch, j.Reason)
	}
}

// TestGraphIsLoadedAgain loses workers with shares of a graph of the catalog. The graph is loaded
// again on the other workers, and a job on it has the same result.
func TestGraphIsLoadedAgain(t *testing.T) {
	t.Parallel()
	at := new(atomic.Pointer[gate])
	c := Start(t, 3,
		master.Config{Options: master.Options{Lease: control.Lease, Hold: control.Lease, Retries: 2}},
		append(programs(), engine.Register("summing", pregel.Erase(summing{at})))...)
	before := c.load(t, "web", &job.Source{Input: "kronecker:scale=9"}, 0, 0)
	spec := &job.Spec{Program: "summing", Graph: "web", KeepResult: true}
	j, _ := c.watch(t, c.submitSpec(t, spec).Id, nil)
	want := c.result(t, j.Id)
	for i, lose := range []func(string){c.Kill, c.Freeze} {
		g := newGate()
		at.Store(g)
		j, _ = c.watch(t, c.submitSpec(t, spec).Id, func(e *control.JobEvent) {
			if e.GetJob().GetState() == control.JobState_JOB_STATE_RUNNING && at.Load() != nil {
				g.await(t)
				at.Store(nil)
				lose("w" + string('2'-rune(i)))
				close(g.open)
			}
		})
		if j.State != control.JobState_JOB_STATE_DONE || j.Epoch != 2 || len(j.Workers) != 2-i ||
			!maps.Equal(c.result(t, j.Id), want) {
			t.Fatalf("found %s %q after attempt %d on %v, or another result", j.State.Word(),
				j.Reason, j.Epoch, j.Workers)
		}
	}
	after := c.inspect(t, "web")
	if after.State != control.GraphState_GRAPH_STATE_READY || after.Load == before.Load ||
		after.Vertices != before.Vertices {
		t.Errorf("found %v", after)
	}
	// A client that knows vertex ids of the earlier load gets an error.
	spec.Load = before.Load
	if j, _ = c.watch(t, c.submitSpec(t, spec).Id,
		nil); j.State != control.JobState_JOB_STATE_FAILED || !strings.Contains(j.Reason,
		"graph web was loaded since the client listed its vertices") {
		t.Errorf("found %s: %s", j.State.Word(), j.Reason)
	}
}
