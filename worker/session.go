package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/mem"
)

// session is a connection to the master. One goroutine reads, one sends heartbeats, and one runs
// per job with commands.
type session struct {
	*worker
	registration
	lane    *control.Lane
	address string              // of the master
	conn    *control.Connection // to the master, for calls
	heard   atomic.Int64        // when something was last received, in nanoseconds since began
	began   time.Time
	queue   *queue
	// register registers again, which changes nothing.
	register func(context.Context) error

	received uint64 // bytes received at the last call of overdue
	asked    asked
	told     time.Time // when measurements of the network were last sent
}

func newSession(w *worker, lane *control.Lane) *session {
	s := &session{worker: w, registration: w.known, lane: lane, began: w.Now()}
	s.queue = &queue{session: s, jobs: map[string]*serial{}}
	w.latest.Store(s)
	return s
}

// Reasons for the end of a session.
var (
	errGoodbye = errors.New("goodbye")
	errSilent  = errors.New("the master is silent")
	errGrace   = errors.New("the master did not let the worker go in time")
)

// serve runs the session until it ends. When leave ends, it asks the master to let the worker go.
// It returns nil after goodbye, or if goodbye does not come within Grace.
func (s *session) serve(leave context.Context) error {
	ctx, end := context.WithCancelCause(context.WithoutCancel(leave))
	defer end(nil)
	s.hear()
	read := make(chan struct{})
	go func() {
		defer close(read)
		end(s.read(ctx))
	}()
	err := s.live(ctx, leave)
	end(err)
	err = context.Cause(ctx) // the first error; the other goroutine's is a consequence
	s.silent = s.silence()
	s.lane.Close()
	<-read
	s.Observe.Session(false)
	s.queue.end(err)
	if errors.Is(err, errGoodbye) || errors.Is(err, errGrace) {
		return nil
	}
	return err
}

func (s *session) hear() { s.heard.Store(int64(s.Now().Sub(s.began))) }

func (s *session) silence() time.Duration {
	return s.Now().Sub(s.began) - time.Duration(s.heard.Load())
}

// send sends a message.
func (s *session) send(m *control.FromWorker) error {
	m.Incarnation = s.incarnation
	return s.lane.Send(m)
}

// offer queues a message without blocking. It drops the message if too much is queued.
func (s *session) offer(m *control.FromWorker) {
	m.Incarnation = s.incarnation
	_ = s.lane.Offer(m)
}

// attach makes the message that begins a session. It offers the worker's graphs. Graphs that do not
// fit into the message are not offered, and will be freed.
func (s *session) attach() *control.Attach {
	a := &control.Attach{Name: s.Name, Master: s.master}
	size := 0
	for _, o := range s.executor.offers() {
		if size += proto.Size(o) + 8; size > control.MaxMessage-control.MaxSpec {
			s.Log.Warn("a graph is dropped: the list of graphs is too long for a message",
				"graph", o.Load.Graph)
			continue
		}
		a.Offers = append(a.Offers, o)
	}
	return a
}

// live sends heartbeats, and ends the session when the master is silent for too long.
func (s *session) live(ctx, leave context.Context) error {
	attach := &control.FromWorker_Attach{Attach: s.attach()}
	if err := s.send(&control.FromWorker{Body: attach}); err != nil {
		return s.reason(ctx, err)
	}
	beat := time.NewTicker(s.heartbeat)
	s.stalls.last = s.Now()
	defer beat.Stop()
	var grace <-chan time.Time
	going := leave.Done()
	for {
		select {
		case <-beat.C:
			if err := s.overdue(ctx, going == nil); err != nil {
				return err
			}
			// If only the connection from the master is cut, heartbeats would make the master
			// believe that the session works. So do not send any.
			if s.silence() <= s.lease {
				s.offer(
					&control.FromWorker{Body: &control.FromWorker_Heartbeat{Heartbeat: s.pulse()}})
			}
		case <-going:
			s.Log.Info("asking to leave")
			s.Observe.Leaving()
			going = nil
			grace = time.After(s.Grace)
			leave := &control.FromWorker_Leave{Leave: &control.Leave{Reason: "stopped"}}
			if err := s.send(&control.FromWorker{Body: leave}); err != nil {
				return s.reason(ctx, err)
			}
		case <-grace:
			return errGrace
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// reason returns the cause of a failed send, which the reading goroutine may detect a moment later.
func (s *session) reason(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(s.heartbeat):
		return err
	}
}

func (s *session) read(ctx context.Context) error {
	for {
		m := &control.ToWorker{}
		if err := s.lane.Receive(m); err != nil {
			return err
		}
		s.hear()
		switch body := m.Body.(type) {
		case *control.ToWorker_Attached:
			s.Log.Info("session", "incarnation", s.incarnation)
			s.Observe.Session(true)
			s.ready.Do(func() { s.Ready(s.Address) })
			s.commands.Go(s.executor.retain(body.Attached.Jobs, body.Attached.Graphs))
		case *control.ToWorker_Beat:
			// This may free a job.
			s.commands.Go(func() { s.executor.acknowledged(body.Beat.Heard) })
		case *control.ToWorker_Command:
			s.queue.add(ctx, body.Command)
		case *control.ToWorker_Goodbye:
			return errGoodbye
		}
	}
}

// report sends a report. It waits while too much is queued.
func (s *session) report(ctx context.Context, r *control.Report) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return s.send(&control.FromWorker{Body: &control.FromWorker_Report{Report: r}})
}

const maxLine = 4 << 10

// progress reports progress to watchers, unless too much is queued.
func (s *session) progress(p *control.Progress) {
	p.Stage = control.Text(p.Stage, maxLine)
	s.offer(&control.FromWorker{Body: &control.FromWorker_Progress{Progress: p}})
}

// progressLimit limits the rate of progress reports: a new stage is due at once, otherwise every
// progressEvery.
type progressLimit struct {
	now   func() time.Time
	mu    sync.Mutex
	stage string
	at    time.Time
}

const progressEvery = 200 * time.Millisecond

func (l *progressLimit) due(stage string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if stage == l.stage && now.Sub(l.at) < progressEvery {
		return false
	}
	l.stage, l.at = stage, now
	return true
}

// memoryUsed returns the memory of the process, of which the Go heap is the smaller part.
func memoryUsed() uint64 {
	if n := mem.RSS(); n > 0 {
		return uint64(n)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys
}

// asked is the state of the call to a master that is silent on the session.
type asked struct {
	asking   atomic.Bool
	answered atomic.Int64 // time of the answer, as session.heard; 0 if none
}

// overdue returns an error if the session should end because the master is silent. If the master
// answers no calls either, it may be paused or cut off: the session stays for the hold time, and so
// do its jobs. If the master answers a call but not on the session, the session is lost. With
// several masters, another one may lead by then, so the session ends at once.
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
	case leaving, strings.Contains(s.Master, ","), silence > s.Hold, answered != 0 &&
		now-answered > int64(2*s.heartbeat):
		return errSilent
	case answered == 0 && s.asked.asking.CompareAndSwap(false, true):
		s.commands.Go(func() {
			defer s.asked.asking.Store(false)
			bounded, cancel := context.WithTimeout(ctx, callTimeout)
			defer cancel()
			if err := s.register(bounded); err == nil ||
				control.RefusalOf(err) != control.Refusal_KIND_UNSPECIFIED {
				s.asked.answered.Store(int64(s.Now().Sub(s.began)))
			}
		})
	}
	return nil
}

// deliver sends the master a long answer to a command on a separate connection, so that heartbeats
// do not wait for it. produce passes the answer to emit in pieces of any size. deliver returns when
// the master has confirmed the answer.
func (q *queue) deliver(
	ctx context.Context, c *control.Command, produce func(emit func([]byte) error) error,
) error {
	to, err := control.Connect(q.address, q.who(), q.Dial)
	if err != nil {
		return err
	}
	defer to.Close()
	calling, stop := context.WithCancel(ctx)
	defer stop()
	stream, err := to.Workers.DeliverValues(calling)
	if err != nil {
		return broken(ctx, err)
	}
	send := func(m *control.ValuesChunk) error { return broken(ctx, stream.Send(m)) }
	err = send(&control.ValuesChunk{To: &control.Deliver{
		Name: q.Name, Master: q.master, Incarnation: q.incarnation, Command: c.Id, Job: c.Job,
		Epoch: c.Epoch,
	}})
	if err == nil {
		err = produce(func(data []byte) error {
			for chunk := range slices.Chunk(data, control.ChunkSize) {
				if err := send(&control.ValuesChunk{Data: chunk}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err == nil {
		err = send(&control.ValuesChunk{Last: true})
	}
	if err != nil && !errors.Is(err, io.EOF) {
		stop() // the master's answer does not matter
	}
	if _, bad := stream.CloseAndReceive(); bad != nil && (err == nil || errors.Is(err, io.EOF)) {
		err = broken(ctx, bad)
	}
	return err
}

// errMasterAway means that an answer could not be sent to the master, or data not be read from it.
// The job can restart.
var errMasterAway = errors.New("the connection to the master broke")

// broken returns why a delivery failed: the cause of ctx if it has ended, otherwise err as
// errMasterAway, or the master's own error. It returns nil if err is nil.
func broken(ctx context.Context, err error) error {
	var said *connect.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &said) && connect.IsWireError(err) && said.Code() == connect.CodeUnknown:
		return errors.New(said.Message()) // the master cannot store the values
	}
	return fmt.Errorf("%w: %w", errMasterAway, err)
}
