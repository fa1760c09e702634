package master

import (
	"sync/atomic"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/escape"
)

// who is what the master shows, and knows others by.
func (o *Config) who() control.Credentials {
	return control.Credentials{Token: o.Token, TLS: o.TLS, InsecureToken: o.InsecureToken}
}

// newGate makes what decides who may what at the master's port.
func (s *Server) newGate() *control.Gate {
	return &control.Gate{Credentials: s.options.who(), Metrics: s.options.MetricsToken, Refused: s.turnAway}
}

// Gate decides who may what at the master's port.
func (s *Server) Gate() *control.Gate { return s.gate }

// refusedEvery is how often a line says who was refused, at most.
const refusedEvery = time.Second

// quiet lets one line through in a time, and counts the others.
type quiet struct {
	next    atomic.Int64 // when, in nanoseconds since the master started
	dropped atomic.Int64
}

// let reports whether a line may be written now, and how many were not since the last one.
func (q *quiet) let(now time.Duration) (dropped int64, ok bool) {
	next := q.next.Load()
	if int64(now) < next || !q.next.CompareAndSwap(next, int64(now+refusedEvery)) {
		q.dropped.Add(1)
		return 0, false
	}
	return q.dropped.Swap(0), true
}

// turnAway counts a request, or a handshake, that was refused, and says so: a line a second at most.
func (s *Server) turnAway(from string, why error) {
	s.event(func() { s.turned++ })
	if dropped, ok := s.refusals.let(s.now()); ok {
		s.log.Warn("refused", "from", from, "reason", why, "more", dropped)
		s.audit.write(entry{What: "refused", From: from, More: dropped, Outcome: escape.Text(why.Error(), maxReason)})
	}
}
