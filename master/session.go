package master

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/control"
)

// session is a connection for commands to a worker.
type session struct {
	name        string
	incarnation uint64
	lane        *control.Lane
	ctx         context.Context
	end         context.CancelCauseFunc

	mu    sync.Mutex
	last  uint64 // number of the last command
	calls map[uint64]*call

	received uint64        // bytes received at the last tick; guarded by the server's lock
	told     time.Duration // when tick last sent a heartbeat; guarded likewise
}

// call is a command in progress.
type call struct {
	job     string
	epoch   uint32
	reports chan *control.Report // reports not yet handled
	ctx     context.Context      // ends when nobody waits for reports

	// take reads a delivered answer; nil if none is expected.
	take func(io.Reader) error
	// Under the session's lock: a delivery has begun.
	delivered bool
}

// maxReports bounds the reports in a call's buffer. When the buffer is full, the master stops
// reading from the worker, which then has to wait. A small buffer suffices, because a report may
// cover many supersteps. Meanwhile the worker's lease is renewed after each roomWait, which is
// several times shorter than a lease. After mostWaits of them the session is ended.
const (
	maxReports = 8
	roomWait   = 500 * time.Millisecond
	mostWaits  = 60
)

func newSession(ctx context.Context, lane *control.Lane, name string, incarnation uint64) *session {
	ctx, end := context.WithCancelCause(ctx)
	return &session{
		name: name, incarnation: incarnation, lane: lane, ctx: ctx, end: end,
		calls: map[uint64]*call{}, received: lane.Received(),
	}
}

// do sends a command and waits for its last report. It passes earlier reports to each, and a
// delivered answer to take, if not nil. The error is that of the session or ctx; an error of the
// command is in the report.
func (s *session) do(
	ctx context.Context, c *control.Command, each func(*control.Report) error,
	take func(io.Reader) error,
) (*control.Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	k := s.begin(ctx, c, take)
	defer s.forget(c)
	if err := s.lane.Send(toWorker(c)); err != nil {
		if errors.As(err, new(*control.CodecError)) {
			return nil, fmt.Errorf("worker %s: the command cannot be sent: %w", s.name, err)
		}
		s.end(errSessionBroke)
	}
	return s.wait(ctx, k, each)
}

// begin numbers a command and registers its call, which accepts reports until ctx ends.
func (s *session) begin(ctx context.Context, c *control.Command, take func(io.Reader) error) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	c.Id = s.last
	k := &call{
		job: c.Job, epoch: c.Epoch, reports: make(chan *control.Report, maxReports), ctx: ctx,
		take: take,
	}
	s.calls[c.Id] = k
	return k
}

func toWorker(c *control.Command) *control.ToWorker {
	return &control.ToWorker{Body: &control.ToWorker_Command{Command: c}}
}

func (s *session) forget(c *control.Command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, c.Id)
}

func (s *session) wait(
	ctx context.Context, k *call, each func(*control.Report) error,
) (*control.Report, error) {
	for {
		r, err := s.next(ctx, k)
		if err != nil || !r.More {
			return r, err
		}
		if each == nil {
			continue
		}
		if err := each(r); err != nil {
			return nil, err
		}
	}
}

// next returns the next report of a call. A received report takes precedence over the end of the
// session or ctx.
func (s *session) next(ctx context.Context, k *call) (r *control.Report, err error) {
	select {
	case r = <-k.reports:
		return r, nil
	case <-s.ctx.Done():
		err = s.broken()
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	select {
	case r = <-k.reports:
		return r, nil
	default:
		return nil, err
	}
}

// answered passes a report to its call. known is false if no such call waits. If the buffer is
// full, answered waits at most roomWait and returns full, because the caller also reads heartbeats.
func (s *session) answered(r *control.Report) (known, full bool) {
	s.mu.Lock()
	k := s.calls[r.Id]
	s.mu.Unlock()
	if k == nil || k.job != r.Job || k.epoch != r.Epoch || k.ctx.Err() != nil {
		return false, false
	}
	select {
	case k.reports <- r:
		return true, false
	case <-k.ctx.Done(): // nobody waits for it
		return false, false
	case <-time.After(roomWait):
		return true, true
	}
}

// serveSession serves a worker's session until it ends.
func (s *server) serveSession(ctx context.Context, lane *control.Lane) {
	if !s.enter() {
		return
	}
	defer s.work.Done()
	lane.End(s.keepSession(ctx, lane))
}

// keepSession handles a worker's messages until the session ends, and returns the reason. It must
// not wait for a disk, a client or another worker, because it also receives heartbeats.
func (s *server) keepSession(ctx context.Context, lane *control.Lane) error {
	first := &control.FromWorker{}
	soon, cancel := context.WithTimeout(ctx, s.options.Lease)
	stop := context.AfterFunc(soon, func() { lane.Close() })
	err := lane.Receive(first)
	stop()
	cancel()
	if err != nil {
		return errSessionBroke
	}
	a := first.GetAttach()
	if a == nil {
		return control.Refuse(control.Refusal_KIND_INVALID, "a session must begin with attach")
	}
	if a.Master != s.id {
		return control.Refuse(control.Refusal_KIND_UNKNOWN,
			"worker %s is registered with another run of the master", a.Name)
	}
	w := newSession(ctx, lane, a.Name, first.Incarnation)
	defer w.end(errSessionBroke)
	attached, err := s.attach(w, a.Offers)
	if err != nil {
		return err
	}
	defer s.detach(w, errSessionBroke)
	defer context.AfterFunc(w.ctx, func() { lane.End(context.Cause(w.ctx)) })()
	answer := &control.ToWorker{Body: &control.ToWorker_Attached{Attached: attached}}
	if err := lane.Send(answer); err != nil {
		return fmt.Errorf("%w: %w", errSessionBroke, err)
	}
	for {
		m := &control.FromWorker{}
		if err := lane.Receive(m); err != nil {
			cause := errSessionBroke
			if errors.As(err, new(*control.CodecError)) {
				cause = fmt.Errorf("%w: %w", errSessionBroke, err)
			}
			s.detach(w, cause) // before jobs fail, so that their next attempts avoid this worker
			w.end(cause)
			return context.Cause(w.ctx)
		}
		if !s.hear(w, m) {
			return lostRefusal(control.Refusal_KIND_UNKNOWN, w.name, w.incarnation)
		}
	}
}

// exitWait bounds how long a failure due to a broken session waits for the reason why the worker's
// process ended.
const exitWait = time.Second

// awaitExit waits briefly for the reason why a worker ended, if err may be due to that. ctx ends
// when the reason is known.
func (s *server) awaitExit(ctx context.Context, err error) {
	if !errors.Is(err, errSessionBroke) {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(min(exitWait, s.options.Lease/2)):
	}
}

// ReportExit receives the reason why a worker's process ended.
func (s *server) ReportExit(
	ctx context.Context, r *control.ReportExitRequest,
) (*control.ReportExitResponse, error) {
	defer s.audit.add(ctx, entry{What: "report the end of a worker", Worker: r.Name}, nil)
	reason := strings.Join(strings.Fields(control.Text(r.Reason, maxReason)), " ")
	s.log.Info("worker ended", "worker", r.Name, "incarnation", r.Incarnation, "reason", reason)
	s.event(func() { s.cluster.exited(s.now(), r.Name, r.Incarnation, reason, r.Starved) })
	return &control.ReportExitResponse{}, nil
}

// maxReason bounds the reason of ReportExit, in bytes.
const maxReason = 4 << 10

// attach makes w the worker's session, and ends its previous one.
func (s *server) attach(
	w *session, offers []*control.Offer,
) (attached *control.Attached, err error) {
	attached = &control.Attached{}
	s.event(func() {
		if err = s.cluster.attach(s.now(), w.name, w.incarnation, offers); err != nil {
			return
		}
		if old := s.sessions[w.name]; old != nil {
			old.end(fmt.Errorf("it began another session: %w", errSessionBroke))
		}
		s.sessions[w.name] = w
		s.wake()
		attached.Jobs, attached.Graphs = s.cluster.held(w.name, w.incarnation)
		s.log.Info("worker is there", "worker", w.name, "incarnation", w.incarnation)
	})
	return attached, err
}

func (s *server) detach(w *session, cause error) {
	s.event(func() {
		if s.sessions[w.name] == w {
			delete(s.sessions, w.name)
			s.cluster.detach(s.now(), w.name, w.incarnation)
			s.log.Info("session ended", "worker", w.name, "incarnation", w.incarnation, "cause",
				cmp.Or(w.cause(), cause))
		}
	})
}

// hear handles a message of a worker. It returns false if the worker is no longer part of the
// cluster.
func (s *server) hear(w *session, m *control.FromWorker) bool {
	known := false
	s.event(func() {
		w.received = w.lane.Received()
		if m.Incarnation != w.incarnation {
			s.stale++
			return
		}
		if known = s.cluster.heard(s.now(), w.name, w.incarnation); !known {
			return
		}
		switch body := m.Body.(type) {
		case *control.FromWorker_Heartbeat:
			s.cluster.beat(s.now(), s.cluster.workers[w.name], body.Heartbeat)
		case *control.FromWorker_Leave:
			s.cluster.leave(s.now(), w.name, w.incarnation, body.Leave.Reason)
		}
	})
	if !known {
		return false
	}
	switch body := m.Body.(type) {
	case *control.FromWorker_Report:
		return s.reported(w, body.Report)
	case *control.FromWorker_Progress:
		s.advanced(w.name, body.Progress)
	}
	return true
}

// reported passes a worker's report to its call. It returns false if the worker is no longer part
// of the cluster.
func (s *server) reported(w *session, r *control.Report) bool {
	for range mostWaits {
		known, full := w.answered(r)
		if full {
			// renew its lease
			s.event(func() { known = s.cluster.heard(s.now(), w.name, w.incarnation) })
			if known && w.ctx.Err() == nil {
				continue
			}
			return known
		}
		if !known {
			s.event(func() { s.stale++ })
		}
		return true
	}
	w.end(fmt.Errorf("it sent more than %d reports for one command, which nobody took for %v",
		maxReports, mostWaits*roomWait))
	return true
}

// tell sends a command in the background, before any later command. Its answer is only used for
// logging and memory figures. The caller holds the lock.
func (s *server) tell(w *session, c *control.Command) (answer <-chan *control.Report) {
	ctx, cancel := context.WithTimeout(s.ctx, cleanUp)
	k, answered := w.begin(ctx, c, nil), make(chan *control.Report, 1)
	err := w.lane.Post(toWorker(c))
	wait := func() {
		defer close(answered)
		defer cancel()
		defer w.forget(c)
		var r *control.Report
		if err == nil {
			r, err = w.wait(ctx, k, nil)
		}
		if err == nil && r.Failure != nil {
			err = errors.New(r.Failure.Message)
		}
		// The worker may still execute the command, or clean up when it attaches again.
		if err != nil && s.ctx.Err() == nil {
			s.log.Warn("clean-up failed", "worker", w.name, "job", c.Job, "error", err)
		}
		answered <- r
	}
	if !s.spawn(wait) {
		wait()
	}
	return answered
}
