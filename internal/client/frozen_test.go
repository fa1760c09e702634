package client

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
)

// frozen is a master that can freeze like a process stopped by SIGSTOP: connections stay open, new
// ones are accepted, but nothing answers. It is also a net.Listener for connections in memory.
type frozen struct {
	control.UnimplementedClusterHandler
	stopped chan struct{}
	dialed  chan net.Conn
	closed  chan struct{}
	once    sync.Once
	began   time.Time
}

func (f *frozen) WatchJob(
	ctx context.Context, _ *control.WatchJobRequest, s *connect.ServerStream[control.JobEvent],
) error {
	if err := s.Send(&control.JobEvent{Sequence: 1}); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func (f *frozen) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	f.dialed <- &freezing{Conn: far, stopped: f.stopped, closed: make(chan struct{})}
	return near, nil
}

func (f *frozen) Accept() (net.Conn, error) {
	select {
	case c := <-f.dialed:
		return c, nil
	case <-f.closed:
		return nil, net.ErrClosed
	}
}

func (f *frozen) Close() error {
	f.once.Do(func() { close(f.closed) })
	return nil
}

func (f *frozen) Addr() net.Addr { return &net.TCPAddr{} }

// freezing is a connection whose end writes nothing after it is frozen.
type freezing struct {
	net.Conn
	stopped, closed chan struct{}
	once            sync.Once
}

func (c *freezing) Write(b []byte) (int, error) {
	select {
	case <-c.stopped:
		<-c.closed
		return 0, io.ErrClosedPipe
	default:
		return c.Conn.Write(b)
	}
}

// Close unblocks a writer. A frozen end does not close the connection for the other end.
func (c *freezing) Close() error {
	c.once.Do(func() { close(c.closed) })
	select {
	case <-c.stopped:
		return nil
	default:
		return c.Conn.Close()
	}
}

// TestAFrozenMaster: a client whose master no longer answers, while its connections stay open,
// gives up at most 20 s after its patience ends. The error is in plain words.
func TestAFrozenMaster(t *testing.T) {
	for _, patience := range []time.Duration{2 * time.Second, 40 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			f := &frozen{stopped: make(chan struct{}), dialed: make(chan net.Conn), closed: make(chan struct{})}
			mux := http.NewServeMux()
			mux.Handle(control.NewClusterHandler(f))
			server := control.NewHTTPServer(mux, t.Context())
			go func() { _ = server.Serve(f) }()
			var lost []string
			c, err := New(Options{Address: "127.0.0.1:1", Patience: patience, Dial: f.dial, Log: func(line string) { lost = append(lost, line) }})
			if err != nil {
				t.Fatal(err)
			}
			var began time.Time
			err = c.Follow(t.Context(), "j1", func(*control.JobEvent) error {
				began = time.Now()
				close(f.stopped)
				return nil
			})
			waited := time.Since(began)
			if err == nil || !strings.HasPrefix(err.Error(), "lost the master at ") || waited < patience ||
				waited > patience+20*time.Second || strings.Contains(err.Error(), "http2") {
				t.Errorf("a job is followed for %v: found after %v: %v", patience, waited, err)
			}
			if len(lost) != 1 || !strings.HasPrefix(lost[0],
				"lost the connection: the master at 127.0.0.1:1 no longer answers; ") {
				t.Errorf("the log has %q", lost)
			}
			began = time.Now()
			err = c.Reach(t.Context())
			if waited := time.Since(began); err == nil || waited > patience+10*time.Second ||
				strings.Contains(err.Error(), "http2") {
				t.Errorf("the master is reached for %v: found after %v: %v", patience, waited, err)
			}
			t.Logf("%v: %v, %v", patience, waited, time.Since(began))
			c.Close()
			_ = server.Close()
		})
	}
}

// ListWorkers returns one more worker every second.
func (f *frozen) ListWorkers(
	context.Context, *control.ListWorkersRequest,
) (*control.ListWorkersResponse, error) {
	r := &control.ListWorkersResponse{}
	for range min(time.Since(f.began)/time.Second, 9) {
		r.Workers = append(r.Workers,
			&control.Worker{Name: "w", Attached: true, State: control.WorkerState_WORKER_STATE_REGISTERED})
	}
	return r, nil
}

// TestWhoComesSoonIsWaitedForSilently: if a master and workers start within seconds, the client
// prints nothing.
func TestWhoComesSoonIsWaitedForSilently(t *testing.T) {
	for after, most := range map[time.Duration]int{2 * time.Second: 0, 9 * time.Second: 1} {
		synctest.Test(t, func(t *testing.T) {
			f := &frozen{began: time.Now(), stopped: make(chan struct{}), dialed: make(chan net.Conn), closed: make(chan struct{})}
			mux := http.NewServeMux()
			mux.Handle(control.NewClusterHandler(f))
			server := control.NewHTTPServer(mux, t.Context())
			go func() { _ = server.Serve(f) }()
			var told []string
			log := func(line string) { told = append(told, line) }
			dial := func(ctx context.Context, network, address string) (net.Conn, error) {
				if time.Since(f.began) < after {
					return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
				}
				return f.dial(ctx, network, address)
			}
			c, err := New(
				Options{Address: "127.0.0.1:1", Patience: time.Minute, Dial: dial, Log: log})
			if err != nil {
				t.Fatal(err)
			}
			err = c.Reach(t.Context())
			if err == nil {
				err = c.AwaitWorkers(t.Context(), 4, false)
			}
			if err != nil || len(told) != most {
				t.Errorf("a master that comes after %v: %v, the log has %q", after, err, told)
			}
			c.Close()
			_ = server.Close()
		})
	}
}
