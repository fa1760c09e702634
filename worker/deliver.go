package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/control"
)

// deliver sends the master the answer to a command, which produce passes to emit in pieces of any size, on a connection of its
// own: the answer may be long and its way slow, and heartbeats do not wait for it. It returns when the master has taken it.
func (q *queue) deliver(ctx context.Context, c *control.Command, produce func(emit func([]byte) error) error) error {
	lane, err := q.connect(ctx)
	if err != nil {
		return broken(ctx, err)
	}
	defer lane.Close()
	defer context.AfterFunc(ctx, func() { lane.Close() })()
	send := func(m *control.FromWorker) error {
		m.Incarnation = q.incarnation
		if err := lane.Send(m); err != nil {
			return broken(ctx, err)
		}
		return nil
	}
	values := func(data []byte, last bool) error {
		return send(&control.FromWorker{Body: &control.FromWorker_Values{Values: &control.ValuesChunk{Data: data, Last: last}}})
	}
	err = send(&control.FromWorker{Body: &control.FromWorker_Deliver{Deliver: &control.Deliver{
		Name: q.Name, Master: q.master, Command: c.Id, Job: c.Job, Epoch: c.Epoch,
	}}})
	if err != nil {
		return err
	}
	err = produce(func(data []byte) error {
		for len(data) > 0 {
			n := min(len(data), control.ChunkSize)
			if err := values(data[:n], false); err != nil {
				return err
			}
			data = data[n:]
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := values(nil, true); err != nil {
		return err
	}
	m := &control.ToWorker{}
	if err := lane.Receive(m); err != nil {
		return broken(ctx, err)
	}
	if m.GetDelivered() == nil {
		return errors.New("the master did not say that it has the answer")
	}
	return nil
}

// errUndelivered is that the way to the master broke: the job can begin again.
var errUndelivered = errors.New("the answer could not be sent to the master")

// broken is why a delivery broke: ctx ended, or err.
func broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: %w", errUndelivered, err)
}
