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

// sentColumns keeps what clients have sent of vertex columns, each in a file beside the results,
// until the jobs that name it have ended:
//
//	DATA/results/columns/ID
//
// What no job names goes when it is old. Masters that share their state have what was sent as a
// whole in their place, too. What is kept is read by the jobs that name it and have not ended.
type sentColumns struct {
	*results
	now func() time.Time

	tableMu sync.Mutex
	all     map[string]*stored // by id
}

// stored is a column that a client sends.
type stored struct {
	id      string
	bytes   int64
	at      time.Time // when the client sent something
	readers int       // jobs that name it, and others: it stays as long

	file    sync.Mutex // of who writes it
	partial bool       // something is still to come
	gone    bool
}

// Bounds of what is kept of columns.
const (
	columnsName    = "columns"
	keepColumn     = 10 * time.Minute // when no job names it
	maxColumnBytes = keepResultBytes  // of all together
	maxColumns     = 1000
)

// columnID is what clients call what they send: rand.Text.
var columnID = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// newSentColumns keeps files in a directory beside results, from which those of an earlier master
// are removed but for those that its jobs name, so often.
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
		err = cmp.Or(err, r.root.RemoveAll(columnsPrefix+e.Name())) // what is here may be a part
	}
	if err != nil {
		return nil, fmt.Errorf("columns: %w", err)
	}
	return c, nil
}

// SendColumn takes a piece of what a vertex column of a job that will be submitted begins with.
func (s *server) SendColumn(ctx context.Context, r *control.SendColumnRequest) (*control.SendColumnResponse, error) {
	return &control.SendColumnResponse{}, s.columns.take(ctx, r)
}

// take writes a piece into its file, and stores the whole where masters share their state. One that
// came before, whose sender did not hear the answer, changes nothing.
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

// write writes data at an offset in the file of a column, which is on the disk after the last. The
// file is locked.
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
		_ = c.root.Remove(columnsPrefix + to.id) // on a disk that is full it would be empty
	}
	return err
}

// readAll keeps all that are whole from being removed until done is called.
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

// total is how many bytes are kept. The lock is held.
func (c *sentColumns) total() (n int64) {
	for _, s := range c.all {
		n += s.bytes
	}
	return n
}

// find returns what was sent under a name, or makes it; there must be room for so many bytes more.
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

// expire removes what no job names and nobody has added to for a while. The lock is held.
func (c *sentColumns) expire() {
	for _, s := range c.all {
		if s.readers == 0 && c.now().Sub(s.at) > keepColumn {
			c.remove(s)
		}
	}
}

// remove removes a column that nobody writes or reads any more. The lock is held.
func (c *sentColumns) remove(s *stored) {
	delete(c.all, s.id)
	c.atDisk.Go(func() {
		s.file.Lock()
		defer s.file.Unlock()
		s.gone = true
		_ = c.root.Remove(columnsPrefix + s.id)
		// Else the next master removes it.
		_ = c.unshare(context.Background(), columnsPrefix+s.id)
	})
}

// hold keeps what a job names until it is released, or is an error if that is not there as a whole.
func (c *sentColumns) hold(spec *jobspec.Spec) error {
	c.tableMu.Lock()
	defer c.tableMu.Unlock()
	for name, data := range spec.ColumnData {
		s := c.all[data.ID]
		if s == nil {
			return unready("column %.150s: the master does not have what was sent of it, or no longer", name)
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

// release lets go of what a job named that has ended, or is none.
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

// open opens a column, which gives store.ErrDamaged in place of its end if it is not as its client
// sent it.
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

// learn finds what a job names and was sent to a master before this one.
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
		for id, o := range f.objects { // if there is none hold refuses it
			c.enter(id, o)
		}
	}
	return nil
}

// learnAll finds all that was sent to masters before. What no job names goes when it is old.
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

// enter counts a column that is in the place.
func (c *sentColumns) enter(id string, o store.Object) {
	c.tableMu.Lock()
	defer c.tableMu.Unlock()
	if c.all[id] == nil {
		c.all[id] = &stored{id: id, bytes: o.Size, at: c.now()}
	}
}

// copy passes on what was sent.
func (c *sentColumns) copy(ctx context.Context, data *jobspec.ColumnData, each func(data []byte) error) error {
	from, err := c.open(ctx, data)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(&rest{each: each}, from, make([]byte, control.ChunkSize))
	return err
}

// lines passes on what was sent in pieces of whole lines, of at most a chunk and a line.
func (c *sentColumns) lines(ctx context.Context, data *jobspec.ColumnData, each func(text []byte) error) error {
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

// ReadColumn streams what a column of a job begins with: the result of an earlier job, or what its
// client has sent.
func (s *server) ReadColumn(ctx context.Context, q *control.ReadColumnRequest, stream *connect.ServerStream[control.ResultChunk]) error {
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

// sentError is an error of reading what was sent, as workers get it: the job begins again where the
// place does not answer.
func sentError(err error) error {
	if err == nil || errors.Is(err, store.ErrDamaged) || errors.Is(err, bufio.ErrTooLong) ||
		connect.CodeOf(err) != connect.CodeUnknown {
		return err
	}
	return connect.NewError(connect.CodeUnavailable,
		errors.New(control.Text(err.Error(), control.MaxText)))
}
