package client

import (
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
func (c *Client) Reach(ctx context.Context) error {
	_, err := c.reach(ctx)
	return err
}

// reach is Reach. It returns the workers if the master listed them. The next call reports a
// refusal.
func (c *Client) reach(ctx context.Context) ([]*control.Worker, error) {
	began, told := time.Now(), false
	for wait, tries := firstWait, 1; ; tries++ {
		r, err := once(ctx, c, control.ClusterClient.ListWorkers, &control.ListWorkersRequest{})
		switch {
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

// FewWorkersError means that there are fewer workers than requested.
type FewWorkersError struct {
	// There are the registered workers. Lost are those that were lost recently.
	There, Lost []string
	Wanted      int
	waited      time.Duration
}

func (e *FewWorkersError) Error() string {
	text := fmt.Sprintf("found %d of %d workers", len(e.There), e.Wanted)
	if len(e.There) > 0 {
		text += ": " + strings.Join(e.There, ", ")
	}
	return fmt.Sprintf("%s (waited %v for more)", text, e.waited.Round(time.Millisecond))
}

// Enough reports whether there would be enough workers without losses.
func (e *FewWorkersError) Enough() bool {
	return len(e.There) > 0 && len(e.There)+len(e.Lost) >= e.Wanted
}

// lostPatience is how long a lost worker may take to come back.
const lostPatience = 10 * time.Second

// AwaitWorkers waits until n workers are registered, or fails with a FewWorkersError. If lost is
// true and only lost workers are missing, it fails after lostPatience. After some seconds it calls
// tell with the number of workers, and again whenever it changes. Each new worker restarts the
// client's patience.
func (c *Client) AwaitWorkers(ctx context.Context, n int, lost bool, tell func(found int)) error {
	began, last, most, told := time.Now(), time.Now(), 0, -1
	for {
		workers, err := c.reach(ctx)
		if err != nil {
			return err
		}
		now, few := time.Now(), &FewWorkersError{Wanted: n}
		for _, w := range workers {
			switch registered := w.State == control.WorkerState_WORKER_STATE_REGISTERED; {
			case registered && w.Attached:
				few.There = append(few.There, w.Name)
			case registered, w.State == control.WorkerState_WORKER_STATE_LOST &&
				w.HeardSeconds < (now.Sub(began)+c.Patience).Seconds():
				few.Lost = append(few.Lost, w.Name)
			}
		}
		there := len(few.There)
		if there >= n {
			return nil
		}
		if there > most {
			most, last = there, now
		}
		patience := c.Patience
		if lost && few.Enough() {
			patience = min(patience, lostPatience)
		}
		if few.waited = now.Sub(last); few.waited+firstWait > patience {
			return few
		}
		if now.Sub(began) > min(absentAfter, c.Patience/2) && told != there {
			told = there
			tell(told)
		}
		if err := parallel.Sleep(ctx, firstWait); err != nil {
			return err
		}
	}
}
