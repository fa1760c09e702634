package testcluster

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/netbench"
	"github.com/superstep-go/superstep/master"
)

func (c *Cluster) netbench(t testing.TB, n *job.Netbench) *control.Job {
	t.Helper()
	return c.submitSpec(t, &job.Spec{Program: control.NetbenchProgram, Netbench: n})
}

// resultFrom fetches a job's result from an offset.
func (c *Cluster) resultFrom(t testing.TB, id string, from int) []byte {
	t.Helper()
	stream, err := c.Client.GetResult(t.Context(),
		&control.GetResultRequest{Id: id, Offset: uint64(from)})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var all bytes.Buffer
	for stream.Receive() {
		all.Write(stream.Msg().Data)
	}
	if stream.Err() != nil {
		t.Fatal(stream.Err())
	}
	return all.Bytes()
}

// TestNetbench measures between workers at two sites, given by their labels.
func TestNetbench(t *testing.T) {
	c := Start(t, 2, master.Config{}, programs()...)
	c.Worker.Site = "far"
	c.StartWorker("w2")
	c.StartWorker("w3")
	c.Await(4)
	far := 0
	j, words := c.watch(t, c.netbench(t, &job.Netbench{
		Sizes:       []uint64{64, 32 << 10},
		Collectives: []string{"point-to-point", "stream", "broadcast", "allreduce"}, Repetitions: 2,
	}).Id, func(e *control.JobEvent) {
		if p := e.GetProgress(); p.GetStage() == "measuring" {
			far = max(far, int(p.Total))
		}
	})
	if j.State != control.JobState_JOB_STATE_DONE || !strings.HasPrefix(words,
		"queued running, loading running") || j.RunSeconds <= 0 || far != 8 {
		t.Fatalf("%v: %s; %s; %v, %d", j.State.Word(), j.Reason, words, j.RunSeconds, far)
	}
	var r netbench.Report
	text := c.resultFrom(t, j.Id, 0)
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.Workers, []string{"w0", "w1", "w2", "w3"}) || !slices.Equal(r.Sites,
		[]string{"", "", "far", "far"}) || !slices.Equal(r.Model.Sites, []int{0, 0, 1, 1}) {
		t.Errorf("%v at %v, %v", r.Workers, r.Sites, r.Model.Sites)
	}
	want := 2 * (2 + 2 + len(collective.Algorithms(collective.Broadcast)) +
		len(collective.Algorithms(collective.Allreduce)))
	if len(r.Points) != want || len(r.Shares) != 4 || uint64(len(text)) != j.ResultBytes {
		t.Errorf("%d points of %d, %d shares; %d bytes of %d", len(r.Points), want, len(r.Shares),
			len(text), j.ResultBytes)
	}
	two := slices.ContainsFunc(r.Points, func(p netbench.Point) bool {
		return p.Algorithm == collective.Sites && p.Seconds > 0 && p.Predicted > 0
	})
	if !two {
		t.Error("the algorithm of two levels was not measured")
	}
	c.works(t, 4)
	c.holdsOnly(t, 0)
}

func TestNetbenchRefusals(t *testing.T) {
	c := Start(t, 1, master.Config{}, programs()...)
	for want, change := range map[string]func(s *job.Spec){
		"expected the program netbench without graph":  func(s *job.Spec) { s.Graph = "g" },
		"expected the program netbench without graph,": func(s *job.Spec) { s.Program = "bfs" },
		"columns and grid":            func(s *job.Spec) { s.Rows, s.Columns = 2, 2 },
		`no collective "scan"`:        func(s *job.Spec) { s.Netbench.Collectives = []string{"scan"} },
		`found algorithm "quick"`:     func(s *job.Spec) { s.Netbench.Algorithm = "quick" },
		"expected rising sizes":       func(s *job.Spec) { s.Netbench.Sizes = []uint64{1 << 63} },
		"found 65 sizes":              func(s *job.Spec) { s.Netbench.Sizes = make([]uint64, 65) },
		"repetitions: found 10000000": func(s *job.Spec) { s.Netbench.Repetitions = 1e7 },
	} {
		spec := &job.Spec{Program: control.NetbenchProgram, Netbench: &job.Netbench{}}
		change(spec)
		_, err := c.Client.SubmitJob(t.Context(),
			&control.SubmitJobRequest{SpecJson: job.Text(spec)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("found %v, want %q", err, want)
		}
	}
	j, _ := c.watch(t, c.netbench(t, &job.Netbench{}).Id, nil)
	if j.State != control.JobState_JOB_STATE_FAILED ||
		!strings.Contains(j.Reason, "found one worker, expected two or more") {
		t.Errorf("with one worker: %v: %s", j.State.Word(), j.Reason)
	}
}

// TestNetbenchEnds stops measurements that would take hours, by a client and by the loss of a
// worker.
func TestNetbenchEnds(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, master.Config{}, programs()...)
	for _, how := range []string{"cancelled", "failed"} {
		id := c.netbench(t, &job.Netbench{Repetitions: 1e6}).Id
		acted := false
		began := time.Now()
		j, _ := c.watch(t, id, func(e *control.JobEvent) {
			if acted || e.GetProgress().GetStage() != "measuring" {
				return
			}
			if acted = true; how == "failed" {
				c.Kill("w2")
			} else {
				c.cancel(t, id)
			}
		})
		want := map[string]string{"cancelled": "cancelled by a client", "failed": "w2"}[how]
		if j.State.Word() != how || !strings.Contains(j.Reason, want) ||
			time.Since(began) > prompt {
			t.Errorf("%s: %v after %v: %s", how, j.State.Word(), time.Since(began), j.Reason)
		}
	}
	c.Await(2)
	c.works(t, 2)
	for _, name := range []string{"w0", "w1"} { // w2 may be cut off and return
		c.holdsGraphs(t, name, 0)
	}
}
