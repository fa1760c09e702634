package worker

import (
	"context"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
)

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
