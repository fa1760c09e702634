package worker

import (
	"context"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/control"
)

// asked is whether a master that is silent on the session was asked by a call, and answered that.
type asked struct {
	asking   atomic.Bool
	answered atomic.Int64 // when, as session.heard; 0 if not
}

// overdue says whether the session is to be given up because the master is silent. One that is silent everywhere may be
// paused, or the way to it cut: what is held for it is kept, and the session stays, for the worker's hold time. One
// that answers a call and says nothing on the session has lost that.
func (s *session) overdue(ctx context.Context, leaving bool) error {
	if n := s.lane.Received(); n != s.received {
		s.received = n
		s.hear()
	}
	silence := s.silence()
	if silence <= s.lease {
		s.asked.answered.Store(0)
		return nil
	}
	answered, now := s.asked.answered.Load(), int64(s.Now().Sub(s.began))
	switch {
	case leaving, silence > s.Hold, answered != 0 && now-answered > int64(2*s.heartbeat):
		return errSilent
	case answered == 0 && s.asked.asking.CompareAndSwap(false, true):
		s.commands.Go(func() {
			defer s.asked.asking.Store(false)
			bounded, cancel := context.WithTimeout(ctx, callTimeout)
			defer cancel()
			if err := s.register(bounded); err == nil || control.RefusalOf(err) != control.Refusal_KIND_UNSPECIFIED {
				s.asked.answered.Store(int64(s.Now().Sub(s.began)))
			}
		})
	}
	return nil
}
