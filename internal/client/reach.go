package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/parallel"
)

// Times of waiting for a master or workers.
const (
	// when the user is told about the wait, unless half of the patience is shorter
	absentAfter = 5 * time.Second
	longestPoll = 500 * time.Millisecond // between two attempts
)

// Reach waits until the master answers, for Patience at most, because master and clients may be
// started at the same time.
func (c *Client) Reach(ctx context.Context) error { return c.AwaitWorkers(ctx, 0, false) }

// reach is Reach, and returns the workers if the master listed them. The next call reports a
// refusal.
func (c *Client) reach(ctx context.Context) ([]*control.Worker, error) {
	began, told := time.Now(), false
	for wait, tries := firstWait, 1; ; tries++ {
		r, err := once(ctx, c, control.ClusterClient.ListWorkers, &control.ListWorkersRequest{})
		switch {
		case errors.Is(err, control.ErrToken):
			return nil, c.Explain(ctx, err)
		case err == nil, connect.IsWireError(err) && !passing(err):
			return r.GetWorkers(), nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !passing(err):
			return nil, c.Explain(ctx, err)
		}
		reached := !unreached(err) && !connect.IsWireError(err)
		err = c.loss(err)
		if reached {
			foreign := c.conn().Probe(ctx)
			if who, ok := errors.AsType[*control.ForeignError](foreign); ok && !who.Silent() {
				return nil, foreign
			} else if ok {
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
		if err := parallel.Sleep(ctx, min(wait, c.Patience-waited)); err != nil {
			return nil, err
		}
		wait = min(2*wait, longestPoll)
	}
}

// lostPatience is how long a lost worker may take to come back.
const lostPatience = 10 * time.Second

// AwaitWorkers waits until n workers are registered, and returns an error if there are fewer. If
// lost is true and only workers are missing that were lost recently, it returns nil after
// lostPatience. After some seconds it logs the number of workers, and again whenever it changes.
// Each new worker restarts the client's patience.
func (c *Client) AwaitWorkers(ctx context.Context, n int, lost bool) error {
	began, last, most, told := time.Now(), time.Now(), 0, -1
	for {
		workers, err := c.reach(ctx)
		if err != nil {
			return err
		}
		now := time.Now()
		var found, gone []string
		for _, w := range workers {
			switch registered := w.State == control.WorkerState_WORKER_STATE_REGISTERED; {
			case registered && w.Attached:
				found = append(found, w.Name)
			case registered, w.State == control.WorkerState_WORKER_STATE_LOST &&
				w.HeardSeconds < (now.Sub(began)+c.Patience).Seconds():
				gone = append(gone, w.Name)
			}
		}
		if len(found) >= n {
			return nil
		}
		if len(found) > most {
			most, last = len(found), now
		}
		patience, enough := c.Patience, lost && len(found) > 0 && len(found)+len(gone) >= n
		if enough {
			patience = min(patience, lostPatience)
		}
		if waited := now.Sub(last); waited+firstWait > patience {
			few := fmt.Errorf("found %d of %d workers: %s (waited %v for more)", len(found), n,
				cmp.Or(strings.Join(found, ", "), "none"), waited.Round(time.Millisecond))
			if !enough {
				return few
			}
			c.Log(fmt.Sprintf("%v, and lost %s: the job begins without it", few,
				strings.Join(gone, ", ")))
			return nil
		}
		if now.Sub(began) > min(absentAfter, c.Patience/2) && told != len(found) {
			told = len(found)
			c.Log(fmt.Sprintf("waiting for workers: %d of %d are registered", told, n))
		}
		if err := parallel.Sleep(ctx, firstWait); err != nil {
			return err
		}
	}
}
