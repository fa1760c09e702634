package master

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	layout "github.com/superstep-go/superstep/internal/graph"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/store"
)

// sentColumns stores the column data that clients send, each in a file beside the results:
//
//	DATA/results/columns/ID      all of it
//	DATA/results/columns/ID.new  what was sent so far
//
// Masters that share their state also store complete data in the shared place. A column is removed
// when all jobs that name it have ended, or keepColumn after its last piece if no job names it. Only
// running and waiting jobs that name a column may read it.
type sentColumns struct {
	*results
	now func() time.Time
	// named returns the ids of columns that jobs name, and whether a job may still need the column.
	// It returns nil if no column may be removed now; then they are only counted.
	named func() map[string]bool

	mu     sync.Mutex // held while columns are written, removed, or named by a new job
	bytes  int64      // of all columns
	number int
}

// Bounds of stored column data.
const (
	columnsName    = "columns"
	unfinished     = ".new"
	keepColumn     = 10 * time.Minute // lifetime if no job names it
	maxColumnBytes = keepResultBytes  // bytes of all columns
	maxColumns     = 1000
)

// columnID matches the ids that clients choose: rand.Text.
var columnID = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// SendColumn receives a piece of the initial values of a column, before the job is submitted.
func (s *server) SendColumn(
	ctx context.Context, r *control.SendColumnRequest,
) (*control.SendColumnResponse, error) {
	return &control.SendColumnResponse{}, s.columns.take(ctx, r)
}

// take writes a piece into its file. After the last piece of a column, it publishes the file if
// masters share their state. A repeated piece, whose answer the sender missed, changes nothing.
func (c *sentColumns) take(ctx context.Context, r *control.SendColumnRequest) error {
	if !columnID.MatchString(r.Id) {
		return invalid("column data is called %.40q, expected 26 letters and digits", r.Id)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	name, end, had := columnsPrefix+r.Id, int64(r.Offset)+int64(len(r.Data)), int64(0)
	if info, err := c.root.Stat(name); err == nil && end <= info.Size() {
		return nil
	}
	switch info, err := c.root.Stat(name + unfinished); {
	case err == nil:
		had = info.Size()
	case r.Offset > 0:
		return absent("the master no longer has column data %s: send it again", r.Id)
	default:
		if err := c.sweep(ctx); err != nil { // a later sweep removes more
			c.log.Warn("unneeded columns cannot be removed", "error", err)
		}
		if c.number++; c.number > maxColumns {
			return failed(connect.CodeResourceExhausted,
				"the master keeps at most %d columns for jobs that have not ended", maxColumns)
		}
	}
	switch grows := max(end-had, 0); {
	case r.Offset > uint64(had):
		return invalid("column data %s: found bytes from %d on, and it has %d", r.Id, r.Offset, had)
	case c.bytes+grows > maxColumnBytes:
		return failed(connect.CodeResourceExhausted,
			"the master keeps at most %d bytes of columns for jobs that have not ended",
			int64(maxColumnBytes))
	default:
		c.bytes += grows
	}
	err := c.write(name+unfinished, r)
	if err == nil && r.Last && c.shared != nil {
		c.mu.Unlock()
		err = c.publish(ctx, name+unfinished, name)
		c.mu.Lock()
		if err != nil {
			return failed(connect.CodeUnavailable, "column %s: %w", r.Id, err)
		}
	}
	if err == nil && r.Last {
		err = c.root.Rename(name+unfinished, name)
		if _, whole := c.root.Stat(name); whole == nil { // maybe by a call with the same piece
			err = store.SyncDir(c.root, columnsName)
		}
	}
	if err != nil {
		return failed(connect.CodeInternal, "column %s: %w", r.Id, err)
	}
	return nil
}

// write writes a piece into a file, and syncs the file after the last piece.
func (c *sentColumns) write(name string, r *control.SendColumnRequest) error {
	err := c.root.MkdirAll(columnsName, 0o700)
	if err != nil {
		return err
	}
	f, err := c.root.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(r.Data, int64(r.Offset)); err == nil && r.Last {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil && r.Offset == 0 {
		_ = c.root.Remove(name) // avoids an empty file on a full disk
	}
	return err
}

// sweep removes the columns that no job needs, and counts the others. The caller holds the lock.
func (c *sentColumns) sweep(ctx context.Context) error {
	named := c.named()
	c.bytes, c.number = 0, 0
	for _, p := range []*place{c.local, c.shared} {
		if p == nil || p == c.shared && !c.held() {
			continue
		}
		for o, err := range p.List(ctx, columnsPrefix) {
			if err != nil {
				return err
			}
			id := strings.TrimSuffix(path.Base(o.Name), unfinished)
			needed, known := named[id]
			switch {
			case !columnID.MatchString(id):
			case named == nil, needed,
				!known && (o.Modified.IsZero() || c.now().Sub(o.Modified) <= keepColumn):
				if p == c.local {
					c.bytes, c.number = c.bytes+o.Size, c.number+1
				}
			default:
				if err := p.Delete(ctx, o.Name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// sweepColumns removes columns that no job needs.
func (s *server) sweepColumns() {
	s.columns.mu.Lock()
	defer s.columns.mu.Unlock()
	if err := s.columns.sweep(s.ctx); err != nil && s.ctx.Err() == nil {
		s.log.Warn("unneeded columns cannot be removed", "error", err)
	}
}

// namedColumns is sentColumns.named. If the end of a job is not on disk, the next master needs its
// columns: it is there if the job is over, or if everything is.
func (s *server) namedColumns() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.backingUp {
		return nil
	}
	c, all := &s.commits, map[string]bool{}
	unwritten := c.last != nil || c.failed != nil || len(c.lost) > 0
	for _, j := range s.cluster.order {
		for _, data := range j.spec.Sent() {
			all[data.ID] = all[data.ID] || !j.over && (unwritten || !j.state.Ended())
		}
	}
	return all
}

// find finds a column here or in the shared place. The result has no objects if there is none.
func (c *sentColumns) find(ctx context.Context, id string) (*found, error) {
	f, err := c.local.column(ctx, id)
	if err == nil && len(f.objects) == 0 && c.shared != nil {
		f, err = c.shared.column(ctx, id)
	}
	return f, err
}

// complete fails unless all data of the columns that a job names were sent. The caller holds the
// lock until the job is entered.
func (c *sentColumns) complete(ctx context.Context, spec *jobspec.Spec) error {
	for what, data := range spec.Sent() {
		f := &found{}
		var err error
		if columnID.MatchString(data.ID) {
			f, err = c.find(ctx, data.ID)
		}
		switch {
		case err != nil:
			return failed(connect.CodeUnavailable, "%.150s: %w", what, err)
		case len(f.objects) > 0 && data.Sum == nil:
			return invalid("%.150s: it has no checksum", what)
		case len(f.objects) > 0:
			continue
		}
		if _, err := c.root.Stat(columnsPrefix + data.ID + unfinished); err == nil {
			return unready("%.150s: not all of it was sent", what)
		}
		return unready("%.150s: the master does not have what was sent of it, or no longer", what)
	}
	return nil
}

// open opens a column. The reader returns store.ErrDamaged instead of io.EOF if the checksum does
// not match.
func (c *sentColumns) open(ctx context.Context, data *jobspec.ColumnData) (io.Reader, error) {
	f, err := c.find(ctx, data.ID)
	if err != nil {
		return nil, err
	}
	return f.open(ctx, data.ID, *data.Sum, mostPiece)
}

// copy passes the data of a column to each, in chunks.
func (c *sentColumns) copy(
	ctx context.Context, data *jobspec.ColumnData, each func(data []byte) error,
) error {
	from, err := c.open(ctx, data)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(&rest{each: each}, from, make([]byte, control.ChunkSize))
	return err
}

// lines passes the data of a column to each in pieces of whole lines, of at most a chunk and a
// line.
func (c *sentColumns) lines(
	ctx context.Context, data *jobspec.ColumnData, each func(text []byte) error,
) error {
	from, err := c.open(ctx, data)
	if err != nil {
		return err
	}
	scanner := bufio.NewScanner(from)
	scanner.Buffer(make([]byte, 64<<10), control.MaxMessage/2)
	var text []byte
	for scanner.Scan() {
		text = append(append(text, scanner.Bytes()...), '\n')
		if len(text) >= control.ChunkSize {
			if err := each(text); err != nil {
				return err
			}
			text = text[:0]
		}
	}
	if err := scanner.Err(); err != nil || len(text) == 0 {
		return err
	}
	return each(text)
}

// ReadColumn streams the initial values of a job's column: the result of an earlier job, or data
// that the client sent. A column called set:FILE is a vertex set.
func (s *server) ReadColumn(
	ctx context.Context, q *control.ReadColumnRequest,
	stream *connect.ServerStream[control.ResultChunk],
) error {
	send := func(data []byte) error { return stream.Send(&control.ResultChunk{Data: data}) }
	s.mu.Lock()
	j := s.cluster.jobs[q.Job]
	if j == nil || !j.active() || j.epoch != q.Epoch {
		s.mu.Unlock()
		return unready("attempt %d of job %.150q does not run", q.Epoch, q.Job)
	}
	spec, load := j.spec, j.load
	ours := s.cluster.worksBy(j, control.CallerOf(ctx).Owner())
	s.mu.Unlock()
	if !ours {
		return failed(connect.CodePermissionDenied,
			"no worker of job %s registered with this certificate", q.Job)
	}
	from, data := spec.Inputs[q.Column], spec.ColumnData[q.Column]
	file, isSet := strings.CutPrefix(q.Column, layout.SetPrefix)
	if isSet {
		data = spec.Sets[file]
	}
	switch {
	case from != "":
		if err := s.fits(from, spec.Graph, load, q.Values); err != nil {
			return fmt.Errorf("the result of job %.150s: %w", from, err)
		}
		return s.readResult(ctx, from, 0, false, send)
	case data == nil:
		return absent("job %s fills no column %.150q", q.Job, q.Column)
	case isSet || layout.IsSet(data.File):
		return sentError(s.columns.copy(ctx, data, send))
	case data.File != "":
		return sentError(s.columns.lines(ctx, data, send))
	case data.Values != q.Values:
		return fmt.Errorf("its values are of type %.200s on the cluster, and %.200s at the client",
			q.Values, data.Values)
	case data.Load != load.String():
		return fmt.Errorf("graph %s was loaded since the client listed its vertices", spec.Graph)
	}
	return sentError(s.columns.copy(ctx, data, send))
}
