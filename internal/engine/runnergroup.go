package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/transport"
)

// runnerGroup runs the supersteps of a process's partitions: each in a goroutine, but for the first, which runs in the caller's.
type runnerGroup struct {
	process *processStats // nil if nothing is recorded
	command *bsp.Command  // being run
	runs    []func()      // of the partitions: each runs the command on one
	reports []*bsp.Report
	others  sync.WaitGroup // partitions but for the first
}

// start readies the job's partitions, if there are several to exchange frames at their endpoints. broken is called when one fails,
// and must end all waiting there.
func (j *Job) start(ctx context.Context, endpoint func(partition int) transport.Endpoint, broken func()) *runnerGroup {
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
		run := func() { r.superstep(ctx, c.command) }
		c.runs, c.reports = append(c.runs, run), append(c.reports, &r.report)
		if endpoint == nil {
			continue
		}
		r.exchange.Connect(endpoint(r.part.Index), gate)
		c.runs[i] = func() {
			gate <- struct{}{}
			defer func() { // also when the program ends the goroutine
				<-gate
				if r.report.Err != nil {
					broken()
				}
				if i > 0 {
					c.others.Done()
				}
			}()
			run()
		}
	}
	return c
}

// step runs a superstep on every partition. The reports are in the order of partitions, and valid until the next step.
func (c *runnerGroup) step(command *bsp.Command) []*bsp.Report {
	c.command = command
	c.others.Add(len(c.runs) - 1)
	for _, run := range c.runs[1:] {
		go run()
	}
	func() {
		defer c.others.Wait() // also when the program ends the goroutine
		c.runs[0]()
	}()
	if c.process != nil {
		c.process.addTo(c.reports)
	}
	return c.reports
}

// firstError returns the error of the first partition that failed by itself, else of one that stopped because another had failed.
func firstError(reports []*bsp.Report) error {
	var first error
	for _, p := range reports {
		if p.Err != nil && (first == nil || errors.Is(first, errStopped) || errors.Is(first, transport.ErrClosed)) {
			first = p.Err
		}
	}
	return first
}
