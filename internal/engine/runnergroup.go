package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/transport"
)

// runnerGroup runs the supersteps of a process's partitions: each runner has a goroutine, which takes commands and makes reports.
// The first runs on the caller's goroutine.
type runnerGroup struct {
	process  *processStats // nil if nothing is recorded
	first    func(*bsp.Command)
	commands []chan *bsp.Command // of the others
	reports  []*bsp.Report
	done     chan struct{}
	group    sync.WaitGroup
}

// start starts the goroutines of the job's partitions. They exchange frames at their endpoints; broken is called when one fails, and
// must end all waiting there.
func (j *Job) start(ctx context.Context, endpoint func(partition int) transport.Endpoint, broken func()) *runnerGroup {
	threads := 1
	if j.options.Team != nil {
		threads = j.options.Team.Size()
	}
	gate := make(chan struct{}, threads)
	n := len(j.runners)
	c := &runnerGroup{process: j.beginStats(), reports: make([]*bsp.Report, n), done: make(chan struct{}, n)}
	for i, r := range j.runners {
		r.exchange.Connect(endpoint(r.part.Index), gate)
		c.reports[i] = &r.report
		work := func(command *bsp.Command) {
			gate <- struct{}{}
			defer func() { // also when the program ends the goroutine
				<-gate
				if r.report.Err != nil {
					broken()
				}
			}()
			r.superstep(ctx, command)
		}
		if i == 0 {
			c.first = work
			continue
		}
		commands := make(chan *bsp.Command, 1)
		c.commands = append(c.commands, commands)
		c.group.Go(func() {
			for command := range commands {
				func() {
					defer func() { c.done <- struct{}{} }()
					work(command)
				}()
			}
		})
	}
	return c
}

// step runs a superstep on every partition. The reports are in the order of partitions, and valid until the next step.
func (c *runnerGroup) step(command *bsp.Command) []*bsp.Report {
	for _, commands := range c.commands {
		commands <- command
	}
	func() {
		defer c.join() // also when the program ends the goroutine
		c.first(command)
	}()
	if c.process != nil {
		c.process.addTo(c.reports)
	}
	return c.reports
}

// join waits until all partitions but the first are done.
func (c *runnerGroup) join() {
	for range c.commands {
		<-c.done
	}
}

// stop ends the goroutines.
func (c *runnerGroup) stop() {
	for _, commands := range c.commands {
		close(commands)
	}
	c.group.Wait()
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
