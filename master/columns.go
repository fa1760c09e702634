package master

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/store"
)

// sentColumns stores the column data that clients send, each in a file beside the results, until
// the jobs that use it have ended:
//
//	DATA/results/columns/ID
//
// Data that no job uses expires. Masters that share their state also store complete data in the
// shared place. Only running and waiting jobs that name a column may read it.
type sentColumns struct {
	*results
	now func() time.Time

	tableMu sync.Mutex
	all     map[string]*stored // by id
}

// Bounds of stored column data.
const (
	columnsName    = "columns"
	keepColumn     = 10 * time.Minute // lifetime if no job names it
	maxColumnBytes = keepResultBytes  // bytes of all columns
	maxColumns     = 1000
)

// columnID matches the ids that clients choose: rand.Text.
var columnID = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// newSentColumns opens the directory of columns. It removes files of an earlier master unless a job
// uses them; named is the number of jobs by column id. If masters share their state it removes all:
// the shared place has the complete data.
func newSentColumns(r *results, now func() time.Time, named map[string]int) (*sentColumns, error) {
	c := &sentColumns{results: r, now: now, all: map[string]*stored{}}
	for id, n := range named {
		c.all[id] = &stored{id: id, at: now(), readers: n}
	}
	entries, err := fs.ReadDir(r.root.FS(), columnsName)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for _, e := range entries {
		info, failed := e.Info()
		if k := c.all[e.Name()]; k != nil && r.shared == nil && failed == nil {
			k.bytes = info.Size()
			continue
		}
		err = cmp.Or(err, r.root.RemoveAll(columnsPrefix+e.Name())) // the file may be incomplete
	}
	if err != nil {
		return nil, fmt.Errorf("columns: %w", err)
	}
	return c, nil
}

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
	to, err := c.find(r.Id, r.Offset == 0, int64(len(r.Data)))
	if err != nil {
		return err
	}
	to.file.Lock()
	defer to.file.Unlock()
	end := r.Offset + uint64(len(r.Data))
	switch {
	case to.gone:
		return c.lost(r.Id)
	case r.Offset > uint64(to.bytes):
		return invalid("column data %s: found bytes from %d on, and it has %d", r.Id, r.Offset,
			to.bytes)
	case end > uint64(to.bytes) || r.Offset == 0:
		if err := c.write(to, r.Offset, r.Data, r.Last); err != nil {
			return failed(connect.CodeInternal, "column %s: %w", r.Id, err)
		}
	}
	if r.Last && c.shared != nil {
		if err := c.publish(ctx, columnsPrefix+r.Id, columnsPrefix+r.Id); err != nil {
			return failed(connect.CodeUnavailable, "column %s: %w", r.Id, err)
		}
	}
	c.tableMu.Lock()
	defer c.tableMu.Unlock()
	to.bytes = max(int64(end), to.bytes)
	to.partial = to.partial && !r.Last
	return nil
}

func (c *sentColumns) lost(id string) error {
	return absent("the master no longer has column data %s: send it again", id)
}

// write writes data at an offset of a column's file, and syncs the file after the last piece. The
// caller has locked the file.
func (c *sentColumns) write(to *stored, offset uint64, data []byte, last bool) error {
	if offset == 0 {
		if err := c.root.MkdirAll(columnsName, 0o700); err != nil {
			return err
		}
	}
	f, err := c.root.OpenFile(columnsPrefix+to.id, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(data, int64(offset)); err == nil && last {
		err = errors.Join(f.Sync(), store.SyncDir(c.root, columnsName))
	}
	if err = errors.Join(err, f.Close()); err != nil && to.bytes == 0 {
		_ = c.root.Remove(columnsPrefix + to.id) // avoids an empty file on a full disk
	}
	return err
}

// readAll returns the ids of all complete columns. They are not removed until done is called.
func (c *sentColumns) readAll() (ids []string, done func()) {
	c.tableMu.Lock()
	defer c.tableMu.Unlock()
	var all []*stored
	for _, id := range slices.Sorted(maps.Keys(c.all)) {
		if s := c.all[id]; !s.partial {
			s.readers++
			ids, all = append(ids, id), append(all, s)
		}
	}
	return ids, func() {
		c.tableMu.Lock()
		defer c.tableMu.Unlock()
		for _, s := range all {
			s.readers--
		}
	}
}

// total returns the size of all columns in bytes. The caller holds the lock.
func (c *sentColumns) total() (n int64) {
	for _, s := range c.all {
		n += s.bytes
	}
	return n
}

// find returns the entry of a column, or creates it. It fails if there is no room for more bytes.
func (c *sentColumns) find(id string, create bool, more int64) (*stored, error) {
	c.tableMu.Lock()
	defer c.tableMu.Unlock()
	c.expire()
	s := c.all[id]
	switch {
	case s == nil && !create:
		return nil, c.lost(id)
	case c.total()+more > maxColumnBytes:
		return nil, failed(connect.CodeResourceExhausted,
			"the master keeps at most %d bytes of columns for jobs that have not ended",
			int64(maxColumnBytes))
	case s == nil && len(c.all) >= maxColumns:
		return nil, failed(connect.CodeResourceExhausted,
			"the master keeps at most %d columns for jobs that have not ended", maxColumns)
	case s == nil:
		s = &stored{id: id, partial: true}
		c.all[id] = s
	}
	s.at = c.now()
	return s, nil
}

// expire removes columns that no job names and that have not grown recently. The caller holds the
// lock.
func (c *sentColumns) expire() {
	for _, s := range c.all {
		if s.readers == 0 && c.now().Sub(s.at) > keepColumn {
			c.remove(s)
		}
	}
}

// remove removes a column that nobody writes or reads. The caller holds the lock.
func (c *sentColumns) remove(s *stored) {
	delete(c.all, s.id)
	c.atDisk.Go(func() {
		s.file.Lock()
		defer s.file.Unlock()
		s.gone = true
		_ = c.root.Remove(columnsPrefix + s.id)
		// On failure the next master removes it.
		_ = c.unshare(context.Background(), columnsPrefix+s.id)
	})
}

// hold reserves the columns that a job names until release. It fails if one is incomplete or
// missing.
func (c *sentColumns) hold(spec *jobspec.Spec) error {
	c.tableMu.Lock()
	defer c.tableMu.Unlock()
	for name, data := range spec.ColumnData {
		s := c.all[data.ID]
		if s == nil {
			return unready(
				"column %.150s: the master does not have what was sent of it, or no longer", name)
		}
		if data.Sum == nil {
			return invalid("column %.150s: it has no checksum", name)
		}
		if s.partial {
			return unready("column %.150s: not all of it was sent", name)
		}
	}
	for _, data := range spec.ColumnData {
		c.all[data.ID].readers++
	}
	return nil
}

// release undoes hold. If the job has ended, release also removes the columns that nobody else
// needs. Otherwise they stay until they expire: the job was not accepted, or its end is not on
// disk.
func (c *sentColumns) release(spec *jobspec.Spec, ended bool) {
	c.tableMu.Lock()
	defer c.tableMu.Unlock()
	for _, data := range spec.ColumnData {
		if s := c.all[data.ID]; s != nil {
			if s.readers--; s.readers == 0 && ended {
				c.remove(s)
			}
		}
	}
}

// open opens a column. The reader returns store.ErrDamaged instead of io.EOF if the checksum does
// not match.
func (c *sentColumns) open(ctx context.Context, data *jobspec.ColumnData) (io.Reader, error) {
	f, err := c.local.column(ctx, data.ID)
	if err == nil && len(f.objects) == 0 && c.shared != nil {
		f, err = c.shared.column(ctx, data.ID)
	}
	if err != nil {
		return nil, err
	}
	return f.open(ctx, data.ID, *data.Sum, mostPiece)
}

// learn registers columns of a job that an earlier master received.
func (c *sentColumns) learn(ctx context.Context, spec *jobspec.Spec) error {
	for name, data := range spec.ColumnData {
		c.tableMu.Lock()
		known := c.all[data.ID] != nil
		c.tableMu.Unlock()
		if known || c.shared == nil || !columnID.MatchString(data.ID) {
			continue
		}
		f, err := c.shared.column(ctx, data.ID)
		if err != nil {
			return failed(connect.CodeUnavailable, "column %.150s: %w", name, err)
		}
		for id, o := range f.objects { // if there is none, hold fails
			c.enter(id, o)
		}
	}
	return nil
}

// learnAll registers all columns that earlier masters received. Unused ones expire.
func (c *sentColumns) learnAll(ctx context.Context) error {
	for o, err := range c.shared.List(ctx, columnsPrefix) {
		if err != nil {
			return err
		}
		if id := path.Base(o.Name); columnID.MatchString(id) {
			c.enter(id, o)
		}
	}
	return nil
}

// enter registers a column that is in the shared place.
func (c *sentColumns) enter(id string, o store.Object) {
	c.tableMu.Lock()
	defer c.tableMu.Unlock()
	if c.all[id] == nil {
		c.all[id] = &stored{id: id, bytes: o.Size, at: c.now()}
	}
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
// that the client sent.
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
	switch {
	case from != "":
		if err := s.fits(from, spec.Graph, load, q.Values); err != nil {
			return fmt.Errorf("the result of job %.150s: %w", from, err)
		}
		return s.readResult(ctx, from, 0, send)
	case data == nil:
		return absent("job %s fills no column %.150q", q.Job, q.Column)
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
