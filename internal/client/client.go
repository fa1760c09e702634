// Package client is the client of the master's API: it submits jobs, follows them and fetches their
// results. When a connection is lost, it reconnects and continues at the same position:
//
//	submit --job--> confirm --> follow --event, event, ...--> ended --> result --bytes--> done
//	  ^  |            ^  |        ^  |                                    ^  |
//	  +--+ same key   +--+        +--+ after the last event               +--+ from the next byte
//
// Read client.go first, then run.go.
package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/parallel"
)

// Options configure a client.
type Options struct {
	// Address is the address of the master, HOST:PORT. If there are several masters, of which one
	// leads, it is a comma-separated list. Credentials are the client's token and certificates.
	Address string
	control.Credentials
	// Patience is how long to try to reach a missing master. Default one minute.
	Patience time.Duration
	// Log, if not nil, gets a line when Reach waits for a master, when a connection is lost, and
	// when it is restored.
	Log func(line string)
	// Dial opens connections. Default TCP.
	Dial control.Dialer
}

// Client is a client of a master. Its methods may be called concurrently. Their errors are suitable
// for users.
type Client struct {
	Options
	conns []*control.Connection // one per address
	at    atomic.Uint32         // index of the current connection, modulo their number
	met   atomic.Bool           // the master has answered
}

// Timeouts of calls and delays between them.
const (
	callTimeout = 10 * time.Second
	firstWait   = 50 * time.Millisecond
	longestWait = 2 * time.Second
)

// New makes a client. It does not connect yet.
func New(o Options) (*Client, error) {
	o.Patience = cmp.Or(o.Patience, time.Minute)
	if o.Log == nil {
		o.Log = func(string) {}
	}
	c := &Client{Options: o}
	for _, address := range control.Addresses(o.Address) {
		conn, err := control.Connect(address, o.Credentials, o.Dial)
		if err != nil {
			c.Close()
			return nil, err
		}
		c.conns = append(c.conns, conn)
	}
	return c, nil
}

// conn returns the connection to the master that probably leads.
func (c *Client) conn() *control.Connection { return c.conns[int(c.at.Load())%len(c.conns)] }

// Master returns the address of the master that probably leads.
func (c *Client) Master() string { return c.conn().Address() }

// next switches to another master.
func (c *Client) next() { c.at.Add(1) }

// Close closes all connections.
func (c *Client) Close() {
	for _, conn := range c.conns {
		conn.Close()
	}
}

// Cluster returns the API for calls without retries. Explain explains their errors.
func (c *Client) Cluster() control.ClusterClient { return c.conn().Cluster }

// Explain explains the error of a call for users. ctx is the context of the caller.
func (c *Client) Explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return control.Explain(c.Master(), err)
	}
	if foreign := c.foreign(ctx, err); foreign != nil {
		return foreign
	}
	return c.loss(err)
}

// loss explains why a connection was lost.
func (c *Client) loss(err error) error {
	return control.Explain(c.Master(), control.Closed(c.Master(), err))
}

// foreign explains the error of a call that something other than a master answered. It returns nil
// if it may have been a master.
func (c *Client) foreign(ctx context.Context, err error) error {
	var e *connect.Error
	switch {
	case c.met.Load() || !errors.As(err, &e) || errors.As(err, new(*control.TextError)) ||
		connect.IsWireError(err) || unreached(err):
		return nil
	case control.Foreign(err):
		return control.Explain(c.Master(), err)
	}
	return c.conn().Probe(ctx)
}

// passing reports whether an error may be temporary: of the connection, or of a master that is
// stopping.
func passing(err error) bool {
	var e *connect.Error
	if !errors.As(err, &e) || errors.As(err, new(*control.TextError)) {
		return false
	}
	switch e.Code() {
	// Callers check their own contexts first.
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeCanceled:
		return true
	case connect.CodeResourceExhausted: // the message is too large, and would be again
		return false
	}
	return !connect.IsWireError(err) && !control.Foreign(err)
}

// unreached reports whether a call could not connect, or got no answer in time.
func unreached(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial" || connect.CodeOf(err) == connect.CodeDeadlineExceeded
}

// method is a method of the master's API.
type method[Q, A any] func(control.ClusterClient, context.Context, *Q) (*A, error)

// once makes a call that is answered at once.
func once[Q, A any](ctx context.Context, c *Client, call method[Q, A], question *Q) (*A, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r, err := call(c.conn().Cluster, ctx, question)
	if err == nil || connect.IsWireError(err) {
		c.met.Store(true)
	}
	return r, err
}

// attempts are the attempts of persist at a call.
type attempts struct {
	*Client
	wait  time.Duration // before the next attempt
	began time.Time     // start of the current attempt; zero if it has made progress
	lost  time.Time     // of the first failure since the last progress
	told  bool          // the loss was logged, and its end was not
}

// back notes that the connection works again.
func (a *attempts) back() {
	if a.told {
		a.told = false
		a.Log("connected again")
	}
}

// got notes progress, which restarts the patience.
func (a *attempts) got() {
	a.back()
	a.met.Store(true)
	a.lost, a.began, a.wait = time.Time{}, time.Time{}, firstWait
}

// persist repeats do until it succeeds, fails permanently, or the client's patience ends. Before
// the first answer of a master, persist does not retry calls that reach nobody; Reach does.
func (c *Client) persist(ctx context.Context, do func(context.Context, *attempts) error) error {
	for a := (&attempts{Client: c, wait: firstWait}); ; {
		a.began = time.Now()
		err := do(ctx, a)
		var final *finalError
		switch {
		case err == nil:
			a.got()
			return nil
		case errors.As(err, &final):
			return final.error
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !passing(err), !c.met.Load() && unreached(err):
			return c.Explain(ctx, err)
		}
		if foreign := c.foreign(ctx, err); foreign != nil {
			return foreign
		}
		now := time.Now()
		if a.lost.IsZero() {
			a.lost, a.told = cmp.Or(a.began, now), true
			c.Log(fmt.Sprintf("lost the connection: %v; trying again for %v",
				c.loss(err), c.Patience))
		}
		if now.Sub(a.lost) >= c.Patience {
			return fmt.Errorf("lost the master at %s: tried to reach it for %v: %w", c.Master(),
				c.Patience, c.loss(err))
		}
		c.next()
		if err := parallel.Sleep(ctx, min(a.wait, c.Patience-now.Sub(a.lost))); err != nil {
			return err
		}
		a.wait = min(2*a.wait, longestWait)
	}
}

// Submit submits a job. If the answer is lost, it repeats the call with the same key, so that there
// is only one job. The job begins when Confirm confirms that this client knows of it. If the client
// gives up before, the job never runs.
func (c *Client) Submit(ctx context.Context, spec *job.Spec) (*control.Job, error) {
	// Until the answer arrives, and a last attempt to confirm has ended.
	patience := c.Patience + 3*callTimeout
	request := &control.SubmitJobRequest{
		SpecJson: job.Text(spec), Key: rand.Text(),
		ConfirmMilliseconds: uint64(patience.Milliseconds()),
	}
	return jobOf(ctx, c, control.ClusterClient.SubmitJob, request)
}

// Confirm allows a submitted job to begin, and returns the job.
func (c *Client) Confirm(ctx context.Context, id string) (*control.Job, error) {
	return jobOf(ctx, c, control.ClusterClient.ConfirmJob, &control.ConfirmJobRequest{Id: id})
}

// ErrForgotten means that a master no longer has a job.
var ErrForgotten = errors.New("the master has restarted and does not know job")

// finalError ends persist, because it is not an error of the connection.
type finalError struct{ error }

// Job returns a job.
func (c *Client) Job(ctx context.Context, id string) (*control.Job, error) {
	return jobOf(ctx, c, control.ClusterClient.GetJob, &control.GetJobRequest{Id: id})
}

// again makes a call that is answered at once, and repeats it if the connection is lost.
func again[Q, A any](
	ctx context.Context, c *Client, call method[Q, A], question *Q,
) (answer *A, err error) {
	err = c.persist(ctx, func(ctx context.Context, _ *attempts) (err error) {
		answer, err = once(ctx, c, call, question)
		return err
	})
	return answer, err
}

// jobOf makes a call that returns a job, and repeats it if the connection is lost.
func jobOf[Q any](
	ctx context.Context, c *Client, call method[Q, control.Job], question *Q,
) (*control.Job, error) {
	about, err := again(ctx, c, call, question)
	if err == nil && about.SpecJson != "" {
		if _, err = job.Read[job.Spec](about.SpecJson); err != nil {
			return nil, fmt.Errorf("job %s: %w", about.Id, err)
		}
	}
	return about, err
}

// Cancel starts to cancel a job, and returns the job.
func (c *Client) Cancel(ctx context.Context, id, why string) (*control.Job, error) {
	return ask(ctx, c, control.ClusterClient.CancelJob,
		&control.CancelJobRequest{Id: id, Reason: why})
}

// steady is how long a connection must hold to count as progress even without events.
const steady = 10 * time.Second

// Each receives the events of a job. Its error ends the call that passes them.
type Each = func(*control.JobEvent) error

// Follow passes the events of a job to each, from the beginning of the log that earlier runs of the
// master stored, until the job has ended.
func (c *Client) Follow(ctx context.Context, id string, each Each) error {
	return c.follow(ctx, id, true, &Place{}, each)
}

// follow passes the events of a job after a place to each, until the job has ended. With logs it
// begins with the log that earlier runs of the master stored. The patience restarts when there is a
// new event, or when the connection has held for a while; a connection that keeps breaking at once
// does not count.
func (c *Client) follow(ctx context.Context, id string, logs bool, at *Place, each Each) error {
	broke := false
	return c.persist(ctx, func(ctx context.Context, a *attempts) error {
		if broke {
			// A stream sends nothing until there is an event. This call checks that the master
			// answers and knows the job.
			_, err := once(ctx, c, control.ClusterClient.GetJob, &control.GetJobRequest{Id: id})
			if connect.CodeOf(err) == connect.CodeNotFound {
				return &finalError{fmt.Errorf("%w %s", ErrForgotten, id)}
			}
			if err != nil {
				return err
			}
			a.back()
		}
		broke = true
		began := time.Now()
		err := c.watch(ctx, &control.WatchJobRequest{Id: id, After: at.last, Logs: logs},
			func(e *control.JobEvent) error {
				if e.Sequence > at.last {
					a.got()
				}
				if !at.pass(e) {
					return nil
				}
				return each(e)
			})
		if time.Since(began) >= min(steady, c.Patience) {
			a.got()
		}
		return err
	})
}

// Events passes the events of a job so far to each, including the log that earlier runs of the
// master stored.
func (c *Client) Events(ctx context.Context, id string, each Each) error {
	return c.Explain(ctx,
		c.watch(ctx, &control.WatchJobRequest{Id: id, Past: true, Logs: true}, each))
}

func (c *Client) watch(ctx context.Context, r *control.WatchJobRequest, each Each) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.conn().Cluster.WatchJob(ctx, r)
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

// Result writes the result of a job, and returns its size in bytes. If numbered is set, the job must
// be Numbered, and each line ends with a tab and the number of the vertex in vertex sets, or - for a
// vertex that the run added.
func (c *Client) Result(ctx context.Context, id string, numbered bool, w io.Writer) (int64, error) {
	offset := int64(0)
	err := c.persist(ctx, func(ctx context.Context, a *attempts) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := c.conn().Cluster.GetResult(ctx,
			&control.GetResultRequest{Id: id, Offset: uint64(offset), Numbered: numbered})
		if err != nil {
			return err
		}
		defer stream.Close()
		for stream.Receive() {
			a.got()
			n, err := w.Write(stream.Msg().Data)
			offset += int64(n)
			if err != nil {
				return &finalError{err}
			}
		}
		return stream.Err()
	})
	return offset, err
}
