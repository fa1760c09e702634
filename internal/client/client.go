// Package client is how a program uses a cluster: it submits jobs to the master, follows them and
// fetches what they computed. A connection that is lost is made anew, and goes on where it was:
//
//	submit --job--> confirm --> follow --event, event, ...--> ended --> result --bytes--> done
//	  ^  |            ^  |        ^  |                                    ^  |
//	  +--+ same key   +--+        +--+ after the last event               +--+ from the next byte
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

// Options say which master a client talks to, and how patiently.
type Options struct {
	// Address is the master's, HOST:PORT, or those of several, parted by commas, of which one
	// leads. Credentials are what it wants to see.
	Address string
	control.Credentials
	// Patience is how long to try to reach a master that is not there; default one minute.
	Patience time.Duration
	// Log gets a line when Reach waits for a master, when a connection is lost, and when there is
	// one again; or is nil.
	Log func(line string)
	// Dial makes connections; default TCP.
	Dial control.Dialer
}

// Client talks to a master. Its methods may be called by several goroutines. Their errors are
// worded for people.
type Client struct {
	Options
	conns []*control.Connection // to each address
	at    atomic.Uint32         // which is used, modulo their number
	met   atomic.Bool           // the master has answered
}

// Times of calls and of waiting between them.
const (
	callTimeout = 10 * time.Second
	firstWait   = 50 * time.Millisecond
	longestWait = 2 * time.Second
)

// New makes a client. Nothing is sent yet.
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

// conn is the connection to the master that leads, as far as is known.
func (c *Client) conn() *control.Connection { return c.conns[int(c.at.Load())%len(c.conns)] }

// Master is where that is.
func (c *Client) Master() string { return c.conn().Address() }

// next tries another master.
func (c *Client) next() { c.at.Add(1) }

func (c *Client) back() { c.Log("connected again") }

// Close lets go of connections.
func (c *Client) Close() {
	for _, conn := range c.conns {
		conn.Close()
	}
}

// Cluster makes calls that are not made again when they fail; Explain words their errors.
func (c *Client) Cluster() control.ClusterClient { return c.conn().Cluster }

// Explain words the error of a call for people; ctx is what the caller ends calls by.
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

// loss words why a connection was lost.
func (c *Client) loss(err error) error {
	return control.Explain(c.Master(), control.Closed(c.Master(), err))
}

// foreign words an error of a call that something else than a master answered; nil if it may have
// been one.
func (c *Client) foreign(ctx context.Context, err error) error {
	var e *connect.Error
	switch {
	case c.met.Load() || !errors.As(err, &e) || errors.As(err, new(*control.TextError)) || connect.IsWireError(err) || unreached(err):
		return nil
	case control.Foreign(err):
		return control.Explain(c.Master(), err)
	}
	return c.conn().Probe(ctx)
}

// LostError says that the master was not to be reached for as long as the client had patience.
type LostError struct {
	Address string
	After   time.Duration
	Cause   error
}

func (e *LostError) Error() string {
	return fmt.Sprintf("lost the master at %s: tried to reach it for %v: %v", e.Address, e.After, e.Cause)
}

func (e *LostError) Unwrap() error { return e.Cause }

// passing reports whether an error may pass by itself: the connection's, or that of a master that
// is stopping.
func passing(err error) bool {
	var e *connect.Error
	if !errors.As(err, &e) || errors.As(err, new(*control.TextError)) {
		return false
	}
	switch e.Code() {
	// Not by this end's context, which is asked before.
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeCanceled:
		return true
	case connect.CodeResourceExhausted: // too large a message, which would be as large again
		return false
	}
	return !connect.IsWireError(err) && !control.Foreign(err)
}

// unreached reports whether a call never got to anyone, or to nobody who answers.
func unreached(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial" || connect.CodeOf(err) == connect.CodeDeadlineExceeded
}

// method is a call of the master's API.
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

// persist does something until it succeeds, fails for good or the client's patience ends. do
// reports whether it got anywhere: then patience begins anew. Where there never was a master
// nothing is tried twice: Reach waits for one.
func (c *Client) persist(ctx context.Context, do func(context.Context) (bool, error)) error {
	var lost time.Time
	for wait := firstWait; ; {
		began := time.Now()
		got, err := do(ctx)
		if got {
			c.met.Store(true)
			lost, wait = time.Time{}, firstWait
		}
		var final *finalError
		switch {
		case err == nil:
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
		if lost.IsZero() {
			lost = began
			if got {
				lost = now
			}
			c.Log(fmt.Sprintf("lost the connection: %v; trying again for %v", c.loss(err), c.Patience))
		}
		if now.Sub(lost) >= c.Patience {
			return &LostError{c.Master(), c.Patience, c.loss(err)}
		}
		c.next()
		if err := parallel.Sleep(ctx, min(wait, c.Patience-now.Sub(lost))); err != nil {
			return err
		}
		wait = min(2*wait, longestWait)
	}
}

// Submit submits a job. When it is not known whether the job was taken, it is submitted again under
// the same key, so that there is one. It begins when Confirm has said that this client knows of it:
// one whose client gives up before that never runs.
func (c *Client) Submit(ctx context.Context, spec *job.Spec) (*control.Job, error) {
	// Until the answer is here, and until a last try to confirm it has ended.
	patience := c.Patience + 3*callTimeout
	request := &control.SubmitJobRequest{SpecJson: job.Text(spec), Key: rand.Text(), ConfirmMilliseconds: uint64(patience.Milliseconds())}
	return jobOf(ctx, c, control.ClusterClient.SubmitJob, request)
}

// Confirm lets a job begin that was submitted, and says how it is.
func (c *Client) Confirm(ctx context.Context, id string) (*control.Job, error) {
	return jobOf(ctx, c, control.ClusterClient.ConfirmJob, &control.ConfirmJobRequest{Id: id})
}

// ErrForgotten is that a master does not have a job any more.
var ErrForgotten = errors.New("the master was started anew and knows nothing of job")

// finalError ends what persist does: it is not of the connection.
type finalError struct{ error }

// Job says how a job is.
func (c *Client) Job(ctx context.Context, id string) (*control.Job, error) {
	return jobOf(ctx, c, control.ClusterClient.GetJob, &control.GetJobRequest{Id: id})
}

// jobOf makes a call that is answered with a job, again when the connection was lost.
func jobOf[Q any](ctx context.Context, c *Client, call method[Q, control.Job], question *Q) (about *control.Job, err error) {
	broke := false
	err = c.persist(ctx, func(ctx context.Context) (_ bool, err error) {
		about, err = once(ctx, c, call, question)
		if broke && err == nil {
			c.back()
		}
		broke = err != nil
		return err == nil, err
	})
	if err == nil && about.SpecJson != "" {
		if _, err = job.Read[job.Spec](about.SpecJson); err != nil {
			return nil, fmt.Errorf("job %s: %w", about.Id, err)
		}
	}
	return about, err
}

// Cancel tells a job to end, and returns how it is.
func (c *Client) Cancel(ctx context.Context, id, why string) (*control.Job, error) {
	return ask(ctx, c, control.ClusterClient.CancelJob, &control.CancelJobRequest{Id: id, Reason: why})
}

// steady is how long a connection holds that was no failed try, though nothing happened to the job.
const steady = 10 * time.Second

// Follow passes on what happens to a job, from its beginning, until it has ended. An error of each
// ends it. Patience begins anew when something new was heard, or the connection held for a while:
// one that breaks at once, again and again, is none.
func (c *Client) Follow(ctx context.Context, id string, each func(*control.JobEvent) error) error {
	return c.follow(ctx, id, false, &Place{}, each)
}

// FollowLogs is Follow that begins with what earlier runs of the master have kept of the job's log.
func (c *Client) FollowLogs(ctx context.Context, id string, f func(*control.JobEvent) error) error {
	return c.follow(ctx, id, true, &Place{}, f)
}

func (c *Client) follow(ctx context.Context, id string, logs bool, at *Place, each func(*control.JobEvent) error) error {
	broke, back := false, false
	return c.persist(ctx, func(ctx context.Context) (bool, error) {
		if broke {
			// A stream says nothing until something happens; this says that the master is there,
			// and knows the job.
			_, err := once(ctx, c, control.ClusterClient.GetJob, &control.GetJobRequest{Id: id})
			if connect.CodeOf(err) == connect.CodeNotFound {
				return false, &finalError{fmt.Errorf("%w %s", ErrForgotten, id)}
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
		err := c.watch(ctx, &control.WatchJobRequest{Id: id, After: at.last, Logs: logs}, func(e *control.JobEvent) error {
			if got = got || e.Sequence > at.last; !at.pass(e) {
				return nil
			}
			return each(e)
		})
		got = got || time.Since(began) >= min(steady, c.Patience)
		back = back && !got
		return got, err
	})
}

// Events passes on what has happened to a job so far, with what earlier runs of the master have
// kept of its log.
func (c *Client) Events(ctx context.Context, id string, each func(*control.JobEvent) error) error {
	return c.Explain(ctx, c.watch(ctx, &control.WatchJobRequest{Id: id, Past: true, Logs: true}, each))
}

func (c *Client) watch(ctx context.Context, r *control.WatchJobRequest, each func(*control.JobEvent) error) error {
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

// Result writes what a job computed, and returns how many bytes that were.
func (c *Client) Result(ctx context.Context, id string, w io.Writer) (int64, error) {
	offset := int64(0)
	broke := false
	err := c.persist(ctx, func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := c.conn().Cluster.GetResult(ctx, &control.GetResultRequest{Id: id, Offset: uint64(offset)})
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
