package worker

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/job/resolve"
	_ "github.com/superstep-go/superstep/internal/statefile/statetest"
	"github.com/superstep-go/superstep/internal/transport/mesh"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var clusterToken = control.RandomToken()

func listen(t *testing.T) *net.TCPListener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l.(*net.TCPListener)
}

// TestExecutorUnderAnotherIncarnation: a worker registers again. Other workers reach it at the same
// address, but only with the new incarnation.
func TestExecutorUnderAnotherIncarnation(t *testing.T) {
	l := listen(t)
	x := newExecutor(&Config{Options: Options{Name: "x"}, Worker: daemon.Worker{Process: daemon.Process{Token: clusterToken}, Listener: l}})
	defer x.close()
	other, err := mesh.New(mesh.Options{Name: "y", Incarnation: 9, Token: clusterToken.Secret()})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	reach := func(incarnation uint64) error {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		return other.Connect(ctx,
			[]mesh.Peer{{Name: "x", Addr: l.Addr().String(), Incarnation: incarnation}})
	}
	for incarnation := range uint64(4) {
		if err := x.registered(incarnation, false); err != nil {
			t.Fatal(err)
		}
		if err := x.registered(incarnation, false); err != nil {
			t.Fatal(err)
		}
		if err := reach(incarnation); err != nil {
			t.Errorf("incarnation %d: %v", incarnation, err)
		}
		if incarnation > 0 {
			if err := reach(incarnation - 1); !errors.Is(err, mesh.ErrFenced) {
				t.Errorf("incarnation %d at %d: %v", incarnation-1, incarnation, err)
			}
		}
	}
}

// TestAMeetingOutlivesASession: a worker attaches again while a job is about to run. It stays
// connected to the job's other workers until the master no longer wants the job.
func TestAMeetingOutlivesASession(t *testing.T) {
	l := listen(t)
	x := newExecutor(&Config{Options: Options{Name: "x"}, Worker: daemon.Worker{Process: daemon.Process{Token: clusterToken}, Listener: l}})
	defer x.close()
	if err := x.registered(1, false); err != nil {
		t.Fatal(err)
	}
	team := []*control.Placement{{Worker: "x", Address: l.Addr().String(), Incarnation: 1}}
	for _, graph := range []string{resolve.OwnGraph("j"), resolve.OwnGraph("k"), "g"} {
		if err := x.connectPeers(t.Context(), task{}, &control.Meet{Graph: graph, Placements: team}); err != nil {
			t.Fatal(err)
		}
	}
	x.retain([]string{"j"}, []string{"g"})()
	a, err := x.together(t.Context(), task{job: "j", epoch: 1}, "")
	if err != nil {
		t.Fatal(err)
	}
	a.Release()
	for _, job := range []string{"j", "k"} { // j has begun, k is not wanted
		if _, err := x.together(t.Context(), task{job: job, epoch: 1}, ""); !errors.Is(err, errUnmet) {
			t.Errorf("job %s: %v", job, err)
		}
	}
	if x.attempts["g"] != nil {
		t.Error("it would load with a meeting of before")
	}
}

// TestAMeetingEndsTheRunBefore: when the workers of an attempt connect again, their previous run
// ends. It is not mistaken for the next one.
func TestAMeetingEndsTheRunBefore(t *testing.T) {
	l := listen(t)
	x := newExecutor(&Config{Options: Options{Name: "x"}, Worker: daemon.Worker{Process: daemon.Process{Token: clusterToken}, Listener: l}})
	defer x.close()
	if err := x.registered(1, false); err != nil {
		t.Fatal(err)
	}
	team := []*control.Placement{{Worker: "x", Address: l.Addr().String(), Incarnation: 1}}
	of, before := task{job: "j", epoch: 1}, (*attempt)(nil)
	for meeting := range uint64(2) {
		meet := &control.Meet{Attempt: meeting, Graph: resolve.OwnGraph("j"), Placements: team}
		if err := x.connectPeers(t.Context(), of, meet); err != nil {
			t.Fatal(err)
		}
		if before != nil {
			if a, err := x.find(of); err == nil {
				a.Release()
				t.Error("a run of the meeting before is found")
			}
			if !errors.Is(context.Cause(before.run.ctx), errDropped) {
				t.Errorf("it was not stopped: %v", context.Cause(before.run.ctx))
			}
		}
		a, err := x.together(t.Context(), of, "")
		if err != nil {
			t.Fatal(err)
		}
		a.Release()
		before = a
	}
}

// TestExecutorRefuses has commands for jobs and graphs that do not exist or are not prepared.
func TestExecutorRefuses(t *testing.T) {
	x := newExecutor(&Config{Options: Options{Name: "x"}, Worker: daemon.Worker{Process: daemon.Process{Token: clusterToken}, Listener: listen(t)}})
	defer x.close()
	task := task{job: "j", epoch: 2}
	if _, err := x.does(t.Context(), task, &control.Run{}, nil); !errors.Is(err, errUnmet) {
		t.Errorf("a job whose workers have not met: %v", err)
	}
	if err := x.values(t.Context(), task, &control.Values{}, func([]byte) error { return nil }); err == nil {
		t.Error("values of a job that was not prepared")
	}
	if _, err := x.locate(&control.Locate{Graph: "g"}); err == nil {
		t.Error("located vertices of a missing graph")
	}
	x.drop(task, "g")
	x.drop(task, "")
}
