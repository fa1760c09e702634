package master

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
)

// together connects the workers and runs the job on them. The first worker reports progress.
func (r *run) together(ctx context.Context, c *control.Run) error {
	c.SpecJson, c.Rows, c.Columns = jobspec.Text(r.spec), r.job.rows, r.job.columns
	meet := &control.Meet{Graph: resolve.OwnGraph(r.id), Placements: r.job.placements}
	return r.server.together(ctx, r.id, r.epoch, r.team, "meeting", meet, func() error {
		return r.ride(ctx, &control.Command{Body: &control.Command_Run{Run: c}})
	})
}

// ride starts a run on the workers and receives their reports until it has ended. If a worker loses
// its session and attaches again before its lease expires, ride asks it to continue reporting.
func (r *run) ride(ctx context.Context, command *control.Command) error {
	answers, err := r.each(ctx, order{
		what: "run", command: command, again: r.rejoin,
		more: func(ctx context.Context, i int, report *control.Report) error {
			d := report.GetDrive()
			switch {
			case report.Failure != nil:
				return &workerError{"run", r.team[i].Worker, report.Failure}
			case i == 0 && d != nil:
				return r.drives(ctx, d)
			case d == nil || len(d.Loads)+len(d.Records)+len(d.Stages) > 0:
				return errors.New("it sent a report of the wrong kind")
			}
			return r.tell(r.team[i].Worker, d)
		},
		fits: func(i int, report *control.Report) bool {
			return report.GetDrive() != nil && (i != 0 || report.GetDrive().GetEnd() != nil)
		},
	})
	if err != nil {
		return err
	}
	end := answers[0].GetDrive().End
	r.set(func(a *control.Job) {
		a.RunSeconds += end.Seconds
		a.Aggregators = end.Aggregators
	})
	return r.drives(ctx, answers[0].GetDrive())
}

// rejoin makes the command that asks a worker to continue reporting.
func (r *run) rejoin(i int) *control.Command {
	wanted := r.heardOf(r.team[i].Worker)
	return &control.Command{Body: &control.Command_Rejoin{Rejoin: &control.Rejoin{Wanted: wanted}}}
}

// errNotTakenUp is why an attempt of an earlier master has to restart.
var errNotTakenUp = errors.New("the master restarted")

// takeUp continues an attempt that an earlier run of the master began. The workers run it without a
// master, and keep it until a session begins whose Attached does not name the job.
func (r *run) takeUp(ctx context.Context) error {
	for _, p := range r.team {
		if err := r.server.awaitBack(ctx, p); err != nil {
			return err
		}
	}
	r.say("the master restarted, and continues the job")
	r.advance(control.JobState_JOB_STATE_RUNNING)
	err := r.ride(ctx, r.rejoin(0)) // all workers send the reports that they stored
	if failed, ok := errors.AsType[*workerError](err); ok && failed.failure.Absent {
		return fmt.Errorf("%w, and %w; the job begins again", errNotTakenUp, err)
	}
	return err
}

// await waits until there is true. It calls there with the lock, again after each new session and
// each change of a graph.
func (s *server) await(ctx context.Context, there func() bool) error {
	for {
		s.mu.Lock()
		over, changed := there(), s.changed
		s.mu.Unlock()
		if over {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// wake makes callers of await look again. The caller holds the lock.
func (s *server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// awaitBack waits until a worker known before the master's restart has a session again.
func (s *server) awaitBack(ctx context.Context, p *control.Placement) error {
	soon, cancel := context.WithTimeout(ctx, s.cluster.settle-s.now())
	defer cancel()
	var w *session
	err := s.await(soon, func() bool {
		w = s.sessions[p.Worker]
		return w != nil && w.incarnation >= p.Incarnation
	})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("%w, and worker %s did not come back; the job begins again",
			errNotTakenUp, p.Worker)
	case w.incarnation > p.Incarnation:
		return fmt.Errorf("%w, and so did worker %s; the job begins again", errNotTakenUp, p.Worker)
	}
	return nil
}

// back waits for a worker's next session after before. It returns nil if the worker is lost.
func (s *server) back(ctx context.Context, p *control.Placement, before *session) (w *session) {
	ctx, cancel := context.WithTimeout(ctx, s.options.Lease+s.options.Lease/2)
	defer cancel()
	_ = s.await(ctx, func() bool {
		w = s.sessions[p.Worker]
		return s.cluster.current(p.Worker, p.Incarnation) == nil || w != nil && w != before
	})
	if w == nil || w == before || w.incarnation != p.Incarnation {
		return nil
	}
	return w
}

// drives publishes a report of the driving worker to the job's watchers, after they have been told
// that the job is running. It waits only briefly for a slow disk, because a worker whose reports
// are not read would lose its session.
func (r *run) drives(ctx context.Context, d *control.DriveReport) error {
	g, err := sumLoads(r.spec.Origin(), r.team, d.Loads)
	if err != nil {
		return err
	}
	stored := false // a checkpoint
	r.set(func(a *control.Job) {
		stored = d.Checkpoint > a.Checkpoint
		a.Checkpoint = max(a.Checkpoint, d.Checkpoint)
		if o := d.Outcome; o != nil {
			a.EndedBy, a.Supersteps = o.Ended, o.Supersteps
			a.Messages, a.MessagesSent, a.BytesSent = o.Messages, o.Sent, o.Bytes
			a.GraphLeft, a.Forked = o.GraphLeft, o.Forked
		}
		if len(d.Loads) > 0 {
			if a.Vertices > 0 {
				g.Notes = nil // already reported
			}
			a.Vertices, a.Edges, a.Arcs, a.LoadSeconds = g.Vertices, g.Edges, g.Arcs, g.Seconds
			a.Directed, a.Named, a.Skipped = g.Directed, g.Named, g.Skipped
			a.Fingerprint, a.Ids = g.Fingerprint, g.Ids
		}
		if d.Graph500 != nil {
			a.Graph500 = d.Graph500
		}
		a.MaxSupersteps = max(a.MaxSupersteps, d.MaxSupersteps)
	})
	if d.Running && r.begins == 0 {
		r.begins = r.server.now() - r.since
		if kindOf(r.spec) == &programKind { // other kinds of jobs restart with a new master
			r.server.event(func() { r.server.cluster.drives(r.server.now(), r.id, r.epoch) })
		}
		r.advance(control.JobState_JOB_STATE_RUNNING)
	}
	if r.announced != nil {
		select {
		case <-r.announced.done:
		case <-time.After(roomWait):
			r.announced = nil
		case <-ctx.Done(): // publish what has arrived
		}
	}
	for _, note := range g.Notes {
		r.server.append(r.id, said(control.Text(note, control.MaxText)))
	}
	if stored {
		c := &control.Stored{Superstep: d.Checkpoint, Seconds: d.CheckpointSeconds}
		r.server.append(r.id, &control.JobEvent{
			Serial: c.Serial(r.epoch), Body: &control.JobEvent_Checkpoint{Checkpoint: c},
		})
		if r.pace != nil {
			r.checkpoint = d.CheckpointSeconds
		}
		r.kept()
	}
	return r.tell(r.team[0].Worker, d)
}

// tell publishes a worker's report to the job's watchers. It ignores a report received before.
func (r *run) tell(worker string, d *control.DriveReport) error {
	next := d.Serial
	switch of := uint64(r.epoch); {
	case next > 0 && (next>>control.EpochBits != of || d.Next()>>control.EpochBits != of):
		return fmt.Errorf("worker %s gives what it tells the number %d, which is not of attempt %d",
			worker, next, of)
	case next > 0 && next < r.heardOf(worker):
		return nil
	}
	tell := func(e *control.JobEvent) {
		if e.Serial = next; next > 0 {
			next++
		}
		r.server.append(r.id, e)
	}
	for _, line := range d.Log {
		tell(&control.JobEvent{Body: &control.JobEvent_Log{Log: &control.LogLine{
			Time: r.server.stamp(r.server.now()), Job: r.id, Worker: worker,
			Text: control.Text(line, control.MaxText),
		}}})
	}
	for _, data := range d.Records {
		tell(&control.JobEvent{Body: &control.JobEvent_Record{Record: data}})
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
		stage.Stage = control.Text(stage.Stage, control.MaxName)
		tell(&control.JobEvent{Body: &control.JobEvent_Stage{Stage: stage}})
	}
	r.set(func(*control.Job) { r.heard[worker] = max(r.heard[worker], next) })
	return nil
}

// shown returns the aggregators without their binary values.
func shown(all []*control.Aggregator) (without []*control.Aggregator) {
	for _, a := range all {
		without = append(without, &control.Aggregator{Name: a.Name, Json: a.Json})
	}
	return without
}
