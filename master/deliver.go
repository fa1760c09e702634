package master

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/superstep-go/superstep/internal/control"
)

// errDelivered is how a delivery ends well.
var errDelivered = errors.New("delivered")

// receive takes what a worker delivers on a connection beside its session, as fast as it is taken
// in, and returns why it ended. What the worker sends meanwhile waits in the connection, and holds
// up nothing else.
func (s *server) receive(lane *control.Lane, incarnation uint64, d *control.Deliver) error {
	w, k := s.delivery(incarnation, d)
	if k == nil {
		return control.Refuse(control.Refusal_KIND_INVALID,
			"nobody waits for what worker %s delivers", d.Name)
	}
	defer context.AfterFunc(w.ctx, func() { lane.Close() })()
	defer context.AfterFunc(k.ctx, func() { lane.Close() })()
	for {
		m := &control.FromWorker{}
		err := lane.Receive(m)
		chunk := m.GetValues()
		switch {
		case err != nil:
			k.explain(w, s.options.Lease)
			return err
		case chunk == nil || m.Incarnation != incarnation:
			err = errors.New("worker " + w.name + " delivers more than chunks of its answer")
		default:
			err = k.take(chunk)
		}
		if err != nil {
			k.fail(err)
			return err
		}
		if !chunk.Last {
			continue
		}
		if err := lane.Send(&control.ToWorker{Body: &control.ToWorker_Delivered{Delivered: &control.Delivered{}}}); err != nil {
			return err // the worker says so
		}
		return errDelivered
	}
}

// delivery finds the command that a worker delivers the answer to; nil if there is none, or a
// delivery of it has begun.
func (s *server) delivery(incarnation uint64, d *control.Deliver) (*session, *call) {
	s.mu.Lock()
	w := s.sessions[d.Name]
	s.mu.Unlock()
	if d.Master != s.id || w == nil || w.incarnation != incarnation {
		return nil, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.calls[d.Command]
	if k == nil || k.job != d.Job || k.epoch != d.Epoch || k.take == nil || k.delivered {
		return nil, nil
	}
	k.delivered = true
	return w, k
}

// explain gives the worker time to say why it broke a delivery off, and then takes the break itself
// for the cause.
func (k *call) explain(w *session, lease time.Duration) {
	select {
	case <-time.After(lease):
		k.fail(fmt.Errorf("worker %s: the connection that delivered its answer broke", w.name))
	case <-k.ctx.Done():
	case <-w.ctx.Done():
	}
}

// fail ends the wait for the answer.
func (k *call) fail(err error) {
	select {
	case k.failed <- err:
	default:
	}
}
