package client

import (
	"context"
	"errors"
	"io"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
)

// steady is how long a connection holds that was no failed try, though nothing happened to the job.
const steady = 10 * time.Second

// Follow passes on what happens to a job, from its beginning, until it has ended. An error of each ends it. Patience begins
// anew when something new was heard, or the connection held for a while: one that breaks at once, again and again, is none.
func (c *Client) Follow(ctx context.Context, id string, each func(*control.JobEvent) error) error {
	after := uint64(0)
	broke, back := false, false
	return c.persist(ctx, func(ctx context.Context) (bool, error) {
		if broke {
			// A stream says nothing until something happens; this says that the master is there, and knows the job.
			err := c.once(ctx, func(ctx context.Context) error {
				_, err := c.conn.Cluster.GetJob(ctx, connect.NewRequest(&control.GetJobRequest{Id: id}))
				return err
			})
			if connect.CodeOf(err) == connect.CodeNotFound {
				return false, &finalError{errors.New("the master was started anew and knows nothing of job " + id)}
			}
			if err != nil {
				return false, err
			}
			if !back { // once for each loss that is told
				c.back()
			}
			back = true
		}
		broke = true
		got, began := false, time.Now()
		err := c.watch(ctx, &control.WatchJobRequest{Id: id, After: after}, func(e *control.JobEvent) error {
			if e.GetProgress() == nil { // that of progress is the last event's
				got = got || e.Sequence > after
				after = e.Sequence
			}
			return each(e)
		})
		got = got || time.Since(began) >= min(steady, c.Patience)
		back = back && !got
		return got, err
	})
}

// Events passes on what has happened to a job so far.
func (c *Client) Events(ctx context.Context, id string, each func(*control.JobEvent) error) error {
	return c.Explain(ctx, c.watch(ctx, &control.WatchJobRequest{Id: id, Past: true}, each))
}

func (c *Client) watch(ctx context.Context, r *control.WatchJobRequest, each func(*control.JobEvent) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.conn.Cluster.WatchJob(ctx, connect.NewRequest(r))
	if err != nil {
		return err
	}
	defer stream.Close()
	for stream.Receive() {
		if err := each(stream.Msg()); err != nil {
			return &finalError{err}
		}
	}
	return stream.Err()
}

// Result writes what a job computed, and returns how many bytes that were.
func (c *Client) Result(ctx context.Context, id string, w io.Writer) (int64, error) {
	offset := int64(0)
	broke := false
	err := c.persist(ctx, func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := c.conn.Cluster.GetResult(ctx, connect.NewRequest(&control.GetResultRequest{Id: id, Offset: uint64(offset)}))
		if err != nil {
			return false, err
		}
		defer stream.Close()
		got := false
		for stream.Receive() {
			if broke {
				broke = false
				c.back()
			}
			got = true
			n, err := w.Write(stream.Msg().Data)
			offset += int64(n)
			if err != nil {
				return true, &finalError{err}
			}
		}
		broke = stream.Err() != nil
		return got, stream.Err()
	})
	return offset, err
}
