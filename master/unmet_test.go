package master

import (
	"bufio"
	"context"
	"net"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/engine"
	jobspec "github.com/superstep-go/superstep/internal/job"
)

// newLane returns one side of a session.
func newLane(conn net.Conn) *control.Lane { return control.NewLane(conn, bufio.NewReader(conn)) }

// TestATeamMeetsAgain: a worker attaches again between connecting the peers and the load, so it is
// no longer connected to the others. The workers connect again, but only a limited number of times.
func TestATeamMeetsAgain(t *testing.T) {
	for _, unmet := range []int{0, 1, 2, meetings} {
		s, err := New(
			Config{Master: daemon.Master{Process: daemon.Process{Registry: engine.Registry{}}}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.gone()
		ours, theirs := net.Pipe()
		ctx, end := context.WithCancelCause(t.Context())
		w := &session{name: "w", incarnation: 1, lane: newLane(ours), ctx: ctx, end: end, calls: map[uint64]*call{}}
		defer w.lane.Close()
		s.sessions["w"] = w
		attempts := map[uint64]bool{}
		go func() { // the worker
			worker, loads := newLane(theirs), 0
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
				} else if c.GetCancel() != nil { // of the previous load
					r.Body = nil
				} else if loads++; loads <= unmet {
					r.Failure, r.Body = &control.Failure{Unmet: true, Message: "is not connected to others"}, nil
				}
				w.answered(r)
			}
		}()
		report, err := s.loadOn(t.Context(), []*control.Placement{{Worker: "w", Incarnation: 1}},
			&control.Load{
				Graph: "g", SourceJson: jobspec.Text(&jobspec.Source{Input: "star:vertices=5"}),
			})
		if unmet < meetings && (err != nil || report.Vertices != 5) || unmet == meetings &&
			(err == nil || !strings.Contains(err.Error(), "is not connected to others")) {
			t.Errorf("%d meetings that were over: %v, %v", unmet, report, err)
		}
		if n := min(unmet+1, meetings); len(attempts) != n {
			t.Errorf("%d meetings that were over: the team met %d times, expected %d", unmet,
				len(attempts), n)
		}
	}
}

// TestATeamMeetsAgainAtOnce: before the workers connect again, those that still work on the failed
// load are told to stop. Otherwise connecting would wait for them.
func TestATeamMeetsAgainAtOnce(t *testing.T) {
	for _, job := range []string{"", "j"} {
		s, err := New(
			Config{Master: daemon.Master{Process: daemon.Process{Registry: engine.Registry{}}}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.gone()
		var team []*control.Placement
		for _, name := range []string{"a", "b"} {
			ours, theirs := net.Pipe()
			ctx, end := context.WithCancelCause(t.Context())
			w := &session{name: name, incarnation: 1, lane: newLane(ours), ctx: ctx, end: end, calls: map[uint64]*call{}}
			defer w.lane.Close()
			s.sessions[name] = w
			team = append(team, &control.Placement{Worker: name, Incarnation: 1})
			go func() {
				worker, loads, held := newLane(theirs), 0, false
				for {
					m := &control.ToWorker{}
					if worker.Receive(m) != nil {
						return
					}
					c := m.GetCommand()
					r := &control.Report{Id: c.Id, Job: c.Job, Epoch: c.Epoch}
					switch {
					case c.GetLoad() != nil:
						r.Body = &control.Report_Load{Load: &control.LoadReport{Vertices: 5}}
						if loads++; loads == 1 && name == "a" {
							r.Failure, r.Body = &control.Failure{Unmet: true, Message: "is not connected to others"}, nil
						} else if loads == 1 {
							held = true // it works on the load
							continue
						}
					case c.GetCancel() != nil:
						if g := c.GetCancel().Graph; (g == "g") != (job == "") {
							t.Errorf("job %q: graph %q is cancelled", job, g)
						}
						held = false
					case c.GetMeet() != nil && held:
						t.Errorf("job %q: a meeting waits for a cancelled load", job)
					}
					w.answered(r)
				}
			}()
		}
		err = s.together(t.Context(), job, 1, team, "load", &control.Meet{Graph: "g"},
			func() error {
				_, err := s.gather(t.Context(), team,
					order{what: "load", command: &control.Command{
						Job: job, Epoch: 1,
						Body: &control.Command_Load{Load: &control.Load{Graph: "g"}},
					}})
				return err
			})
		if err != nil {
			t.Errorf("job %q: %v", job, err)
		}
	}
}

// TestARunThatDidNotArrive: a worker may lose its session before the command to run a job arrives.
// Then the command is sent again, and the attempt continues. If the worker has already reported,
// but no longer knows the run, the attempt is lost.
func TestARunThatDidNotArrive(t *testing.T) {
	for _, c := range []struct {
		name string
		// late: the session exists only later; told: a report arrives before it breaks
		late, told  bool
		words, want string
	}{
		{"on its way", false, false, "run, rejoin, run", ""},
		{"before it was sent", true, false, "run", ""},
		{"after a report", false, true, "run, rejoin", "it no longer runs the job"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := New(
				Config{Master: daemon.Master{Process: daemon.Process{Registry: engine.Registry{}}}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.gone()
			n, err := s.cluster.register(s.now(),
				&control.RegisterRequest{Name: "w", Instance: "i", Protocol: control.Protocol})
			if err != nil {
				t.Fatal(err)
			}
			var words []string
			var attach func(first bool)
			attach = func(first bool) {
				ours, theirs := net.Pipe()
				ctx, end := context.WithCancelCause(t.Context())
				w := &session{name: "w", incarnation: n, lane: newLane(ours), ctx: ctx, end: end, calls: map[uint64]*call{}}
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
						command := m.GetCommand()
						r := &control.Report{Id: command.Id, Body: &control.Report_Drive{Drive: &control.DriveReport{}}}
						if command.GetRejoin() != nil {
							words = append(words, "rejoin")
							r.Failure = &control.Failure{Absent: true, Message: "it no longer runs the job"}
						} else if words = append(words, "run"); first {
							if r.More = true; c.told {
								w.answered(r)
							}
							s.detach(w, errSessionBroke)
							w.end(errSessionBroke)
							attach(false)
							return
						}
						w.answered(r)
					}
				}()
			}
			if c.late {
				go attach(false)
			} else {
				attach(true)
			}
			rejoin := &control.Command{Body: &control.Command_Rejoin{Rejoin: &control.Rejoin{}}}
			_, err = s.gather(t.Context(),
				[]*control.Placement{{Worker: "w", Incarnation: n}}, order{
					what: "run", again: func(int) *control.Command { return rejoin },
					command: &control.Command{Body: &control.Command_Run{Run: &control.Run{}}},
					more:    func(context.Context, int, *control.Report) error { return nil },
				})
			if (err == nil) != (c.want == "") ||
				err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("found %v, expected %q", err, c.want)
			}
			if found := strings.Join(words, ", "); found != c.words {
				t.Errorf("the worker got: %s; expected: %s", found, c.words)
			}
		})
	}
}
