package engine

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/transport"
)

// Begin prepares the partitions of this process for superstep 0 of a run. endpoint returns a
// partition's endpoint for frames; it is nil if there is one partition. broken is called when a
// partition fails or the run is stopped. It must end all waiting at the endpoints. ctx is the run's
// context, until End, Close, or the next Begin.
func (j *Job) Begin(
	ctx context.Context, endpoint func(partition int) transport.Endpoint, broken func(),
) error {
	j.End()
	if j.ownsShared {
		j.options.Shared.Close() // of the previous run
	}
	err := bsp.Contain(j.name, &bsp.NoSuperstep, func() error {
		if err := j.rebase(); err != nil {
			return err
		}
		if !j.fresh {
			j.Prepare()
		}
		return nil
	})
	if err != nil {
		return err
	}
	if broken == nil {
		broken = func() {}
	}
	j.fresh, j.standing = false, nil
	j.stop.Store(false)
	j.over.Store(nil)
	j.running, j.broken = ctx, broken
	j.stopped = afterFunc(ctx, j.halt) // may call halt at once
	j.unwatched = j.budget().OnOver(j.exhausted)
	if j.options.Trace != nil {
		debug.ReadGCStats(&j.process.gc) // excludes the pauses so far
		j.process.paused, j.process.asked = j.process.gc.PauseTotal, time.Now()
	}
	gate := make(chan struct{}, j.options.Team.Size())
	j.wake, j.reports = nil, nil
	for i, r := range j.runners {
		if endpoint != nil {
			r.exchange.Connect(endpoint(r.part.Index), gate)
		}
		j.reports = append(j.reports, &r.report)
		run := func() {
			gate <- struct{}{}
			defer func() { // also if the program ends the goroutine
				<-gate
				if r.report.Err != nil {
					broken()
				}
				j.busy.Done()
			}()
			r.superstep(ctx, j.command)
		}
		if i == 0 {
			j.first = run
			continue
		}
		wake := make(chan bool, 1)
		j.wake = append(j.wake, wake)
		j.others.Go(func() {
			for range wake {
				run()
			}
		})
	}
	return nil
}

// halt makes the current superstep end soon.
func (j *Job) halt() {
	j.stop.Store(true)
	j.broken()
}

// Superstep runs a command on the partitions of this process. The reports are valid until the next
// call. If a partition fails or ctx ends, the error is the first cause among these partitions. The
// program may call runtime.Goexit, which ends the caller's goroutine. Then Failed returns the error.
func (j *Job) Superstep(ctx context.Context, c *bsp.Command) (reports []*bsp.Report, err error) {
	if j.running == nil {
		return nil, errors.New("found a superstep before the first one of the run")
	}
	j.settled = false
	reports, err = j.superstep(ctx, c)
	j.settled = err == nil
	return reports, err
}

// Failed returns the error of the superstep, or nil. It also works after runtime.Goexit in the
// program.
func (j *Job) Failed() error {
	return firstError(j.reports)
}

func (j *Job) superstep(ctx context.Context, c *bsp.Command) (reports []*bsp.Report, err error) {
	if ctx != j.running {
		defer afterFunc(ctx, j.halt)()
	}
	if c.Superstep == 0 {
		for _, r := range j.runners {
			r.reset()
			r.watchMessages(ctx)
		}
	}
	reports = j.step(c)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if w := j.options.Parts; w != nil {
		if c.Flush {
			w.Wait(ctx)
		}
		reports[0].Stored = w.Stored()
	}
	return reports, firstError(reports)
}

// step runs a command on every partition: the first on the caller's goroutine, the others each on
// its own, which waits for commands: a new one would copy its stack as it grows. The reports are in
// the order of partitions, and valid until the next step.
func (j *Job) step(c *bsp.Command) []*bsp.Report {
	j.command = c
	j.busy.Add(1 + len(j.wake))
	for _, wake := range j.wake {
		wake <- true
	}
	func() {
		defer j.busy.Wait() // also if the program ends the goroutine
		j.first()
	}()
	if j.options.Trace != nil {
		j.process.addTo(j.reports)
	}
	return j.reports
}

// End ends the current run, if any.
func (j *Job) End() {
	if j.running == nil {
		return
	}
	for _, wake := range j.wake {
		close(wake)
	}
	j.others.Wait()
	j.stopped()
	j.unwatched()
	j.running = nil
}

// afterFunc is context.AfterFunc, but if f was started, stop waits until it returns. Otherwise f of
// a cancelled run could stop the next run.
func afterFunc(ctx context.Context, f func()) (stop func()) {
	done := make(chan struct{})
	stopped := context.AfterFunc(ctx, func() {
		defer close(done)
		f()
	})
	return func() {
		if !stopped() {
			<-done
		}
	}
}

// connect returns the partitions' endpoints for a run, and a function that ends all waiting at
// them.
func (j *Job) connect() (endpoint func(int) transport.Endpoint, broken func()) {
	switch {
	case len(j.runners) == 1:
		return nil, nil
	case j.options.Connect != nil:
		return j.options.Connect()
	}
	local := transport.NewLocal(len(j.runners))
	return local.Endpoint, local.Close
}
