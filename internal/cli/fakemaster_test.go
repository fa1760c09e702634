//go:build unix

package cli_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/test/scripts"
)

// fakeMaster is a master with one job, which runs until it is cancelled or the test ends it. Some
// calls can be delayed.
type fakeMaster struct {
	control.UnimplementedClusterHandler
	address string

	called chan string   // the received calls
	submit chan struct{} // if not nil, submissions wait for it
	result chan struct{} // if not nil, results wait for it in the middle
	cancel chan struct{} // if not nil, a cancellation waits for it and is then refused
	finish chan struct{} // closed when the job is done
	once   sync.Once
	// refuse watches
	unwatched bool
	stopped   chan struct{} // closed when the job is cancelled
	heard     atomic.Bool   // a client has confirmed the job
}

// newFakeMaster starts a fake master. slow has the names of delayed calls.
func newFakeMaster(t *testing.T, slow ...string) *fakeMaster {
	t.Helper()
	m := &fakeMaster{called: make(chan string,
		100), finish: make(chan struct{}), stopped: make(chan struct{})}
	if slices.Contains(slow, "submit") {
		m.submit = make(chan struct{})
	}
	if slices.Contains(slow, "result") {
		m.result = make(chan struct{})
	}
	if slices.Contains(slow, "cancel") {
		m.cancel = make(chan struct{})
	}
	m.unwatched = slices.Contains(slow, "watch")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	m.address = l.Addr().String()
	mux := http.NewServeMux()
	mux.Handle(control.NewClusterHandler(m))
	new(control.Health).Handle(mux)
	ctx, cancel := context.WithCancel(context.Background())
	server := control.NewHTTPServer(mux, ctx)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() {
		cancel()
		_ = server.Close()
	})
	return m
}

// await waits for a call.
func (m *fakeMaster) await(t *testing.T, call string) {
	t.Helper()
	for {
		select {
		case c := <-m.called:
			if c == call {
				return
			}
		case <-time.After(scripts.Patience):
			t.Fatalf("the call %s never came", call)
		}
	}
}

func (m *fakeMaster) job(state control.JobState, reason string) *control.Job {
	return &control.Job{
		Id: "f00d-1", State: state, Reason: reason, Rows: 1, Columns: 1,
		EndedBy: string(trace.Converged), Vertices: 3, ResultBytes: 12,
		SpecJson: job.Text(&job.Spec{Program: "wcc", Source: &job.Source{Input: "path:vertices=3"}, KeepResult: true}),
	}
}

func (m *fakeMaster) ConfirmJob(context.Context, *control.ConfirmJobRequest) (*control.Job, error) {
	m.heard.Store(true)
	return m.state(), nil
}

func (m *fakeMaster) SubmitJob(
	ctx context.Context, _ *control.SubmitJobRequest,
) (*control.Job, error) {
	m.called <- "submit"
	if m.submit != nil {
		select {
		case <-m.submit:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return m.job(control.JobState_JOB_STATE_QUEUED, ""), nil
}

// state returns the current state of the job.
func (m *fakeMaster) state() *control.Job {
	select {
	case <-m.stopped:
		return m.job(control.JobState_JOB_STATE_CANCELLED, "interrupted at the client")
	default:
	}
	select {
	case <-m.finish:
		return m.job(control.JobState_JOB_STATE_DONE, "")
	default:
		return m.job(control.JobState_JOB_STATE_RUNNING, "")
	}
}

func (m *fakeMaster) WatchJob(
	ctx context.Context, _ *control.WatchJobRequest, s *connect.ServerStream[control.JobEvent],
) error {
	m.called <- "watch"
	if m.unwatched {
		return connect.NewError(connect.CodeUnavailable, errors.New("busy"))
	}
	if err := s.Send(&control.JobEvent{Sequence: 1, Body: &control.JobEvent_Job{Job: m.job(control.JobState_JOB_STATE_RUNNING, "")}}); err != nil {
		return err
	}
	select {
	case <-m.stopped:
	case <-m.finish:
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.Send(&control.JobEvent{Sequence: 2, Body: &control.JobEvent_Job{Job: m.state()}})
}

func (m *fakeMaster) GetJob(context.Context, *control.GetJobRequest) (*control.Job, error) {
	return m.state(), nil
}

func (m *fakeMaster) CancelJob(
	ctx context.Context, _ *control.CancelJobRequest,
) (*control.Job, error) {
	m.called <- "cancel"
	if m.cancel != nil {
		select {
		case <-m.cancel:
		case <-ctx.Done():
		}
		return nil, connect.NewError(connect.CodeInternal, errors.New("the disk\x1b[31m is full"))
	}
	m.once.Do(func() { close(m.stopped) })
	return m.state(), nil
}

func (m *fakeMaster) GetResult(
	ctx context.Context, r *control.GetResultRequest, s *connect.ServerStream[control.ResultChunk],
) error {
	if r.Offset > 0 {
		return connect.NewError(connect.CodeInternal,
			errors.New("a result that never broke is asked for in the middle"))
	}
	if err := s.Send(&control.ResultChunk{Data: []byte("0 1\n")}); err != nil {
		return err
	}
	m.called <- "result"
	if m.result != nil {
		select {
		case <-m.result:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.Send(&control.ResultChunk{Data: []byte("1 1\n2 1\n")})
}
