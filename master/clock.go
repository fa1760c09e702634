package master

import (
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/membership"
)

// tick lets time pass in the state machine. Between two ticks no more than two periods pass, unless
// the process was stopped, the machine suspended, or the lock held: that time is nobody's silence
// but the master's own.
func (s *server) tick() {
	defer s.work.Done()
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

// tickSessions takes what has come of a message that is still under way for a sign of life, and
// gives workers one. The lock is held.
func (s *server) tickSessions() {
	now := s.now()
	for _, w := range s.sessions {
		if n := w.lane.Received(); n != w.received {
			w.received = n
			s.cluster.heard(now, w.name, w.incarnation)
		}
		if now-w.told >= s.options.Lease/control.HeartbeatsPerLease {
			w.told = now
			// Else much is on the way to it.
			_ = w.lane.Offer(&control.ToWorker{Body: &control.ToWorker_Beat{Beat: &control.Beat{}}})
		}
	}
}

// hints passes on what gossip takes for dead.
func (s *server) hints() {
	defer s.work.Done()
	for {
		select {
		case e, ok := <-s.options.Group.Events():
			if !ok {
				return
			}
			if e.Kind == membership.Gone && e.Member.Role == membership.Worker {
				s.event(func() { s.cluster.suspect(s.now(), e.Member.Name) })
			}
		case <-s.ctx.Done():
			return
		}
	}
}
