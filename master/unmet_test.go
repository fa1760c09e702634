package master

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
)

// TestATeamMeetsAgain: a worker that attached anew between a meeting and the load is not connected to the others: the team
// meets again, but not for ever.
func TestATeamMeetsAgain(t *testing.T) {
	for _, unmet := range []int{0, 1, 2, meetings} {
		s, err := New(Config{Registry: engine.Registry{}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.gone()
		ours, theirs := net.Pipe()
		ctx, end := context.WithCancelCause(t.Context())
		w := &session{name: "w", incarnation: 1, lane: control.NewLane(ours), ctx: ctx, end: end, calls: map[uint64]*call{}}
		defer w.lane.Close()
		s.sessions["w"] = w
		attempts := map[uint64]bool{}
		go func() { // the worker
			worker, loads := control.NewLane(theirs), 0
			for {
				m := &control.ToWorker{}
				if worker.Receive(m) != nil {
					return
				}
				c := m.GetCommand()
				r := &control.Report{Id: c.Id, Body: &control.Report_Load{Load: &control.LoadReport{Vertices: 5}}}
				if meet := c.GetMeet(); meet != nil {
					r.Body = nil
					attempts[meet.Attempt] = true
				} else if loads++; loads <= unmet {
					r.Failure, r.Body = &control.Failure{Absent: true, Message: "is not connected to others"}, nil
				}
				w.answered(r)
			}
		}()
		report, err := s.loadOn(t.Context(), "", 0, []*control.Placement{{Worker: "w", Incarnation: 1}}, &control.Load{
			Graph: "g", Source: &control.GraphSource{Input: "star:vertices=5"},
		}, func(int, *control.Report) {})
		if unmet < meetings && (err != nil || report.Vertices != 5) || unmet == meetings && (err == nil || !strings.Contains(err.Error(), "is not connected to others")) {
			t.Errorf("%d meetings that were over: %v, %v", unmet, report, err)
		}
		if n := min(unmet+1, meetings); len(attempts) != n {
			t.Errorf("%d meetings that were over: the team met %d times, expected %d", unmet, len(attempts), n)
		}
	}
}
