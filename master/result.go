package master

import (
	"bufio"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/resultlines"
	"github.com/superstep-go/superstep/internal/store"
)

// GetResult streams the result of a job.
func (s *server) GetResult(
	ctx context.Context, r *control.GetResultRequest,
	stream *connect.ServerStream[control.ResultChunk],
) error {
	if err := s.allowedJob(ctx, r.Id, "read the result of"); err != nil {
		return err
	}
	return s.readResult(ctx, r.Id, r.Offset, r.Numbered,
		func(data []byte) error { return stream.Send(&control.ResultChunk{Data: data}) })
}

// Result passes a job's result to each, starting at byte offset.
func (s *server) Result(
	ctx context.Context, id string, offset uint64, each func(data []byte) error,
) error {
	if err := s.allowedJob(ctx, id, "read the result of"); err != nil {
		return err
	}
	return s.readResult(ctx, id, offset, false, each)
}

// readResult is Result without the check of the caller. With numbered it keeps the numbers at the
// ends of lines, if the job has them.
func (s *server) readResult(
	ctx context.Context, id string, offset uint64, numbered bool, each func(data []byte) error,
) error {
	defer s.read(id)() // from before the job is described
	s.mu.Lock()
	known, err := s.cluster.job(id)
	if err != nil {
		s.mu.Unlock()
		return err
	}
	j := s.describe(known)
	s.mu.Unlock()
	switch spec := known.spec; {
	case numbered && !spec.Numbered:
		return absent("the result of job %s has no numbers of vertices", id)
	case j.State != control.JobState_JOB_STATE_DONE:
		return unready("job %s is %s: it has no result", id, j.State.Word())
	case spec.Graph500 != nil:
		return absent("job %s has a report instead of values: superstep watch %s prints it", id, id)
	case !spec.KeepResult:
		return absent("job %s was not asked to keep its result", id)
	}
	f, err := s.openResult(ctx, j)
	if err != nil {
		return err
	}
	var refused error // the error of each
	to := &rest{skip: offset, each: func(data []byte) error {
		refused = each(data)
		return refused
	}}
	if known.spec.Numbered && !numbered {
		lines := &unnumbered{to: to} // the offset is one of these
		to = &rest{each: func(data []byte) error {
			_, err := lines.Write(data)
			return err
		}}
	}
	err = f.read(ctx, j.ResultParts, orderOf(j.Spec()), to)
	if refused != nil {
		return refused
	}
	if errors.Is(err, store.ErrDamaged) { // the result may have been removed meanwhile
		if _, gone := s.openResult(ctx, j); gone != nil {
			return gone
		}
	}
	return s.damaged(ctx, id, err)
}

// unnumbered writes lines without the numbers at their ends.
type unnumbered struct {
	to     io.Writer
	cutter resultlines.Cutter
}

func (u *unnumbered) Write(data []byte) (int, error) {
	var out []byte
	n, err := u.cutter.Each(data, func(line []byte) error {
		line, _, err := resultlines.CutNumber(line)
		if err != nil {
			return malformed{err}
		}
		out = append(append(out, line...), '\n')
		return nil
	})
	if err == nil && len(out) > 0 {
		_, err = u.to.Write(out)
	}
	return n, err
}

// fits fails unless a job has a raw result for this load of a graph, with values of this type.
func (s *server) fits(id, graph string, load loadID, values string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.cluster.job(id)
	switch {
	case err != nil:
		return err
	case j.state != control.JobState_JOB_STATE_DONE:
		return fmt.Errorf("it is %s", j.state.Word())
	case j.spec.Values == "" || !j.spec.KeepResult:
		return fmt.Errorf("it is not a raw one, as clients in Go request")
	case j.spec.Graph != graph || j.load != load:
		return fmt.Errorf("it is of graph %.150s, or of another load of it", j.spec.Graph)
	case j.spec.Values != values:
		return fmt.Errorf("its values are of type %.200s, and the column's of %.200s",
			j.spec.Values, values)
	}
	return nil
}

// damaged converts an error of reading a result for clients. They retry CodeUnavailable.
func (s *server) damaged(ctx context.Context, id string, err error) error {
	switch {
	case errors.Is(err, store.ErrDamaged):
		s.log.Error("a stored result is damaged", "job", id, "error", err)
		return failed(connect.CodeDataLoss, "the result of job %s: %w", id, err)
	case err == nil || connect.CodeOf(err) != connect.CodeUnknown:
		return err
	case ctx.Err() != nil || errors.As(err, new(malformed)):
		return fmt.Errorf("result: %w", err)
	}
	return failed(connect.CodeUnavailable,
		"the result of job %s: %s", id, control.Text(err.Error(), control.MaxText))
}

// sentError converts a read error for the worker. An error of the store becomes CodeUnavailable, so
// that the job restarts. Damage, lines that are too long, and errors with a code stay as they are.
func sentError(err error) error {
	if err == nil || errors.Is(err, store.ErrDamaged) || errors.Is(err, bufio.ErrTooLong) ||
		connect.CodeOf(err) != connect.CodeUnknown {
		return err
	}
	return connect.NewError(connect.CodeUnavailable,
		errors.New(control.Text(err.Error(), control.MaxText)))
}

// maxLine bounds a line of a result, with id and value. Workers write no longer lines.
const maxLine = 1 << 20

// malformed is the error of a part with an invalid line, which may be due to damage.
type malformed struct{ error }

// lines reads the lines of a part of a result.
type lines struct {
	in    *bufio.Reader
	part  int
	whole []byte // the line as the worker wrote it
	line  []byte // the rest of whole that clients get
	id    uint64 // id at the beginning of whole
}

// next reads a line. It returns io.EOF after the last.
func (l *lines) next() error {
	l.whole = l.whole[:0]
	for {
		piece, err := l.in.ReadSlice('\n')
		l.whole = append(l.whole, piece...)
		switch {
		case len(l.whole) > maxLine:
			return malformed{fmt.Errorf("part %d has a line of more than %d bytes", l.part,
				maxLine)}
		case err == nil:
			return l.number()
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(l.whole) > 0:
			return malformed{fmt.Errorf("part %d ends within a line", l.part)}
		default:
			return err
		}
	}
}

// number parses the id. In a line "id<TAB>name<TAB>value" it removes the id from what clients get.
func (l *lines) number() error {
	l.id, l.line = 0, l.whole
	i := 0
	for ; i < len(l.whole) && '0' <= l.whole[i] && l.whole[i] <= '9'; i++ {
		l.id = 10*l.id + uint64(l.whole[i]-'0')
	}
	switch {
	case i > 0 && l.whole[i] == ' ':
	case i > 0 && l.whole[i] == '\t':
		l.line = l.whole[i+1:]
	default:
		return malformed{fmt.Errorf("part %d: found the line %.80q, expected an id and a value",
			l.part, l.whole)}
	}
	return nil
}

// hasNames reports whether the lines of a part begin with an id and a tab. Such ids are only for
// the master.
func hasNames(in *bufio.Reader) bool {
	const digits = 20
	head, _ := in.Peek(digits + 1)
	i := 0
	for i < len(head) && '0' <= head[i] && head[i] <= '9' {
		i++
	}
	return i > 0 && i < len(head) && head[i] == '\t'
}

// copyLines writes the lines of the parts, one part after the other, without ids that are only for
// the master.
func copyLines(w io.Writer, parts []io.Reader) error {
	for i, p := range parts {
		l := &lines{in: bufio.NewReaderSize(p, 64<<10), part: i}
		if !hasNames(l.in) {
			if _, err := io.Copy(w, l.in); err != nil {
				return err
			}
			continue
		}
		for {
			err := l.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil {
				_, err = w.Write(l.line)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// front is a heap of parts, ordered by the ids of their next lines.
type front []*lines

func (f front) Len() int           { return len(f) }
func (f front) Less(i, j int) bool { return f[i].id < f[j].id }
func (f front) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *front) Push(x any)        { *f = append(*f, x.(*lines)) }
func (f *front) Pop() any {
	last := (*f)[len(*f)-1]
	*f = (*f)[:len(*f)-1]
	return last
}

// mergeLines merges parts whose lines are sorted by id.
func mergeLines(w io.Writer, parts []io.Reader) error {
	var f front
	for i, p := range parts {
		l := &lines{in: bufio.NewReaderSize(p, 64<<10), part: i}
		switch err := l.next(); {
		case err == nil:
			f = append(f, l)
		case !errors.Is(err, io.EOF):
			return err
		}
	}
	heap.Init(&f)
	for len(f) > 0 {
		l := f[0]
		if _, err := w.Write(l.line); err != nil {
			return err
		}
		was := l.id
		switch err := l.next(); {
		case errors.Is(err, io.EOF):
			heap.Pop(&f)
		case err != nil:
			return err
		case l.id < was:
			return malformed{fmt.Errorf("part %d is not sorted: %d follows %d", l.part, l.id, was)}
		default:
			heap.Fix(&f, 0)
		}
	}
	return nil
}
