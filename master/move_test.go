package master

import (
	"testing"

	"github.com/superstep-go/superstep/internal/control"
	jobspec "github.com/superstep-go/superstep/internal/job"
)

// TestAMoveThatFailsIsTakenBack: a move fails because the worker cannot be told. The job then does
// not move at its next checkpoint, and can be moved again.
func TestAMoveThatFailsIsTakenBack(t *testing.T) {
	s, end := served(t, t.TempDir())
	defer end()
	j := &job{
		id: "aaaa-1", epoch: 1, driving: true, state: control.JobState_JOB_STATE_RUNNING,
		spec: &jobspec.Spec{Program: "wcc", Source: &jobspec.Source{}, Checkpoints: "master:/wcc-a"}, site: site{placements: []*control.Placement{{Worker: "gone", Incarnation: 1}}},
	}
	r := newRun(s, j)
	r.team = j.placements
	s.mu.Lock()
	s.cluster.jobs[j.id], s.runs[j.id] = j, r
	s.stops[j.id] = func(err error) { t.Errorf("it moves: %v", err) }
	s.cluster.move(j, "worker gone leaves")
	s.cluster.take() // the effect, which the test performs
	s.mu.Unlock()
	for range 2 {
		r.keepAndEnd(&movedError{"worker gone leaves"})
		r.kept()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !j.movable() {
		t.Error("it can move no more")
	}
	delete(s.cluster.jobs, j.id)
}
