// Package daemon has the parameters of masters and workers that only superstep's command line and
// tests set, besides their public Options.
package daemon

import (
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

// Master has the parameters of a master besides its Options.
type Master struct {
	// Process has the parameters of both daemons. A master from New with neither Token nor TLS lets
	// nobody in.
	Process
	// MetricsToken is the content of its file, if it was read.
	MetricsToken control.Token
	// State is the directory with the counter of runs of masters without Data; by default the runs
	// of this process are counted. The number of a run makes its workers' incarnations greater than
	// those of earlier runs.
	State string
	// Listener is the listener of the master; by default one is opened.
	Listener net.Listener
	// Group hints at the death of workers, or is nil. Workers join it at GossipAddress.
	Group         membership.Group
	GossipAddress string
	// Spans gets traces of jobs, or is nil. It is closed at the end.
	Spans trace.Exporter
	// Metrics serves /metrics, or is nil.
	Metrics http.Handler
	// Watch, if not nil, gets all events of jobs. Several goroutines call it at once, but the
	// events of one job come in order. It must not wait, and must not call the server.
	Watch func(job string, e *control.JobEvent)
	// History, if not nil, is what the page shows of jobs: Watch fills it, and the jobs that ended
	// before this run of the master are put into it. Without it there is no page.
	History *history.Store
	// SlowFor is the time for which a worker must be slow, in consecutive supersteps, before jobs
	// move away from it; default 10 s.
	SlowFor time.Duration
	// WrapPart, if not nil, wraps the data of each file of a result before they are written, for
	// tests of slow or full disks.
	WrapPart func(io.Reader) io.Reader
}

// Worker has the parameters of a worker besides its Options.
type Worker struct {
	Process
	// Secrets are additional files, besides those of the options, that no job may read. The worker
	// does not start if one of them is below a data root.
	Secrets []string
	// Listener is the listener for other workers. They use Address, if that is not the listener's
	// own address. Run closes the listener.
	Listener Listener
	Address  string
	// Silence bounds the time without a sign of life from another worker, and the time to connect
	// to it; default 5 s.
	Silence time.Duration
	// HTTPAddress is the address of metrics and health, or empty.
	HTTPAddress string
	// Group, if not nil, is joined at the master's address. It also finds the master.
	Group membership.Group
	// Dial makes connections; default TCP.
	Dial control.Dialer
	// Observe, if not nil, observes the worker.
	Observe Observer
}

// Listener is a TCP listener whose Accept can be interrupted by a deadline.
type Listener interface {
	net.Listener
	SetDeadline(t time.Time) error
}

// Observer observes a worker. Several goroutines call its methods at once. They must not wait.
type Observer interface {
	// Session is called when a session with the master begins or ends.
	Session(attached bool)
	// Registered is called with the incarnation under which the master at an address has registered
	// the worker.
	Registered(master string, incarnation uint64)
	// Stuck is called with a command that does not stop although it should. Unless it stops, the
	// worker exits after StopTimeout. An empty text means that all have stopped.
	Stuck(what string)
	// Leaving is called when the worker wants to leave and accepts no more work.
	Leaving()
	// Superstep is called after a superstep with its time over all workers, and the reports of the
	// worker's partitions. The reports are only valid during the call.
	Superstep(seconds float64, reports []*bsp.Report)
	// Command is called with the result of a command of the master: load, prepare, drive, values
	// and others. r is the report to the master. If there is an error r may be nil or empty. The
	// error is context.Canceled if the command was cancelled or the session ended.
	Command(name string, took time.Duration, r *control.Report, err error)
}

type reused struct {
	Listener
	mu     sync.Mutex
	closed bool
}

// Reuse returns a listener for one use of l. Closing it leaves l open, and the next Reuse lets l
// accept again.
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
