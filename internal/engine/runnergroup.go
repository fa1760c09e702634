package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/transport"
)

// runnerGroup runs the supersteps of a process's partitions: the first partition on the caller's
// goroutine, the others each on its own.
type runnerGroup struct {
	process *processStats // nil if nothing is recorded
	command *bsp.Command  // the current command
	first   func()        // runs the command on the first partition
	wake    []chan bool   // starts the command on the other partitions
	reports []*bsp.Report
	running sync.WaitGroup // other partitions that are running the command
	others  sync.WaitGroup // goroutines of the other partitions
}

// start prepares the job's partitions. If there are several, they exchange frames at their
// endpoints. broken is called when one fails; it must end all waiting at the endpoints.
func (j *Job) start(
	ctx context.Context, endpoint func(partition int) transport.Endpoint, broken func(),
) *runnerGroup {
	threads := 1
	if j.options.Team != nil {
		threads = j.options.Team.Size()
	}
	gate := make(chan struct{}, threads)
	c := &runnerGroup{}
	if j.options.Trace != nil {
		c.process = &j.process
		c.process.begin()
	}
	for i, r := range j.runners {
		c.reports = append(c.reports, &r.report)
		if endpoint == nil {
			c.first = func() { r.superstep(ctx, c.command) }
			continue
		}
		r.exchange.Connect(endpoint(r.part.Index), gate)
		run := func() {
			gate <- struct{}{}
			defer func() { // also if the program ends the goroutine
				<-gate
				if r.report.Err != nil {
					broken()
				}
				if i > 0 {
					c.running.Done()
				}
			}()
			r.superstep(ctx, c.command)
		}
		if i == 0 {
			c.first = run
			continue
		}
		wake := make(chan bool, 1)
		c.wake = append(c.wake, wake)
		c.others.Go(func() {
			for range wake {
				run()
			}
		})
	}
	return c
}

// step runs a superstep on every partition. The reports are in the order of partitions, and valid
// until the next step.
func (c *runnerGroup) step(command *bsp.Command) []*bsp.Report {
	c.command = command
	c.running.Add(len(c.wake))
	for _, wake := range c.wake {
		wake <- true
	}
	func() {
		defer c.running.Wait() // also if the program ends the goroutine
		c.first()
	}()
	if c.process != nil {
		c.process.addTo(c.reports)
	}
	return c.reports
}

// stop ends the goroutines.
func (c *runnerGroup) stop() {
	for _, wake := range c.wake {
		close(wake)
	}
	c.others.Wait()
}

// firstError returns the error of the first partition that failed by itself. If there is none, it
// returns the error of one that stopped because another had failed.
func firstError(reports []*bsp.Report) error {
	var first error
	for _, p := range reports {
		if p.Err != nil && (first == nil || errors.Is(first, errStopped) ||
			errors.Is(first, transport.ErrClosed)) {
			first = p.Err
		}
	}
	return first
}
