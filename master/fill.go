package master

import (
	"context"
	"fmt"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
)

// ReadColumn streams what a column of a job begins with: the result of an earlier job, or what its
// client has sent.
func (s *server) ReadColumn(ctx context.Context, r *connect.Request[control.ReadColumnRequest], stream *connect.ServerStream[control.ResultChunk]) error {
	q := r.Msg
	send := func(data []byte) error { return stream.Send(&control.ResultChunk{Data: data}) }
	s.mu.Lock()
	j := s.cluster.jobs[q.Job]
	if j == nil || !j.active() || j.epoch != q.Epoch {
		s.mu.Unlock()
		return unready("attempt %d of job %.150q does not run", q.Epoch, q.Job)
	}
	spec, load := j.spec, j.load
	s.mu.Unlock()
	from, data := spec.Inputs[q.Column], spec.ColumnData[q.Column]
	switch {
	case from != "":
		if err := s.sendResult(ctx, from, spec.Graph, load, q.Values, send); err != nil {
			return fmt.Errorf("the result of job %.150s: %w", from, err)
		}
		return nil
	case data == nil:
		return absent("job %s fills no column %.150q", q.Job, q.Column)
	case data.File != "":
		return s.columns.lines(ctx, data, send)
	case data.Values != q.Values:
		return fmt.Errorf("its values are of type %.200s on the cluster, and %.200s at the client",
			q.Values, data.Values)
	case data.Load != load.String():
		return fmt.Errorf("graph %s was loaded since the client listed its vertices", spec.Graph)
	}
	return s.columns.copy(ctx, data, send)
}

// sendResult passes on the result of a job. It refuses one that is not of the vertices of a graph,
// as that is loaded, or of another type.
func (s *server) sendResult(ctx context.Context, id, graph string, load loadID, values string, send func(data []byte) error) error {
	s.mu.Lock()
	j, err := s.find(id)
	switch {
	case err != nil:
	case j.state != control.JobState_JOB_STATE_DONE:
		err = fmt.Errorf("it is %s", j.state.Word())
	case j.spec.Values == "" || !j.spec.KeepResult:
		err = fmt.Errorf("it is no raw one, as a client in Go asks for")
	case j.spec.Graph != graph || j.load != load:
		err = fmt.Errorf("it is of graph %.150s, or of another load of it", j.spec.Graph)
	case j.spec.Values != values:
		err = fmt.Errorf("its values are of type %.200s, and the column's of %.200s",
			j.spec.Values, values)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	about, err := s.finished(id)
	if err != nil {
		return err
	}
	f, done, err := s.results.open(ctx, id)
	if err != nil {
		return err
	}
	if f == nil {
		return fmt.Errorf("the master no longer keeps it")
	}
	defer done()
	return f.read(ctx, about.ResultParts, asTheyAre, 0, send)
}
