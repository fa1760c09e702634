package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/parallel"
)

// underway is a run that the workers of a job do by themselves. It outlives the session over which it was ordered, so that a master that was
// started anew, or has lost the worker's session, takes it up where it is:
//
//	Drive ---> begin, follow --session ends--> (goes on) --Rejoin--> follow --> answer
//
// It ends when it is done, when its job is closed, or when the master stops it.
type underway struct {
	stop context.CancelCauseFunc
	done chan struct{} // closed when it has ended

	// Once it has.
	answer *control.DriveReport
	err    error

	mu       sync.Mutex
	told     []*control.Report // that wait for who follows
	lost     int               // records of supersteps that nobody has heard
	followed int               // by how many sessions
	ended    bool              // it was stopped, or is done
	changed  chan struct{}     // closed, and another, when something of this has changed
}

// mostTold bounds the reports that wait. While nobody follows, the oldest is forgotten; else the run waits.
const mostTold = 4

var (
	errDropped = errors.New("the job was dropped")
	errAbsent  = errors.New("it no longer runs the job")
)

// begin starts a run of a job, which the caller has acquired; it is released when the run has ended.
func (j *job) begin(start func(func()), run func(ctx context.Context, tell func(*control.Report) error) (*control.DriveReport, error), watch func(context.Context) func()) (*underway, error) {
	ctx, stop := context.WithCancelCause(context.Background())
	u := &underway{stop: stop, done: make(chan struct{}), changed: make(chan struct{})}
	j.running.Lock()
	defer j.running.Unlock()
	err := error(nil)
	switch {
	case j.closed:
		err = errDropped
	case j.underway != nil && !j.underway.over():
		err = errors.New("a run of it is under way")
	}
	if err != nil {
		stop(nil)
		j.Release()
		return nil, err
	}
	j.underway = u
	start(func() {
		defer j.Release()
		defer stop(nil)
		defer context.AfterFunc(ctx, u.end)()
		returned := watch(ctx)
		if ended := parallel.Contain(func() { u.answer, u.err = run(ctx, u.tell) }); ended != nil { // a panic is the worker's fault, and fails the command alone
			u.answer, u.err = nil, fmt.Errorf("a bug in superstep: %v\n%s", ended.Value, ended.Stack)
		}
		returned()
		close(u.done)
	})
	return u, nil
}

// Close stops the job's run, if one is under way, and frees what the job holds as soon as nobody uses it.
func (j *job) Close() {
	j.running.Lock()
	j.closed = true
	u := j.underway
	j.running.Unlock()
	if u != nil {
		u.stop(errDropped)
	}
	j.Refs.Close()
}

// under is the run of a job that was begun last, or nil.
func (j *job) under() *underway {
	j.running.Lock()
	defer j.running.Unlock()
	return j.underway
}

func (u *underway) over() bool {
	select {
	case <-u.done:
		return true
	default:
		return false
	}
}

// end notes that the run was stopped: it does not wait for who follows it.
func (u *underway) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ended = true
	u.turn()
}

// turn wakes who waits. The lock is held.
func (u *underway) turn() {
	close(u.changed)
	u.changed = make(chan struct{})
}

// tell leaves a report for who follows the run. It waits while that is slow.
func (u *underway) tell(r *control.Report) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for len(u.told) >= mostTold && u.followed > 0 && !u.ended {
		changed := u.changed
		u.mu.Unlock()
		<-changed
		u.mu.Lock()
	}
	if len(u.told) >= mostTold {
		if next := u.told[1].GetDrive(); next != nil && next.Checkpoint == 0 {
			next.Checkpoint, next.CheckpointSeconds = u.told[0].GetDrive().GetCheckpoint(), u.told[0].GetDrive().GetCheckpointSeconds()
		}
		u.lost += len(u.told[0].GetDrive().GetRecords())
		u.told = u.told[1:]
	}
	u.told = append(u.told, r)
	u.turn()
	return nil
}

// take takes what waits, and returns what is closed when there is more.
func (u *underway) take() (told []*control.Report, lost int, changed chan struct{}) {
	u.mu.Lock()
	defer u.mu.Unlock()
	told, lost = u.told, u.lost
	if u.told, u.lost = nil, 0; len(told) > 0 {
		u.turn()
	}
	return told, lost, u.changed
}

// follow sends what the run tells, until it has ended, and returns its answer. It returns before when the session ends; when ctx ends alone, the
// run is stopped for that reason, and waited for.
func (u *underway) follow(ctx, session context.Context, send func(*control.Report) error) (*control.DriveReport, error) {
	u.mu.Lock()
	u.followed++
	u.mu.Unlock()
	defer func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.followed--
		u.turn()
	}()
	defer context.AfterFunc(ctx, func() {
		if session.Err() == nil {
			u.stop(context.Cause(ctx))
		}
	})()
	for {
		over := u.over()
		told, lost, changed := u.take()
		if lost > 0 && told[0].GetDrive() != nil {
			told[0].GetDrive().Log = append(told[0].GetDrive().Log, fmt.Sprintf("there was no master to hear of %d of its supersteps", lost))
		}
		for _, r := range told {
			if err := send(r); err != nil {
				return nil, err
			}
		}
		switch {
		case over:
			return u.answer, u.err
		case len(told) > 0:
			continue
		}
		select {
		case <-u.done:
		case <-changed:
		case <-session.Done():
			return nil, context.Cause(session)
		}
	}
}

// drive begins to take part in a run of what was prepared, and follows it.
func (q *queue) drive(ctx, session context.Context, c *control.Command, t task) (*control.DriveReport, error) {
	j, err := q.executor.job(t)
	if err != nil {
		return nil, err
	}
	u, err := j.begin(q.commands.Go, func(ctx context.Context, tell func(*control.Report) error) (*control.DriveReport, error) {
		began := q.Now()
		answer, err := j.drive(ctx, t, c.GetDrive(), tell)
		q.observed(ctx, c, q.Now().Sub(began), &control.Report{Body: &control.Report_Drive{Drive: answer}}, err)
		return answer, err
	}, func(ctx context.Context) func() { return q.watch(ctx, c, t) })
	if err != nil {
		return nil, err
	}
	return u.follow(ctx, session, q.teller(session, c))
}

// rejoin follows a run that has begun over another session.
func (q *queue) rejoin(ctx, session context.Context, c *control.Command, t task) (*control.DriveReport, error) {
	j, err := q.executor.job(t)
	if err != nil {
		return nil, errAbsent
	}
	defer j.Release()
	u := j.under()
	if u == nil {
		return nil, errAbsent
	}
	return u.follow(ctx, session, q.teller(session, c))
}

// teller sends reports that are not the last of a command.
func (q *queue) teller(ctx context.Context, c *control.Command) func(*control.Report) error {
	return func(r *control.Report) error {
		r.Id, r.Job, r.Epoch, r.More = c.Id, c.Job, c.Epoch, true
		return q.report(ctx, r)
	}
}
