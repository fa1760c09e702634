package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job/resolve"
)

// run is a run that the workers of a job do by themselves. It outlives the session over which it
// was ordered, so that a master that was started anew, or has lost the worker's session, follows it
// on:
//
//	Run ---> begin, follow --session ends--> (goes on) --Rejoin--> follow --> answer
//
// It ends when it is done, when its job is closed, or when the master stops it. What the master
// hears of it is gathered as news, which Flush leaves for who follows. News may be lost with a
// session: who follows over another is told first what stands.
type run struct {
	task task
	ctx  context.Context
	stop context.CancelCauseFunc
	done chan struct{} // closed when it has ended

	// Once it has.
	answer *control.DriveReport
	err    error

	mu       sync.Mutex
	outcome  bsp.Outcome
	news     *control.DriveReport // that was not left yet
	size     int                  // of the news, in bytes
	told     []*control.Report    // that wait for who follows
	standing *control.Report      // what stands of those that wait no more; nil without any
	lost     int                  // records of supersteps that nobody has heard
	lines    int                  // as well
	followed int                  // by how many sessions
	stopped  bool                 // it was stopped, or is done
	changed  chan struct{}        // closed, and another, when something of this has changed
}

const (
	// mostNews is how many bytes of news go into a message to the master, about.
	mostNews = 1 << 20
	// mostTold bounds the reports that wait. While nobody follows, the oldest is forgotten; else
	// the run waits.
	mostTold = 4
)

var (
	errDropped = errors.New("the job was dropped")
	errAbsent  = errors.New("it no longer runs the job")
)

func newRun(t task) *run {
	r := &run{task: t, done: make(chan struct{}), changed: make(chan struct{})}
	r.ctx, r.stop = context.WithCancelCause(context.Background())
	return r
}

// do does the run with a function, to its end.
func (r *run) do(drive func() (*control.DriveReport, error)) {
	defer close(r.done)
	defer r.stop(nil)
	defer context.AfterFunc(r.ctx, r.halt)()
	r.answer, r.err = contained(drive)
}

func (r *run) over() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// halt notes that the run was stopped: it does not wait for who follows it.
func (r *run) halt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	r.turn()
}

// turn wakes who waits. The lock is held.
func (r *run) turn() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// add adds something of so many bytes to the news.
func (r *run) add(size int, to func(news *control.DriveReport)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size+size > mostNews {
		r.flush()
	}
	if r.news == nil {
		r.news = &control.DriveReport{}
	}
	to(r.news)
	r.size += size
}

// record adds the record of a superstep.
func (r *run) record(data []byte) {
	r.add(len(data), func(news *control.DriveReport) { news.Records = append(news.Records, data) })
}

// log adds a line of the program's Coordinate.
func (r *run) log(line string) {
	line = control.Text(line, maxLine)
	r.add(len(line), func(news *control.DriveReport) { news.Log = append(news.Log, line) })
}

// checkpointed adds a checkpoint.
func (r *run) checkpointed(e checkpoint.Event) {
	if e.Failed == "" {
		r.add(0, func(news *control.DriveReport) {
			news.Checkpoint, news.CheckpointSeconds = uint32(e.Superstep), e.Copied+e.Wrote
		})
	}
}

// progress notes how far the run is, which the master hears of with the next news.
func (r *run) progress(o bsp.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcome = o
}

// late tells the master that a superstep takes too long: a Compute that does not return holds the
// command.
func (r *run) late(err error) {
	if late := new(bsp.TimeoutError); errors.As(err, &late) {
		err = late
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.awaitRoom()
	r.leave(&control.Report{Failure: &control.Failure{Message: bounded(err.Error()), Run: true}})
}

// begins tells the master that supersteps begin.
func (r *run) begins() {
	r.add(0, func(news *control.DriveReport) { news.Running = true })
	r.Flush()
}

// Flush leaves the news for who follows.
func (r *run) Flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush()
}

func (r *run) flush() {
	if r.news == nil {
		return
	}
	if r.awaitRoom(); r.news == nil { // another has
		return
	}
	r.news.Outcome = resolve.Outcome(r.outcome)
	r.leave(&control.Report{Body: &control.Report_Drive{Drive: r.news}})
	r.news, r.size = nil, 0
}

// awaitRoom waits while who follows is slow. The lock is held, but not while it waits.
func (r *run) awaitRoom() {
	for len(r.told) >= mostTold && r.followed > 0 && !r.stopped {
		changed := r.changed
		r.mu.Unlock()
		<-changed
		r.mu.Lock()
	}
}

// leave leaves a report for who follows. The lock is held.
func (r *run) leave(report *control.Report) {
	if len(r.told) >= mostTold {
		oldest := r.told[0].GetDrive()
		r.lost += len(oldest.GetRecords())
		r.lines += len(oldest.GetLog()) + len(oldest.GetStages())
		r.stand(r.told[0])
		r.told = r.told[1:]
	}
	r.told = append(r.told, report)
	r.turn()
}

// stand notes what stands of a report: a master has to know it, whenever it begins to follow. The
// lock is held.
func (r *run) stand(report *control.Report) {
	if r.standing == nil {
		r.standing = &control.Report{Body: &control.Report_Drive{Drive: &control.DriveReport{}}}
	}
	r.standing.Failure = cmp.Or(report.Failure, r.standing.Failure)
	s, news := r.standing.GetDrive(), report.GetDrive()
	s.Loads = append(s.Loads, news.GetLoads()...) // told once
	s.Running = s.Running || news.GetRunning()
	s.MaxSupersteps = max(s.MaxSupersteps, news.GetMaxSupersteps())
	s.Graph500 = cmp.Or(news.GetGraph500(), s.Graph500)
	if c := news.GetCheckpoint(); c > 0 {
		s.Checkpoint, s.CheckpointSeconds = c, news.GetCheckpointSeconds()
	}
}

// take takes what waits, the first time after what stands, and returns what is closed when there is
// more.
func (r *run) take(first bool) (told []*control.Report, changed chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if first && r.standing != nil {
		stands := proto.CloneOf(r.standing)
		if r.lost+r.lines > 0 {
			stands.GetDrive().Log = []string{fmt.Sprintf("there was no master to hear of %d of its "+
				"supersteps and %d lines", r.lost, r.lines)}
		}
		r.lost, r.lines = 0, 0
		told = append(told, stands)
	}
	for _, report := range r.told {
		r.stand(report)
	}
	told = append(told, r.told...)
	if r.told = nil; len(told) > 0 {
		r.turn()
	}
	return told, r.changed
}

// follow sends what the run leaves, until it has ended, and returns its answer. It returns before
// when the session ends; when ctx ends alone, the run is stopped for that reason, and waited for.
func (r *run) follow(ctx, session context.Context, send func(*control.Report) error) (*control.DriveReport, error) {
	follows := func(n int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.followed += n
		r.turn()
	}
	follows(1)
	defer follows(-1)
	defer context.AfterFunc(ctx, func() {
		if session.Err() == nil {
			r.stop(context.Cause(ctx))
		}
	})()
	for first := true; ; first = false {
		over := r.over()
		told, changed := r.take(first)
		for _, report := range told {
			if err := send(report); err != nil {
				return nil, err
			}
		}
		switch {
		case over:
			return r.answer, r.err
		case len(told) > 0:
			continue
		}
		select {
		case <-r.done:
		case <-changed:
		case <-session.Done():
			return nil, context.Cause(session)
		}
	}
}

// run begins to do the worker's part in a job, and follows it.
func (q *queue) run(ctx, session context.Context, c *control.Command, t task) (*control.DriveReport, error) {
	a, err := q.executor.together(ctx, t)
	if err != nil {
		return nil, err
	}
	defer a.Release()
	r := a.run
	a.Acquire()
	q.commands.Go(func() {
		defer a.Release()
		defer q.watch(r.ctx, c, t)()
		r.do(func() (*control.DriveReport, error) {
			began := q.Now()
			answer, err := q.executor.run(r, a, c.GetRun())
			q.observed(r.ctx, c, q.Now().Sub(began),
				&control.Report{Body: &control.Report_Drive{Drive: answer}}, err)
			return answer, err
		})
	})
	return r.follow(ctx, session, q.teller(session, c))
}

// rejoin follows a run that has begun over another session.
func (q *queue) rejoin(ctx, session context.Context, c *control.Command, t task) (*control.DriveReport, error) {
	a, err := q.executor.find(t)
	if err != nil {
		return nil, errAbsent
	}
	defer a.Release()
	return a.run.follow(ctx, session, q.teller(session, c))
}

// teller sends reports that are not the last of a command.
func (q *queue) teller(ctx context.Context, c *control.Command) func(*control.Report) error {
	return func(r *control.Report) error {
		r.Id, r.Job, r.Epoch, r.More = c.Id, c.Job, c.Epoch, true
		return q.report(ctx, r)
	}
}
