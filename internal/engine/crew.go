package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/transport"
)

// crew is the partitions of a process at work: a goroutine for each, which takes a command and makes a report. The first
// works on the caller's.
type crew struct {
	vitals   *vitals // nil if nobody asks
	first    func(*bsp.Command)
	commands []chan *bsp.Command // of the others
	reports  []*bsp.Report
	done     chan struct{}
	group    sync.WaitGroup
}

// start sets the job's partitions to work. They meet others at their endpoints; broken is called when one fails, so that
// nobody waits for what will not come.
func (j *Job[V, M]) start(ctx context.Context, endpoint func(partition int) transport.Endpoint, broken func()) *crew {
	threads := 1
	if j.options.Team != nil {
		threads = j.options.Team.Size()
	}
	gate := make(chan struct{}, threads)
	n := len(j.runners)
	c := &crew{vitals: j.vitals(), reports: make([]*bsp.Report, n), done: make(chan struct{}, n)}
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

// step takes every partition through a superstep. The reports are in the order of partitions, and valid until the next.
func (c *crew) step(command *bsp.Command) []*bsp.Report {
	for _, commands := range c.commands {
		commands <- command
	}
	func() {
		defer c.join() // also when the program ends the goroutine
		c.first(command)
	}()
	if c.vitals != nil {
		c.vitals.note(c.reports)
	}
	return c.reports
}

// join waits until all partitions but the first are done.
func (c *crew) join() {
	for range c.commands {
		<-c.done
	}
}

// stop ends the goroutines.
func (c *crew) stop() {
	for _, commands := range c.commands {
		close(commands)
	}
	c.group.Wait()
}

// runAlone takes the only partition through a superstep.
func (j *Job[V, M]) runAlone(ctx context.Context, c *bsp.Command) []*bsp.Report {
	r := j.runners[0]
	r.alone[0] = &r.report
	r.superstep(ctx, c)
	if j.options.Trace != nil {
		j.process.note(r.alone[:])
	}
	return r.alone[:]
}

// vitals returns what measures the process in a run that begins, or nil if that is not recorded.
func (j *Job[V, M]) vitals() *vitals {
	if j.options.Trace == nil {
		return nil
	}
	j.process.begin()
	return &j.process
}

// firstError returns why a superstep failed: rather the cause than what followed from it.
func firstError(reports []*bsp.Report) error {
	var first error
	for _, p := range reports {
		if p.Err != nil && (first == nil || errors.Is(first, errStopped) || errors.Is(first, transport.ErrClosed)) {
			first = p.Err
		}
	}
	return first
}
