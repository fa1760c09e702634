// Package daemon has what the command line and the tests of superstep give a master or a worker
// beside their Options. No other program uses it.
package daemon

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/history"
	"github.com/superstep-go/superstep/internal/membership"
	"github.com/superstep-go/superstep/internal/trace"
)

// Master is what a master gets beside its Options.
type Master struct {
	// Process is both daemons'. With neither Token nor TLS New makes a master that lets nobody in.
	Process
	// MetricsToken is that of the file, if it was read.
	MetricsToken control.Token
	// State is the directory that counts the runs of masters without Data; by default those of this
	// process are counted. A run's number makes the incarnations of its workers larger than those
	// of the runs before.
	State string
	// Listener is where the master answers; by default one is opened.
	Listener net.Listener
	// Group hints at the death of workers, or is nil. GossipAddress is where workers join it.
	Group         membership.Group
	GossipAddress string
	// Spans gets traces of jobs, or is nil. It is closed at the end.
	Spans trace.Exporter
	// Metrics answers at /metrics, or is nil.
	Metrics http.Handler
	// Page, if not nil, makes what answers at all other addresses: the page and its API. It is
	// called once, by Serve.
	Page func(s Paged) http.Handler
	// Watch, if not nil, is told of everything that happens to jobs, by several goroutines at once,
	// of one job in order. It does not wait, and calls nothing of the server.
	Watch func(job string, e *control.JobEvent)
	// History, if not nil, is what the page shows of jobs: Watch fills it, and the jobs that ended
	// before this run of the master are put into it.
	History *history.Store
	// SlowFor is for how long a worker has to be slow, in supersteps in a row, until jobs move away
	// from it; default 10 s.
	SlowFor time.Duration
	// WrapPart, if not nil, stands between the master and each file of a result, for tests of disks
	// that are slow or full.
	WrapPart func(io.WriteCloser) io.WriteCloser
}

// Paged is a master as its page sees it: a web.Master, and who may see the page.
type Paged interface {
	control.ClusterHandler
	Submit(context.Context, *control.SubmitJobRequest) (about *control.Job, found bool, err error)
	Result(ctx context.Context, id string, offset uint64, each func(data []byte) error) error
	// Gate decides who may what at the master's port.
	Gate() *control.Gate
	// Closing is closed when everything ends.
	Closing() <-chan struct{}
}

// Worker is what a worker gets beside its Options.
type Worker struct {
	Process
	// Secrets are files, beside those of the options, that no job may read. The worker does not
	// begin if one of them lies below a data root.
	Secrets []string
	// Listener is where other workers reach this one, by Address if that is not the listener's own.
	// Run closes it.
	Listener Listener
	Address  string
	// Silence is how long another worker may give no sign of life, and connecting to it may take;
	// default 5 s.
	Silence time.Duration
	// HTTPAddress is where metrics and health are, or empty.
	HTTPAddress string
	// Group is joined where the master says, and asked where the master is; or nil.
	Group membership.Group
	// Dial makes connections; default TCP.
	Dial control.Dialer
	// Observe is told what the worker does, or is nil.
	Observe Observer
}

// Listener is a TCP listener: what accepts, and can be told to stop for a while.
type Listener interface {
	net.Listener
	SetDeadline(t time.Time) error
}

// Observer is told what a worker does, by several goroutines at once. Its methods do not wait.
type Observer interface {
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

type reused struct {
	Listener
	mu     sync.Mutex
	closed bool
}

// Reuse returns a listener that others have after what it is for: closing it leaves l open, and the
// next Reuse lets l accept again.
func Reuse(l Listener) net.Listener {
	_ = l.SetDeadline(time.Time{})
	return &reused{Listener: l}
}

func (l *reused) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		if err == nil {
			err = errors.Join(net.ErrClosed, c.Close())
		}
		return nil, err
	}
	return c, err
}

func (l *reused) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return l.SetDeadline(time.Unix(1, 0))
}
