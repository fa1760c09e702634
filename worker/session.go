package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/mem"
)

// session is a connection to the master: one goroutine reads, one sends heartbeats, and each job
// that has commands has one.
type session struct {
	*worker
	registration
	lane    *control.Lane
	address string              // of the master
	conn    *control.Connection // to it, for calls
	heard   atomic.Int64        // when the master was, in nanoseconds since began
	began   time.Time
	queue   *queue
	// register registers again, which changes nothing.
	register func(context.Context) error

	received uint64 // bytes, as live last saw them
	asked    asked
	told     time.Time // when the master was, of the network
}

func newSession(w *worker, lane *control.Lane) *session {
	s := &session{worker: w, registration: w.known, lane: lane, began: w.Now()}
	s.queue = &queue{session: s, jobs: map[string]*serial{}}
	w.latest.Store(s)
	return s
}

// Why a session ends.
var (
	errGoodbye = errors.New("goodbye")
	errSilent  = errors.New("the master is silent")
	errGrace   = errors.New("the master did not let the worker go in time")
)

// serve attaches and serves until the session ends; nil is goodbye. When leave ends it asks to go.
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
	err = context.Cause(ctx) // the first: what ended the other goroutine is a consequence
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

// offer sends a message unless many wait.
func (s *session) offer(m *control.FromWorker) {
	m.Incarnation = s.incarnation
	_ = s.lane.Offer(m)
}

// attach makes the message that begins a session: it offers the graphs that the worker holds. What
// does not fit into a message is not offered, and freed.
func (s *session) attach() *control.Attach {
	a := &control.Attach{Name: s.Name, Master: s.master}
	size := 0
	for _, o := range s.executor.offers() {
		if size += proto.Size(o) + 8; size > control.MaxMessage-control.MaxSpec {
			s.Log.Warn("a graph that cannot be kept: what is held is too much for a message",
				"graph", o.Load.Graph)
			continue
		}
		a.Offers = append(a.Offers, o)
	}
	return a
}

// live sends heartbeats, and ends the session when the master is silent for too long.
func (s *session) live(ctx, leave context.Context) error {
	if err := s.send(&control.FromWorker{Body: &control.FromWorker_Attach{Attach: s.attach()}}); err != nil {
		return s.reason(ctx, err)
	}
	beat := time.NewTicker(s.heartbeat)
	s.stalls.last = s.Now()
	defer beat.Stop()
	var grace <-chan time.Time
	going := leave.Done()
	for {
		var m *control.FromWorker
		select {
		case <-beat.C:
			if err := s.overdue(ctx, going == nil); err != nil {
				return err
			}
			// The way from the master may be cut, and that to it not: then it must not take this
			// worker to be there.
			if s.silence() > s.lease {
				continue
			}
			s.offer(&control.FromWorker{Body: &control.FromWorker_Heartbeat{Heartbeat: s.pulse()}})
			continue
		case <-going:
			s.Log.Info("asking to leave")
			s.Observe.Leaving()
			going = nil
			grace = time.After(s.Grace)
			m = &control.FromWorker{Body: &control.FromWorker_Leave{Leave: &control.Leave{Reason: "stopped"}}}
		case <-grace:
			return errGrace
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := s.send(m); err != nil {
			return s.reason(ctx, err)
		}
	}
}

// reason returns why a send failed: the goroutine that reads learns the cause a moment later.
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

// report sends a report; it waits while much waits to be sent.
func (s *session) report(ctx context.Context, r *control.Report) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return s.send(&control.FromWorker{Body: &control.FromWorker_Report{Report: r}})
}

const maxLine = 4 << 10

// progress tells those who watch a job how far it is, unless too much waits to be sent.
func (s *session) progress(p *control.Progress) {
	p.Stage = control.Text(p.Stage, maxLine)
	s.offer(&control.FromWorker{Body: &control.FromWorker_Progress{Progress: p}})
}

// progressLimit bounds how often progress is reported: a new stage at once, else every
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

// memoryUsed is what the process takes: the Go heap is the smaller part of it.
func memoryUsed() uint64 {
	if n := mem.RSS(); n > 0 {
		return uint64(n)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys
}

// asked is whether a master that is silent on the session was asked by a call, and answered that.
type asked struct {
	asking   atomic.Bool
	answered atomic.Int64 // when, as session.heard; 0 if not
}

// overdue says whether the session is to be given up because the master is silent. One that is
// silent everywhere may be paused, or the way to it cut: what is held for it is kept, and the
// session stays, for the worker's hold time. One that answers a call and says nothing on the
// session has lost that. Where there are several masters another one may lead by then.
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
	case leaving, s.several(), silence > s.Hold, answered != 0 &&
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

// deliver sends the master the answer to a command, which produce passes to emit in pieces of any
// size, on a connection of its own: the answer may be long and its way slow, and heartbeats do not
// wait for it. It returns when the master has taken it.
func (q *queue) deliver(ctx context.Context, c *control.Command, produce func(emit func([]byte) error) error) error {
	to, err := control.Connect(q.address, q.who(), q.Dial)
	if err != nil {
		return err
	}
	defer to.Close()
	stream, err := to.Workers.DeliverValues(ctx)
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
	if _, refused := stream.CloseAndReceive(); err == nil {
		err = broken(ctx, refused)
	}
	return err
}

// errMasterAway is that the master could not be sent an answer, or read from: the job can begin
// again.
var errMasterAway = errors.New("the connection to the master broke")

// broken is why a delivery broke: ctx ended, or err; nil without one.
func broken(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: %w", errMasterAway, err)
}
