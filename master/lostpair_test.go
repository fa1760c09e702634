package master

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/engine"
)

// TestABlinkIsNoLoss: a worker that has only changed its session during the run is not lost. If the
// connection of two other workers breaks later, the error names these.
func TestABlinkIsNoLoss(t *testing.T) {
	s, err := New(Config{
		Master:  daemon.Master{Process: daemon.Process{Registry: engine.Registry{}}},
		Options: Options{Lease: 300 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.gone()
	var team []*control.Placement
	for _, name := range []string{"w0", "w1", "w2"} {
		n, err := s.cluster.register(s.now(),
			&control.RegisterRequest{Name: name, Instance: name, Protocol: control.Protocol})
		if err != nil {
			t.Fatal(err)
		}
		team = append(team, &control.Placement{Worker: name, Incarnation: n})
	}
	rejoined := make(chan struct{})
	var attach func(i int)
	attach = func(i int) {
		name, n := team[i].Worker, team[i].Incarnation
		ours, theirs := net.Pipe()
		ctx, end := context.WithCancelCause(t.Context())
		w := &session{name: name, incarnation: n, lane: newLane(ours), ctx: ctx, end: end, calls: map[uint64]*call{}}
		t.Cleanup(func() { w.lane.Close() })
		if _, err := s.attach(w, nil); err != nil {
			t.Error(err)
		}
		go func() {
			worker := newLane(theirs)
			for {
				m := &control.ToWorker{}
				if worker.Receive(m) != nil {
					return
				}
				c := m.GetCommand()
				switch {
				case c.GetRejoin() != nil:
					close(rejoined)
				case c.GetRun() == nil: // a probe, which succeeds
					w.answered(&control.Report{Id: c.Id, Body: &control.Report_Probe{Probe: &control.ProbeReport{}}})
				case name == "w2":
					s.detach(w, errSessionBroke)
					w.end(errSessionBroke)
					attach(i)
					return
				case name == "w0":
					go func() {
						<-rejoined
						w.answered(&control.Report{Id: c.Id, Failure: &control.Failure{
							Lost: "w1", Message: "the connection from w0 to w1 broke",
						}})
					}()
				}
			}
		}()
	}
	for i := range team {
		attach(i)
	}
	rejoin := &control.Command{Body: &control.Command_Rejoin{Rejoin: &control.Rejoin{}}}
	_, err = s.gather(t.Context(), team, order{
		what: "run", again: func(int) *control.Command { return rejoin },
		command: &control.Command{Body: &control.Command_Run{Run: &control.Run{}}},
	})
	if err == nil || !strings.Contains(err.Error(), "the connection from w0 to w1 broke") {
		t.Errorf("found %v, expected the pair", err)
	}
}
