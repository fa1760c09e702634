package testcluster

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
)

// laboring makes every vertex work for a time proportional to its edges. If Slow, the vertices of
// the last of three partitions work ten times as long, so their worker is slow until the job moves
// to two workers.
type laboring struct {
	Steps int
	Slow  bool
	three *atomic.Bool // there are three partitions
}

func (p laboring) Validate(g *pregel.GraphInfo) error {
	if g == nil {
		return nil
	}
	p.three.Store(g.Partitions == 3)
	return nil
}

func (laboring) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (p laboring) Compute(v *pregel.Vertex[int64, int64], sum int64) {
	v.Set(v.Value()*7 + sum + int64(v.Label()))
	work := time.Duration(v.OutDegree()) * time.Millisecond
	if p.Slow && p.three.Load() && v.ID()%3 == 2 { // of partition 2
		work *= 10
	}
	<-time.After(work)
	if v.Superstep() >= p.Steps {
		v.VoteToHalt()
		return
	}
	v.SendToAllNeighbors(v.Value() % 1000)
}

// TestStragglerIsLeft runs a job on three workers, one of which is slow. The job continues without
// it, and has the same result as without a move. A worker that is slow because it has most of the
// edges is kept.
func TestStragglerIsLeft(t *testing.T) {
	dir := t.TempDir()
	ring, star := filepath.Join(dir, "ring.txt"), filepath.Join(dir, "star.txt")
	var lines [2]strings.Builder
	for i := range 30 {
		fmt.Fprintln(&lines[0], i, (i+1)%30)
	}
	for i := 1; i < 100; i++ {
		fmt.Fprintln(&lines[1], 0, i)
	}
	for i, name := range []string{ring, star} {
		if err := os.WriteFile(name, []byte(lines[i].String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	three := new(atomic.Bool)
	programs := []engine.Registered{
		engine.Register("slow", pregel.Erase(laboring{100, true, three})),
		engine.Register("even", pregel.Erase(laboring{100, false, three})),
		engine.Register("short", pregel.Erase(laboring{20, false, three})),
	}
	checkpoints := master.Options{Lease: patient, Checkpoints: filepath.Join(dir, "kept")}
	c := Start(t, 3,
		master.Config{Options: checkpoints, Master: daemon.Master{SlowFor: 500 * time.Millisecond}},
		programs...)
	run := func(program, input string) (*control.Job, map[uint64]string, string) {
		t.Helper()
		moved := ""
		j, _ := c.watch(t,
			c.submitSpec(t,
				&job.Spec{Program: program, Source: &job.Source{Input: input, Directed: new(bool)}, KeepResult: true}).Id, func(e *control.JobEvent) {
				if j := e.GetJob(); j.GetState() == control.JobState_JOB_STATE_QUEUED &&
					j.Epoch > 0 {
					moved += j.Reason
				}
			})
		if j.State != control.JobState_JOB_STATE_DONE {
			t.Fatalf("%s: found %s %q", program, j.State.Word(), j.Reason)
		}
		return j, c.result(t, j.Id), moved
	}
	j, got, moved := run("slow", ring)
	if j.Epoch != 2 || len(j.Workers) != 2 || !strings.HasPrefix(moved, "worker w2 is slow: ") ||
		j.Supersteps != 101 {
		t.Errorf("a slow worker: attempt %d on %v, %d supersteps, moved: %q", j.Epoch, j.Workers,
			j.Supersteps, moved)
	}
	status, err := c.Client.Status(t.Context(), &control.StatusRequest{})
	if err != nil || status.Stragglers != 1 {
		t.Errorf("found %d moves away from slow workers (%v), expected 1",
			status.GetStragglers(), err)
	}
	if _, want, _ := run("even", ring); len(want) != 30 || !maps.Equal(got, want) {
		t.Error("the result is another than that of a job that was not moved")
	}
	if j, _, moved := run("short", star); j.Epoch != 1 || len(j.Workers) != 3 {
		t.Errorf("a star: attempt %d on %v, moved: %q", j.Epoch, j.Workers, moved)
	}
}
