package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
)

// Times of waiting for what is about to be there.
const (
	absentAfter = 5 * time.Second        // who waits is told after so long, or half of its patience
	longestPoll = 500 * time.Millisecond // between two looks
)

// Reach waits until the master answers, for Patience at most: master and clients may be started at the same time.
func (c *Client) Reach(ctx context.Context) error {
	_, err := c.reach(ctx)
	return err
}

// reach is Reach; it returns the workers if the master listed them. What else it answers the next call finds out.
func (c *Client) reach(ctx context.Context) ([]*control.Worker, error) {
	began, told := time.Now(), false
	for wait, tries := firstWait, 1; ; tries++ {
		var workers []*control.Worker
		err := c.once(ctx, func(ctx context.Context) error {
			r, err := c.conn().Cluster.ListWorkers(ctx, connect.NewRequest(&control.ListWorkersRequest{}))
			if err == nil {
				workers = r.Msg.Workers
			}
			return err
		})
		switch {
		case err == nil, connect.IsWireError(err) && !passing(err):
			return workers, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !passing(err):
			return nil, c.Explain(ctx, err)
		}
		reached := !unreached(err) && !connect.IsWireError(err)
		err = c.loss(err)
		if reached {
			var who *control.ForeignError
			if foreign := c.conn().Probe(ctx); errors.As(foreign, &who) {
				if !who.Silent() {
					return nil, foreign
				}
				err = foreign
			}
		}
		waited := time.Since(began)
		if waited+firstWait > c.Patience {
			if tries == 1 {
				return nil, err
			}
			return nil, fmt.Errorf("%w (tried for %v)", err, c.Patience)
		}
		if waited > min(absentAfter, c.Patience/2) && !told {
			told = true
			c.Log(fmt.Sprintf("%v; trying again for %v", err, c.Patience))
		}
		c.next()
		if err := pause(ctx, min(wait, c.Patience-waited)); err != nil {
			return nil, err
		}
		wait = min(2*wait, longestPoll)
	}
}

// AwaitWorkers waits until n workers are registered. It tells how many there are when it has waited for some seconds, and
// whenever that changes; each worker that comes renews the client's patience.
func (c *Client) AwaitWorkers(ctx context.Context, n int, tell func(found int)) error {
	began, last, most, told := time.Now(), time.Now(), 0, -1
	for {
		workers, err := c.reach(ctx)
		if err != nil {
			return err
		}
		var names []string
		for _, w := range workers {
			if w.Attached && w.State == control.WorkerState_WORKER_STATE_REGISTERED {
				names = append(names, w.Name)
			}
		}
		if len(names) >= n {
			return nil
		}
		now := time.Now()
		if len(names) > most {
			most, last = len(names), now
		}
		if now.Sub(last)+firstWait > c.Patience {
			text := fmt.Sprintf("found %d of %d workers", len(names), n)
			if len(names) > 0 {
				text += ": " + strings.Join(names, ", ")
			}
			return fmt.Errorf("%s (waited %v for more)", text, now.Sub(last).Round(time.Millisecond))
		}
		if now.Sub(began) > min(absentAfter, c.Patience/2) && told != len(names) {
			told = len(names)
			tell(told)
		}
		if err := pause(ctx, firstWait); err != nil {
			return err
		}
	}
}

// pause waits, or returns why ctx ended.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
