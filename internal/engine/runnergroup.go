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

// start readies the job's partitions to exchange frames at their endpoints. broken is called when one fails, and must end all waiting
// there.
func (j *Job) start(ctx context.Context, endpoint func(partition int) transport.Endpoint, broken func()) *runnerGroup {
	threads := 1
	if j.options.Team != nil {
		threads = j.options.Team.Size()
	}
	gate := make(chan struct{}, threads)
	c := &runnerGroup{process: j.beginStats()}
	for i, r := range j.runners {
		r.exchange.Connect(endpoint(r.part.Index), gate)
		c.reports = append(c.reports, &r.report)
		c.runs = append(c.runs, func() {
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
			r.superstep(ctx, c.command)
		})
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

// runAlone runs a superstep on the only partition.
func (j *Job) runAlone(ctx context.Context, c *bsp.Command) []*bsp.Report {
	r := j.runners[0]
	r.alone[0] = &r.report
	r.superstep(ctx, c)
	if j.options.Trace != nil {
		j.process.addTo(r.alone[:])
	}
	return r.alone[:]
}

// beginStats returns the process's statistics, begun for a new run, or nil if nothing is recorded.
func (j *Job) beginStats() *processStats {
	if j.options.Trace == nil {
		return nil
	}
	j.process.begin()
	return &j.process
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
