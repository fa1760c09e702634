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

// run is a run that the workers of a job do on their own. It outlives the session of its command,
// so that a restarted master, or one that lost the worker's session, can continue to follow it:
//
//	Run ---> begin, follow --session ends--> (goes on) --Rejoin--> follow --> answer
//
// It ends when it is done, when its job is closed, or when the master stops it. Events for the
// master are collected in news, and sent as reports. A report is stored until the master has it,
// because a session may end before the report arrives; the next session then sends it again.
type run struct {
	task task
	ctx  context.Context
	stop context.CancelCauseFunc
	done chan struct{} // closed when it has ended

	// Valid after it has ended:
	answer *control.DriveReport
	err    error

	mu       sync.Mutex
	outcome  bsp.Outcome
	news     *control.DriveReport    // not yet in a report
	size     int                     // of news, in bytes
	serial   uint64                  // number of the next record, line or stage put into a report
	kept     []*control.Report       // stored reports, oldest first
	bytes    int                     // of kept
	dropped  int                     // number of earlier reports, no longer stored
	standing *control.Report         // facts of the dropped reports that every follower needs
	found    *control.Graph500Result // results of a benchmark so far, or nil
	told     uint64                  // a master has published everything before this serial
	follower *follower               // the session that follows the run, or nil
	changed  chan struct{}           // closed and replaced when any of this changes
}

// follower is a session that follows a run.
type follower struct {
	next   int    // index of the next report to send
	wanted uint64 // the master has, or was sent, everything before this serial
	// heard is the serial before which the master has everything, by its last acknowledgement.
	heard uint64
	found *control.Graph500Result // last value sent
}

const (
	// mostNews is the approximate maximum size of the news in a message.
	mostNews = 1 << 20
	// mostKept bounds the bytes of stored reports. The oldest are dropped.
	mostKept = 8 << 20
)

var (
	errDropped    = errors.New("the job was dropped")
	errAbsent     = errors.New("it no longer runs the job")
	errSuperseded = errors.New("another session follows the run")
)

func newRun(t task) *run {
	r := &run{
		task: t, done: make(chan struct{}), changed: make(chan struct{}),
		serial: uint64(t.epoch)<<control.EpochBits | 1, standing: ofDrive(&control.DriveReport{}),
	}
	r.told = r.serial
	r.ctx, r.stop = context.WithCancelCause(context.Background())
	return r
}

// do runs drive and stores its outcome.
func (r *run) do(drive func() (*control.DriveReport, error)) {
	defer close(r.done)
	defer r.stop(nil)
	r.answer, r.err = contained(drive)
}

// turn wakes waiting goroutines. The caller holds the lock.
func (r *run) turn() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// add adds something of the given size to the news.
func (r *run) add(size int, to func(news *control.DriveReport)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size+size > mostNews {
		r.awaitRoom()
		r.report()
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

// log adds a line of the program and flushes the news.
func (r *run) log(line string) {
	line = control.Text(line, maxLine)
	r.add(len(line), func(news *control.DriveReport) { news.Log = append(news.Log, line) })
	r.Flush()
}

// checkpointed adds a stored checkpoint.
func (r *run) checkpointed(e checkpoint.Event) {
	if e.Failed == "" {
		r.add(0, func(news *control.DriveReport) {
			news.Checkpoint, news.CheckpointSeconds = uint32(e.Superstep), e.Copied+e.Wrote
		})
	}
}

// progress notes the run's outcome so far, for the next report.
func (r *run) progress(o bsp.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcome = o
}

// late reports that a superstep exceeds its timeout. A Compute that does not return would otherwise
// block the command unnoticed.
func (r *run) late(err error) {
	if timeout := new(bsp.TimeoutError); errors.As(err, &timeout) {
		err = timeout
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report()
	late := ofDrive(&control.DriveReport{})
	late.Failure = &control.Failure{Message: bounded(err.Error()), Run: true}
	r.keep(late)
}

// finds notes a benchmark's results so far. The master gets them before later news.
func (r *run) finds(found *control.Graph500Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = found
}

// begins reports that supersteps begin.
func (r *run) begins() {
	r.add(0, func(news *control.DriveReport) { news.Running = true })
	r.Flush()
}

// Flush makes the follower send the news as soon as possible.
func (r *run) Flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn()
}

// awaitRoom waits while the follower is slow, unless the run was stopped. The caller holds the
// lock, which is released during the wait.
func (r *run) awaitRoom() {
	for r.follower != nil && r.follower.next < r.dropped+len(r.kept) && r.ctx.Err() == nil {
		changed := r.changed
		r.mu.Unlock()
		select {
		case <-changed:
		case <-r.ctx.Done():
		}
		r.mu.Lock()
	}
}

// report moves the news into a report. The caller holds the lock.
func (r *run) report() {
	if r.news == nil {
		return
	}
	r.news.Outcome = resolve.Outcome(r.outcome)
	r.keep(ofDrive(r.news))
	r.news, r.size = nil, 0
}

// keep numbers and stores a report. The caller holds the lock.
func (r *run) keep(report *control.Report) {
	report.GetDrive().Serial = r.serial
	r.serial = report.GetDrive().Next()
	r.kept, r.bytes = append(r.kept, report), r.bytes+proto.Size(report)
	for r.bytes > mostKept {
		r.drop()
	}
	r.turn()
}

// drop drops the oldest report, and adds its standing facts to standing. The caller holds the lock.
func (r *run) drop() {
	r.stand(r.kept[0])
	r.bytes -= proto.Size(r.kept[0])
	r.kept[0], r.kept, r.dropped = nil, r.kept[1:], r.dropped+1
}

// acknowledge notes the serial before which the following master has received everything. It drops
// the reports of the previous acknowledgement, because by now the master has published them.
func (r *run) acknowledge(next uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.follower; f != nil {
		for r.dropped < f.next && r.kept[0].GetDrive().Next() <= f.heard {
			r.drop()
		}
		r.told, f.heard = max(r.told, f.heard), max(f.heard, next)
	}
}

// stand adds the facts of a report that every master has to know, whenever it begins to follow. The
// caller holds the lock.
func (r *run) stand(report *control.Report) {
	r.standing.Failure = cmp.Or(report.Failure, r.standing.Failure)
	s, news := r.standing.GetDrive(), report.GetDrive()
	s.Loads = append(s.Loads, news.Loads...) // sent only once
	s.Running = s.Running || news.Running
	s.MaxSupersteps = max(s.MaxSupersteps, news.MaxSupersteps)
	if c := news.Checkpoint; c > 0 {
		s.Checkpoint, s.CheckpointSeconds = c, news.CheckpointSeconds
	}
}

// take returns the reports that a follower should send next, and a channel that is closed when
// there is more. If the follower missed dropped reports, the first report has their standing facts
// and the number of missing entries.
func (r *run) take(f *follower) (told []*control.Report, changed chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.follower != f {
		return nil, nil, errSuperseded
	}
	r.report()
	if f.next < r.dropped {
		stands, first := proto.CloneOf(r.standing), r.serial
		if len(r.kept) > 0 {
			first = r.kept[0].GetDrive().Serial
		}
		if known := max(f.wanted, r.told); known < first {
			stands.GetDrive().Log = []string{fmt.Sprintf("%d records of supersteps, lines and "+
				"stages are missing here: no master was there to hear of them", first-known)}
		}
		told, f.next = append(told, stands), r.dropped
	}
	if r.found != f.found {
		f.found = r.found
		told = append(told, ofDrive(&control.DriveReport{Graph500: r.found}))
	}
	all := r.dropped + len(r.kept)
	if f.next < all {
		r.turn()
	}
	for ; f.next < all; f.next++ {
		report := r.kept[f.next-r.dropped]
		if report.GetDrive().Serial >= f.wanted {
			told = append(told, &control.Report{Failure: report.Failure, Body: report.Body})
		}
	}
	f.wanted = r.serial
	return told, r.changed, nil
}

// follow sends the run's reports, except those before serial wanted, until the run has ended, and
// returns its answer. If the session ends, follow returns early. If only ctx ends, it stops the run
// for that reason and waits for its end.
func (r *run) follow(
	ctx, session context.Context, wanted uint64, send func(*control.Report) error,
) (*control.DriveReport, error) {
	f := &follower{wanted: wanted, heard: wanted}
	r.mu.Lock()
	r.follower = f
	r.turn() // ends an earlier follow
	r.mu.Unlock()
	defer r.left(f)
	defer context.AfterFunc(ctx, func() {
		if session.Err() == nil {
			r.stop(context.Cause(ctx))
		}
	})()
	for over := false; ; {
		told, changed, err := r.take(f)
		if err != nil {
			return nil, err
		}
		for _, report := range told {
			if err := send(report); err != nil {
				return nil, err
			}
		}
		if over {
			return r.answer, r.err
		}
		select {
		case <-r.done:
			over = true // send the last reports first
		case <-changed:
		case <-session.Done():
			return nil, context.Cause(session)
		}
	}
}

// left notes that a session no longer follows.
func (r *run) left(f *follower) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.follower == f {
		r.follower = nil
		r.turn()
	}
}

func ofDrive(d *control.DriveReport) *control.Report {
	return &control.Report{Body: &control.Report_Drive{Drive: d}}
}

// run starts the worker's part of a job and follows it.
func (q *queue) run(
	ctx, session context.Context, c *control.Command, t task,
) (*control.DriveReport, error) {
	a, err := q.executor.together(ctx, t, "")
	if err != nil {
		return nil, err
	}
	defer a.Release()
	a.Acquire()
	q.commands.Go(func() {
		defer a.Release()
		defer q.watch(a.ctx, c, t)()
		a.do(func() (*control.DriveReport, error) {
			began := q.Now()
			answer, err := a.work(c.GetRun())
			q.observed(a.ctx, c, q.Now().Sub(began), ofDrive(answer), err)
			return answer, err
		})
	})
	return a.follow(ctx, session, 0, q.teller(session, c))
}

// rejoin follows a run that another session started.
func (q *queue) rejoin(
	ctx, session context.Context, c *control.Command, t task,
) (*control.DriveReport, error) {
	a, err := q.executor.find(t)
	if err != nil {
		return nil, errAbsent
	}
	defer a.Release()
	return a.follow(ctx, session, c.GetRejoin().Wanted, q.teller(session, c))
}

// teller returns a function that sends reports before the last of a command.
func (q *queue) teller(ctx context.Context, c *control.Command) func(*control.Report) error {
	return func(r *control.Report) error {
		r.Id, r.Job, r.Epoch, r.More = c.Id, c.Job, c.Epoch, true
		return q.report(ctx, r)
	}
}
