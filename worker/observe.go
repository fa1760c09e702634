package worker

import (
	"context"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
)

// observer is told what a worker does, by several goroutines at once. Its methods do not wait.
type observer interface {
	// Session says that a session with the master begins or ends.
	Session(attached bool)
	// Registered says under which incarnation the master at an address knows the worker from now
	// on.
	Registered(master string, incarnation uint64)
	// Stuck says which command does not stop that was told to: unless it does, the worker ends
	// after StopTimeout. An empty text says that all have stopped.
	Stuck(what string)
	// Leaving says that the worker wants to go: it gets no more work.
	Leaving()
	// Superstep says that a superstep has ended, which took all workers so many seconds, and what
	// the worker's partitions did in it; the reports are only valid during the call.
	Superstep(seconds float64, reports []*bsp.Report)
	// Command says how a command of the master went: load, prepare, drive, values and the like. The
	// report is as it goes to the master; it may be nil, or without a body, when there is an error,
	// which is context.Canceled when the command was cancelled or the session ended.
	Command(name string, took time.Duration, r *control.Report, err error)
}

// observed tells the observer of a command.
func (q *queue) observed(ctx context.Context, c *control.Command, took time.Duration, r *control.Report, err error) {
	if err != nil && ctx.Err() != nil {
		err = context.Canceled
	}
	q.Observe.Command(commandName(c), took, r, err)
}

func commandName(c *control.Command) string {
	m := c.ProtoReflect()
	if f := m.WhichOneof(m.Descriptor().Oneofs().ByName("body")); f != nil {
		return string(f.Name())
	}
	return "unknown"
}

// unobserved is the observer of a worker without one.
type unobserved struct{}

func (unobserved) Session(bool)                                          {}
func (unobserved) Leaving()                                              {}
func (unobserved) Registered(string, uint64)                             {}
func (unobserved) Stuck(string)                                          {}
func (unobserved) Superstep(float64, []*bsp.Report)                      {}
func (unobserved) Command(string, time.Duration, *control.Report, error) {}
