package master

import (
	"context"
	"errors"
	"fmt"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/store"
)

// GetResult streams what a job computed.
func (s *Server) GetResult(ctx context.Context, r *connect.Request[control.GetResultRequest], stream *connect.ServerStream[control.ResultChunk]) error {
	return s.Result(ctx, r.Msg.Id, r.Msg.Offset, func(data []byte) error { return stream.Send(&control.ResultChunk{Data: data}) })
}

// Result passes on what a job computed, from a byte on.
func (s *Server) Result(ctx context.Context, id string, offset uint64, each func(data []byte) error) error {
	if err := s.allowedJob(ctx, id, "read the result of"); err != nil {
		return err
	}
	j, err := s.finished(id)
	switch spec := j.Spec(); {
	case err != nil:
		return err
	case j.State != control.JobState_JOB_STATE_DONE:
		return connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("job %s is %s: it has no result", id, j.State.Word()))
	case spec.Graph500 != nil:
		return connect.NewError(connect.CodeNotFound, fmt.Errorf("job %s has a report rather than values of vertices: superstep watch %s prints it", id, id))
	case !spec.KeepResult:
		return connect.NewError(connect.CodeNotFound, fmt.Errorf("job %s was not asked to keep its result", id))
	case len(j.ResultParts) == 0:
		return s.damaged(id, errUnsummed)
	}
	done, err := s.openResult(ctx, j)
	if err != nil {
		return err
	}
	defer done()
	return s.damaged(id, s.results.read(id, j.ResultParts, orderOf(j.Spec()), offset, each))
}

// errUnsummed is that nobody knows the checksums of a result.
var errUnsummed = fmt.Errorf("an earlier version has stored it without checksums: %w", store.ErrDamaged)

// finished describes a job, which may be one of which only the result is kept.
func (s *Server) finished(id string) (*control.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.find(id)
	if err == nil {
		return s.describe(j), nil
	}
	if about := s.results.retention.find(id); about != nil {
		return about, nil
	}
	return nil, err
}

// damaged is an error of reading a result, as clients get it.
func (s *Server) damaged(id string, err error) error {
	switch {
	case errors.Is(err, store.ErrDamaged):
		s.log.Error("a stored result is damaged", "job", id, "error", err)
		return connect.NewError(connect.CodeDataLoss, fmt.Errorf("the result of job %s: %w", id, err))
	case err != nil && connect.CodeOf(err) == connect.CodeUnknown:
		return fmt.Errorf("result: %w", err)
	}
	return err
}
