package master

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
)

// drive has the workers run what they have prepared, to its end. The first of them drives the run, and tells how far it is; reported are the
// facts of each, before is what has run before in the same job, and totals asks for the aggregators' at the end.
func (r *run) drive(ctx context.Context, reported [][]byte, before bsp.Outcome, totals bool) (*control.RunEnd, error) {
	d := &control.Drive{
		Facts: reported, Before: resolve.Outcome(before), SuperstepLimit: uint64(r.server.options.CommandTimeout), Totals: totals,
	}
	return r.ride(ctx, func() *control.Command { return &control.Command{Body: &control.Command_Drive{Drive: d}} })
}

// together has the workers meet and do a job, each its part, to its end.
func (r *run) together(ctx context.Context, c *control.Run) (end *control.RunEnd, err error) {
	c.SpecJson, c.Placements, c.Rows, c.Columns = jobspec.Text(r.spec), r.job.placements, r.job.rows, r.job.columns
	c.Limit = uint64(r.server.options.CommandTimeout)
	meet := &control.Meet{Graph: resolve.OwnGraph(r.id), Placements: r.job.placements}
	err = r.server.together(ctx, r.id, r.epoch, r.team, "meeting", meet, func() error {
		end, err = r.ride(ctx, func() *control.Command { return &control.Command{Body: &control.Command_Run{Run: c}} })
		return err
	})
	return end, err
}

// ride hears of a run until it has ended. A worker that loses its session, and comes back before its lease has lapsed, is asked to go on telling.
func (r *run) ride(ctx context.Context, command func() *control.Command) (*control.RunEnd, error) {
	answers, err := r.each(ctx, order{
		what: "run", long: true, command: command, again: rejoin,
		more: func(i int, report *control.Report) error {
			if report.Failure != nil {
				return &workerError{"run", r.team[i].Worker, report.Failure}
			}
			if i != 0 || report.GetDrive() == nil {
				return errors.New("it tells of a run that another worker drives, or something else")
			}
			return r.heard(report.GetDrive())
		},
		fits: func(i int, report *control.Report) bool {
			return report.GetDrive() != nil && (i != 0 || report.GetDrive().GetEnd() != nil)
		},
	})
	if err != nil {
		return nil, err
	}
	return answers[0].GetDrive().End, r.heard(answers[0].GetDrive())
}

func rejoin() *control.Command {
	return &control.Command{Body: &control.Command_Rejoin{Rejoin: &control.Rejoin{}}}
}

// errNotTakenUp is why an attempt that an earlier master began has to begin again.
var errNotTakenUp = errors.New("the master was started anew")

// takeUp goes on with an attempt that an earlier run of the master has begun: the workers run it by themselves, and hold it until they hear of
// a master that does not want it.
func (r *run) takeUp(ctx context.Context) error {
	for _, p := range r.team {
		if err := r.server.awaitBack(ctx, p); err != nil {
			return err
		}
	}
	r.say("the master was started anew, and has taken up the job where it is")
	r.advance(control.JobState_JOB_STATE_RUNNING)
	end, err := r.ride(ctx, rejoin)
	var failed *workerError
	if errors.As(err, &failed) && failed.failure.Absent {
		return fmt.Errorf("%w, and %w; the job begins again", errNotTakenUp, err)
	}
	if err != nil {
		return err
	}
	r.set(func(a *control.Job) { a.RunSeconds += end.GetSeconds() })
	r.end(end)
	return nil
}

// arrival waits until a worker's session, nil without one, is one that is waited for.
func (s *Server) arrival(ctx context.Context, name string, awaited func(w *session) bool) (*session, error) {
	for {
		s.mu.Lock()
		w, arrived := s.sessions[name], s.arrived
		there := awaited(w)
		s.mu.Unlock()
		if there {
			return w, nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// awaitBack waits until a worker of before the master's start has a session again.
func (s *Server) awaitBack(ctx context.Context, p *control.Placement) error {
	soon, cancel := context.WithTimeout(ctx, s.cluster.settle-s.now())
	defer cancel()
	w, err := s.arrival(soon, p.Worker, func(w *session) bool { return w != nil && w.incarnation >= p.Incarnation })
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("%w, and worker %s did not come back; the job begins again", errNotTakenUp, p.Worker)
	case w.incarnation > p.Incarnation:
		return fmt.Errorf("%w, and so was worker %s; the job begins again", errNotTakenUp, p.Worker)
	}
	return nil
}

// back waits for the next session of a worker that has lost one, and returns nil when it is lost.
func (s *Server) back(ctx context.Context, p *control.Placement, before *session) *session {
	ctx, cancel := context.WithTimeout(ctx, s.options.Lease+s.options.Lease/2)
	defer cancel()
	w, _ := s.arrival(ctx, p.Worker, func(w *session) bool {
		return s.cluster.current(p.Worker, p.Incarnation) == nil || w != nil && w != before
	})
	if w == nil || w == before || w.incarnation != p.Incarnation {
		return nil
	}
	return w
}

// heard tells those who watch the job what the worker that drives it has told, once they know that it runs.
func (r *run) heard(d *control.DriveReport) error {
	if r.announced != nil {
		select {
		case <-r.announced.done:
		case <-r.server.ctx.Done():
		}
	}
	if o := d.Outcome; o != nil {
		r.set(func(a *control.Job) {
			a.EndedBy, a.Supersteps = o.Ended, o.Supersteps
			a.Messages, a.MessagesSent, a.BytesSent = o.Messages, o.Sent, o.Bytes
			a.GraphLeft, a.Forked = o.GraphLeft, o.Forked
		})
	}
	if g := d.Load; g != nil {
		r.set(func(a *control.Job) { a.Vertices, a.Edges, a.Arcs = g.Vertices, g.Edges, g.Arcs })
	}
	if d.Graph500 != nil {
		r.set(func(a *control.Job) { a.Graph500 = d.Graph500 })
	}
	if d.Running {
		r.set(func(a *control.Job) { a.LoadSeconds = time.Since(r.began).Seconds() })
		r.advance(control.JobState_JOB_STATE_RUNNING)
		r.began = time.Now()
	}
	if d.Checkpoint > 0 {
		r.set(func(a *control.Job) { a.Checkpoint = d.Checkpoint })
		if r.pace != nil {
			r.checkpoint = d.CheckpointSeconds
		}
		r.kept()
	}
	for _, line := range d.Log {
		r.server.append(r.id, &control.JobEvent{Body: &control.JobEvent_Log{Log: &control.LogLine{
			Time: r.server.stamp(r.server.now()), Job: r.id, Worker: r.team[0].Worker, Text: line,
		}}})
	}
	for _, data := range d.Records {
		r.server.append(r.id, &control.JobEvent{Body: &control.JobEvent_Record{Record: data}})
		if r.pace == nil {
			continue
		}
		s, err := control.DecodeRecord(data)
		if err != nil {
			return err
		}
		r.pace.observe(s)
	}
	if r.pace != nil && len(d.Records) > 0 {
		r.straggles()
	}
	for _, stage := range d.Stages {
		r.server.append(r.id, &control.JobEvent{Body: &control.JobEvent_Stage{Stage: stage}})
	}
	return nil
}

// end keeps what the aggregators of the job's program ended with.
func (r *run) end(e *control.RunEnd) {
	r.set(func(a *control.Job) { a.Aggregators, r.aggregators = shown(e.Aggregators), e.Aggregators })
}

// shown leaves the values of aggregators out.
func shown(all []*control.Aggregator) (without []*control.Aggregator) {
	for _, a := range all {
		without = append(without, &control.Aggregator{Name: a.Name, Json: a.Json})
	}
	return without
}
