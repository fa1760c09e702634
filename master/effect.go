package master

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/membership"
)

func (s *server) effect(e effect) {
	switch e := e.(type) {
	case startJob:
		ctx, stop := context.WithCancelCause(s.ctx)
		s.stops[e.job.id] = stop
		r := newRun(s, e.job)
		s.runs[e.job.id] = r
		s.spawn(func() { r.coordinate(ctx) })
	case moveJob:
		if r := s.runs[e.job.id]; r != nil {
			s.spawn(func() { r.keepAndEnd(&movedError{e.reason}) })
		}
	case stopJob:
		if stop, why := s.stops[e.id], errors.New(e.reason); stop != nil && e.leaves {
			r := s.runs[e.id]
			s.spawn(func() { r.leave(why, stop) })
		} else if stop != nil {
			stop(why)
		}
	case jobTurned:
		s.logJob(e)
		s.note(e)
		if e.state == control.JobState_JOB_STATE_QUEUED {
			e.job.forgetFigures()
		}
		e.job.over = e.state.Ended() && s.commits.failed == nil
		if e.job.over && len(e.job.spec.ColumnData)+len(e.job.spec.Sets) > 0 {
			s.spawn(s.sweepColumns)
		}
		if place := e.job.spec.Checkpoints; place != "" &&
			e.state == control.JobState_JOB_STATE_DONE && e.job.figures.Complete() {
			s.spawn(func() { s.forget(place) })
		}
	case placeForgotten:
		s.spawn(func() { s.forget(e.place) })
	case graphTurned:
		s.log.Info("graph", "graph", e.graph.name, "state", e.state.Word(), "reason", e.reason)
		s.wake()
	case startLoad:
		ctx, stop := context.WithCancelCause(s.ctx)
		s.stops["graph "+e.graph.name] = stop
		s.spawn(func() { s.load(ctx, e.graph) })
	case stopLoad:
		if stop := s.stops["graph "+e.name]; stop != nil {
			stop(errors.New(e.reason))
		}
	case dropShare:
		for _, name := range e.workers {
			if w := s.sessions[name]; w != nil {
				drop := &control.Drop{Graph: e.name}
				s.tell(w, &control.Command{Body: &control.Command_Drop{Drop: drop}})
			}
		}
	case probe:
		s.examine(e.pair)
	case goodbye:
		s.log.Info("worker may leave", "worker", e.name)
		if w := s.sessions[e.name]; w != nil {
			_ = w.lane.Post(
				&control.ToWorker{Body: &control.ToWorker_Goodbye{Goodbye: &control.Goodbye{}}})
		}
	case dismiss:
		s.log.Warn("worker lost", "worker", e.name, "incarnation", e.incarnation, "reason",
			e.reason)
		if w := s.sessions[e.name]; w != nil && w.incarnation == e.incarnation {
			w.end(lostRefusal(control.Refusal_KIND_UNKNOWN, e.name, e.incarnation))
		}
	}
}

// tick calls the state machine's tick periodically. If more than two periods pass between ticks,
// the process was stopped, the machine suspended, or the lock held. That gap does not count as
// silence of the workers.
func (s *server) tick() {
	period := s.options.Lease / ticks
	t := time.NewTicker(period)
	defer t.Stop()
	last := s.now()
	for {
		select {
		case <-t.C:
			s.event(func() {
				now := s.now()
				if gap := now - last; gap > 2*period {
					s.cluster.unheard(gap - period)
				}
				last = now
				s.rewrite(now)
				s.tickSessions()
				s.cluster.tick(now)
			})
		case <-s.ctx.Done():
			return
		}
	}
}

// tickSessions counts bytes of partial messages as a sign of life of a worker, and sends heartbeats
// to workers. The caller holds the lock.
func (s *server) tickSessions() {
	now := s.now()
	for _, w := range s.sessions {
		if n := w.lane.Received(); n != w.received {
			w.received = n
			s.cluster.heard(now, w.name, w.incarnation)
		}
		if now-w.told >= s.options.Lease/control.HeartbeatsPerLease {
			w.told = now
			// It fails if much is queued, which serves as well.
			beat := &control.Beat{Heard: s.heardOf(w)}
			_ = w.lane.Offer(&control.ToWorker{Body: &control.ToWorker_Beat{Beat: beat}})
		}
	}
}

// heardOf returns, for each run on a worker, the serial before which everything was received. The
// caller holds the lock.
func (s *server) heardOf(w *session) (all []*control.Heard) {
	for id := range s.stops {
		if r := s.runs[id]; r != nil && r.heard[w.name] > 0 {
			all = append(all, &control.Heard{Job: id, Epoch: r.epoch, Serial: r.heard[w.name]})
		}
	}
	return all
}

// hints passes workers that gossip considers dead to the state machine.
func (s *server) hints() {
	for {
		select {
		case e, ok := <-s.options.Group.Events():
			if !ok {
				return
			}
			if e.Gone && e.Member.Role == membership.Worker {
				s.event(func() { s.cluster.suspect(s.now(), e.Member.Name) })
			}
		case <-s.ctx.Done():
			return
		}
	}
}

// logJob logs a job's new state; a failure as an error.
func (s *server) logJob(e jobTurned) {
	s.log.Log(s.ctx, levels[e.state],
		"job", "job", e.job.id, "state", e.state.Detail(), "reason", e.reason)
}

// levels are the log levels of states not logged at slog.LevelInfo.
var levels = map[control.JobState]slog.Level{control.JobState_JOB_STATE_FAILED: slog.LevelError}
