package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/faults"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// queue runs the commands of a session. Commands of the same job, or for the same graph of the
// catalog, run one after the other, and others concurrently.
type queue struct {
	*session
	mu    sync.Mutex
	jobs  map[string]*serial
	ended bool
}

// serial is the commands of one job or graph.
type serial struct {
	epoch   uint32
	waiting []*control.Command
	running bool
	stop    context.CancelCauseFunc // cancels the current command
}

// key returns the key of the commands that run one after the other.
func key(c *control.Command) string {
	switch {
	case c.GetKeepNow() != nil: // runs while the job runs
		return "keep " + c.Job
	case c.Job != "":
		return "job " + c.Job
	case c.GetSave() != nil: // does not delay other commands of the graph
		return "save " + c.GetSave().Graph
	case c.GetProbe() != nil:
		return "probe"
	}
	_, message := bodyOf(c)
	of, _ := message.(interface{ GetGraph() string })
	if of == nil {
		return "graph "
	}
	return "graph " + of.GetGraph()
}

// add queues a command without waiting for it.
func (q *queue) add(ctx context.Context, c *control.Command) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return
	}
	k := key(c)
	s := q.jobs[k]
	if s == nil {
		s = &serial{}
		q.jobs[k] = s
	}
	switch {
	case c.Epoch < s.epoch:
		err := fmt.Errorf("job %s: a command of attempt %d came after attempt %d had begun", c.Job,
			c.Epoch, s.epoch)
		q.commands.Go(func() { q.answer(ctx, c, nil, err) })
		return
	case c.Epoch > s.epoch:
		s.epoch = c.Epoch
	}
	if c.GetCancel() != nil {
		q.cancel(ctx, k, s, c)
		return
	}
	s.waiting = append(s.waiting, c)
	if !s.running {
		s.running = true
		q.commands.Go(func() { q.work(ctx, k, s) })
	}
}

// cancel stops the current command and removes queued ones, except drops. The caller holds the
// lock.
func (q *queue) cancel(ctx context.Context, k string, s *serial, c *control.Command) {
	reason := errors.New(c.GetCancel().Reason)
	if s.stop != nil {
		s.stop(reason)
	}
	var dropped []*control.Command
	s.waiting = slices.DeleteFunc(s.waiting, func(w *control.Command) bool {
		if w.GetDrop() != nil {
			return false
		}
		dropped = append(dropped, w)
		return true
	})
	if !s.running {
		delete(q.jobs, k)
	}
	q.commands.Go(func() {
		for _, w := range dropped {
			q.answer(ctx, w, nil, reason)
		}
		q.answer(ctx, c, nil, nil)
	})
}

// work runs the commands of one key until there are none.
func (q *queue) work(ctx context.Context, k string, s *serial) {
	for {
		q.mu.Lock()
		if len(s.waiting) == 0 || q.ended {
			s.running = false
			delete(q.jobs, k) // a running entry stays in the map
			q.mu.Unlock()
			return
		}
		c := s.waiting[0]
		s.waiting = s.waiting[1:]
		own, stop := context.WithCancelCause(ctx)
		s.stop = stop
		q.mu.Unlock()
		began, t := q.Now(), q.task(c)
		returned := func() {}
		// A run outlives its command, so run calls watch itself.
		if c.GetRun() == nil && c.GetRejoin() == nil {
			returned = q.watch(own, c, t)
		}
		report, err := contained(func() (*control.Report, error) { return q.do(own, ctx, c, t) })
		returned()
		if c.GetRun() == nil { // a run is observed when it ends
			q.observed(own, c, q.Now().Sub(began), report, err)
		}
		q.mu.Lock()
		s.stop = nil
		q.mu.Unlock()
		stop(nil)
		q.answer(ctx, c, report, err)
	}
}

// contained calls do and converts a panic, which is a bug of the worker, into an error of the
// command.
func contained[T any](do func() (*T, error)) (done *T, err error) {
	if ended := parallel.Contain(func() { done, err = do() }); ended != nil {
		return nil, fmt.Errorf("a bug in superstep: %v\n%s", ended.Value, ended.Stack)
	}
	return done, err
}

// watch ends the worker if a command has not returned within StopTimeout after its cancellation,
// because its memory and threads cannot be freed while the process lives. It reports the reason to
// the master. The caller calls the returned function when the command has returned.
func (q *queue) watch(ctx context.Context, c *control.Command, t task) func() {
	done := make(chan struct{})
	exit := &control.ReportExitRequest{Name: q.Name, Incarnation: q.incarnation}
	stop := context.AfterFunc(ctx, func() {
		late := time.After(q.StopTimeout)
		select {
		case <-done:
			return
		case <-time.After(q.StopTimeout / 10):
		}
		name, _ := bodyOf(c)
		what := key(c) + ": " + name
		if s := t.superstep.Load(); s > 0 {
			what = fmt.Sprintf("%s: superstep %d", key(c), s-1)
		}
		q.late.Add(1)
		q.Observe.Stuck(fmt.Sprintf("%s was cancelled, but does not stop (%v)", what,
			context.Cause(ctx)))
		select {
		case <-done:
			if q.late.Add(-1) == 0 {
				q.Observe.Stuck("")
			}
		case <-late:
			err := fmt.Errorf("%s has not stopped %v after it was cancelled (%w): the process ends",
				what, q.StopTimeout, context.Cause(ctx))
			q.Log.Error("a command does not stop", "error", err)
			exit.Reason = bounded(err.Error())
			if err := control.ReportExit(q.address, q.who(), q.Dial, exit); err != nil {
				q.Log.Warn("the master does not know why", "error", err)
			}
			select {
			case q.stuck <- err:
			default: // another command was first
			}
		}
	})
	return func() {
		stop()
		close(done)
	}
}

// end discards queued commands. The current ones end with the session's context.
func (q *queue) end(error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
}

func (q *queue) task(c *control.Command) task {
	t := task{
		job: c.Job, epoch: c.Epoch,
		superstep: new(atomic.Int64), observe: q.Observe.Superstep,
	}
	limit, graph := &progressLimit{now: q.Now}, ""
	if c.Job == "" {
		graph = c.GetLoad().GetGraph()
	}
	t.progress = func(stage string, done, total int64) {
		if limit.due(stage) {
			q.latest.Load().progress(&control.Progress{
				Job: c.Job, Graph: graph, Stage: stage, Done: uint64(max(done, 0)),
				Total: uint64(max(total, 0)),
			})
		}
	}
	return t
}

// do executes a command. ctx ends when the command should stop, session when nobody waits for it.
func (q *queue) do(
	ctx, session context.Context, c *control.Command, t task,
) (_ *control.Report, err error) {
	x := q.executor
	if err := faults.At(faults.Commanded, x.options.Name); err != nil {
		return nil, err
	}
	switch body := c.Body.(type) {
	case *control.Command_Meet:
		err = x.connectPeers(ctx, t, body.Meet)
	case *control.Command_Load:
		l, err := x.load(ctx, t, body.Load)
		return &control.Report{Body: &control.Report_Load{Load: l}}, err
	case *control.Command_Locate:
		l, err := x.locate(body.Locate)
		return &control.Report{Body: &control.Report_Located{Located: l}}, err
	case *control.Command_Run:
		d, err := q.run(ctx, session, c, t)
		return ofDrive(d), err
	case *control.Command_Rejoin:
		d, err := q.rejoin(ctx, session, c, t)
		return ofDrive(d), err
	case *control.Command_KeepNow:
		err = x.keepNow(t)
	case *control.Command_Probe:
		p, err := x.probe(ctx, body.Probe)
		return &control.Report{Body: &control.Report_Probe{Probe: p}}, err
	case *control.Command_Save:
		s, err := x.save(ctx, t, body.Save)
		return &control.Report{Body: &control.Report_Save{Save: s}}, err
	case *control.Command_Values:
		err = q.deliver(ctx, c,
			func(emit func([]byte) error) error { return x.values(ctx, t, body.Values, emit) })
	case *control.Command_Drop:
		x.drop(t, body.Drop.Graph)
	default:
		err = errors.New("found a command that this version does not know")
	}
	return &control.Report{}, err
}

// answer sends the last report of a command.
func (q *queue) answer(ctx context.Context, c *control.Command, r *control.Report, err error) {
	for range 2 {
		if r == nil || err != nil {
			r = &control.Report{}
		}
		r.Id, r.Job, r.Epoch = c.Id, c.Job, c.Epoch
		r.PeakMemory, r.Failure = uint64(max(mem.PeakRSS(), 0)), q.failure(err)
		if err = q.report(ctx, r); !errors.As(err, new(*control.CodecError)) {
			return // the session may have ended, and then nobody waits for an answer
		}
		// Send this answer, because otherwise the job would wait forever.
		err = fmt.Errorf("the worker's answer cannot be sent: %w", err)
	}
	q.lane.End(err)
}

// failure converts an error for the master; nil stays nil.
func (q *queue) failure(err error) *control.Failure {
	var program *bsp.ProgramError
	var unread *checkpoint.UnreadError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &program):
		return &control.Failure{Message: bounded(program.Error()), Panic: control.NewPanic(program)}
	}
	known := &fault{}
	errors.As(err, &known)
	return &control.Failure{
		Message: bounded(err.Error()), Lost: lostPeer(q.Name, err), Run: known.run,
		Unread: errors.As(err, &unread),
		Absent: errors.Is(err, errAbsent) || errors.Is(err, errMasterAway),
		Unmet:  errors.Is(err, errUnmet), Step: known.step,
	}
}

// lostPeer returns the worker whose lost connection caused an error, or "".
func lostPeer(self string, err error) string {
	var known *fault
	var broken *mesh.BrokenError
	var unreachable *mesh.UnreachableError
	switch {
	case errors.As(err, &known) && known.lost != "":
		return known.lost
	case errors.As(err, &broken) && broken.From == self:
		return broken.To
	case errors.As(err, &broken):
		return broken.From
	case errors.As(err, &unreachable):
		return unreachable.To
	}
	return ""
}

func bounded(s string) string { return control.Text(s, control.MaxText) }

// observed passes a command's outcome to the observer.
func (q *queue) observed(
	ctx context.Context, c *control.Command, took time.Duration, r *control.Report, err error,
) {
	if err != nil && ctx.Err() != nil {
		err = context.Canceled
	}
	name, _ := bodyOf(c)
	q.Observe.Command(name, took, r, err)
}

// bodyOf returns the name and the message of a command. The message is nil if this version does not
// know the command.
func bodyOf(c *control.Command) (name string, message any) {
	m := c.ProtoReflect()
	f := m.WhichOneof(m.Descriptor().Oneofs().ByName("body"))
	if f == nil {
		return "unknown", nil
	}
	return string(f.Name()), m.Get(f).Message().Interface()
}

// unobserved is the observer of a worker without one.
type unobserved struct{}

func (unobserved) Session(bool)                                          {}
func (unobserved) Leaving()                                              {}
func (unobserved) Registered(string, uint64)                             {}
func (unobserved) Stuck(string)                                          {}
func (unobserved) Superstep(float64, []*bsp.Report)                      {}
func (unobserved) Command(string, time.Duration, *control.Report, error) {}
