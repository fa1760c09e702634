package master

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// sentColumns keeps what clients have sent of vertex columns, each in a file beside the results, until the jobs that name it have ended:
//
//	DATA/results/columns/ID
//
// What no job names goes when it is old. Masters that share their state have what was sent as a whole in their place, too.
type sentColumns struct {
	root   *os.Root
	shared *sharedFiles // or nil
	turns  turns        // of those who fetch a column from there
	now    func() time.Time
	atDisk func(func()) // starts what the end of the master waits for

	mu    sync.Mutex
	all   map[string]*sentColumn
	bytes int64 // of all
}

// sentColumn is what a client has sent of a column.
type sentColumn struct {
	name string // of its file

	mu    sync.Mutex // of who writes the file
	bytes int64      // in it
	gone  bool

	// Under the lock of sentColumns, which waits for no disk.
	whole   bool
	touched time.Time
	jobs    int // that name it and have not ended
}

// Bounds of what is kept of columns.
const (
	columnsName    = "columns"
	keepColumn     = 10 * time.Minute // when no job names it
	maxColumnBytes = KeepResultBytes  // of all together
	maxColumns     = 1000
)

// columnID is what clients call what they send: rand.Text.
var columnID = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// newSentColumns keeps files in a directory beside results, from which those of an earlier master are removed but for those that its jobs name,
// so often.
func newSentColumns(r *results, now func() time.Time, named map[string]int) (*sentColumns, error) {
	c := &sentColumns{root: r.root, shared: r.shared, now: now, atDisk: r.atDisk.Go, all: map[string]*sentColumn{}}
	if c.shared != nil { // what is here may be a part
		if err := r.root.RemoveAll(columnsName); err != nil {
			return nil, fmt.Errorf("columns: %w", err)
		}
		for id, n := range named {
			c.all[id] = &sentColumn{name: path.Join(columnsName, id), whole: true, touched: now(), jobs: n}
		}
		return c, nil
	}
	entries, err := fs.ReadDir(r.root.FS(), columnsName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("columns: %w", err)
	}
	for _, e := range entries {
		name := path.Join(columnsName, e.Name())
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && named[e.Name()] > 0 {
			c.all[e.Name()] = &sentColumn{name: name, bytes: info.Size(), whole: true, touched: now(), jobs: named[e.Name()]}
			c.bytes += info.Size()
		} else if err := r.root.RemoveAll(name); err != nil {
			return nil, fmt.Errorf("columns: %w", err)
		}
	}
	return c, nil
}

// SendColumn takes a piece of what a vertex column of a job that will be submitted begins with.
func (s *Server) SendColumn(ctx context.Context, r *connect.Request[control.SendColumnRequest]) (*connect.Response[control.SendColumnResponse], error) {
	return answered(&control.SendColumnResponse{}, s.columns.take(ctx, r.Msg))
}

// take writes a piece into its file, and stores the whole where masters share their state. One that came before, whose sender did not hear the answer,
// changes nothing.
func (c *sentColumns) take(ctx context.Context, r *control.SendColumnRequest) error {
	if !columnID.MatchString(r.Id) {
		return invalid("column data is called %.40q, expected 26 letters and digits", r.Id)
	}
	to, err := c.find(r.Id, r.Offset == 0, int64(len(r.Data)))
	if err != nil {
		return err
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	end := r.Offset + uint64(len(r.Data))
	switch {
	case to.gone:
		return c.lost(r.Id)
	case r.Offset > uint64(to.bytes):
		return invalid("column data %s: found bytes from %d on, and it has %d", r.Id, r.Offset, to.bytes)
	case end > uint64(to.bytes) || r.Offset == 0:
		if err := to.write(c.root, r.Offset, r.Data, r.Last); err != nil {
			return connect.NewError(connect.CodeInternal, fmt.Errorf("column %s: %w", r.Id, err))
		}
	}
	if r.Last && c.shared != nil {
		if err := c.shared.put(ctx, c.root, to.name, sharedColumns+r.Id); err != nil {
			return connect.NewError(connect.CodeUnavailable, fmt.Errorf("column %s: %w", r.Id, err))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += max(int64(end), to.bytes) - to.bytes
	to.bytes = max(int64(end), to.bytes)
	to.whole = to.whole || r.Last
	return nil
}

func (c *sentColumns) lost(id string) error {
	return connect.NewError(connect.CodeNotFound, fmt.Errorf("the master no longer has column data %s: send it again", id))
}

// write writes data at an offset in the file, which is on the disk after the last. The column's
// lock is held.
func (s *sentColumn) write(root *os.Root, offset uint64, data []byte, last bool) error {
	if offset == 0 {
		if err := root.MkdirAll(columnsName, 0o700); err != nil {
			return err
		}
	}
	f, err := root.OpenFile(s.name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(data, int64(offset)); err == nil && last {
		err = errors.Join(f.Sync(), store.SyncDir(root, columnsName))
	}
	return errors.Join(err, f.Close())
}

// find returns what was sent under a name, or makes it; there must be room for so many bytes more.
func (c *sentColumns) find(id string, create bool, more int64) (*sentColumn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	s := c.all[id]
	switch {
	case s == nil && !create:
		return nil, c.lost(id)
	case c.bytes+more > maxColumnBytes:
		return nil, connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("the master keeps at most %d bytes of columns for jobs that have not ended", int64(maxColumnBytes)))
	case s == nil && len(c.all) >= maxColumns:
		return nil, connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("the master keeps at most %d columns for jobs that have not ended", maxColumns))
	case s == nil:
		s = &sentColumn{name: path.Join(columnsName, id)}
		c.all[id] = s
	}
	s.touched = c.now()
	return s, nil
}

// expire removes what no job names and nobody has added to for a while. The lock is held.
func (c *sentColumns) expire() {
	for id, s := range c.all {
		if s.jobs == 0 && c.now().Sub(s.touched) > keepColumn {
			c.remove(id, s)
		}
	}
}

// remove removes a column that nobody writes or reads any more. The lock is held.
func (c *sentColumns) remove(id string, s *sentColumn) {
	delete(c.all, id)
	c.atDisk(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.gone = true
		_ = c.root.Remove(s.name)
		// Else the next master removes it.
		_ = c.shared.remove(context.Background(), sharedColumns+id)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bytes -= s.bytes
	})
}

// hold keeps what a job names until it is released, or is an error if that is not there as a whole.
func (c *sentColumns) hold(spec *jobspec.Spec) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, data := range spec.ColumnData {
		s := c.all[data.ID]
		if s == nil {
			return connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("column %.150s: the master does not have what was sent of it, or no longer", name))
		}
		if data.Sum == nil {
			return invalid("column %.150s: it has no checksum", name)
		}
		if !s.whole {
			return connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("column %.150s: not all of it was sent", name))
		}
	}
	for _, data := range spec.ColumnData {
		c.all[data.ID].jobs++
	}
	return nil
}

// holdAll keeps all that were sent as a whole until release is called, and returns their ids.
func (c *sentColumns) holdAll() (ids []string, release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var held []*sentColumn
	for id, s := range c.all {
		if s.whole {
			s.jobs++
			ids, held = append(ids, id), append(held, s)
		}
	}
	slices.Sort(ids)
	return ids, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, s := range held {
			s.jobs-- // what no job names goes when it is old
		}
	}
}

// release lets go of what a job named that has ended, or is none.
func (c *sentColumns) release(spec *jobspec.Spec, ended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, data := range spec.ColumnData {
		if s := c.all[data.ID]; s != nil {
			if s.jobs--; s.jobs == 0 && ended {
				c.remove(data.ID, s)
			}
		}
	}
}

// copy writes what was sent to w.
func (c *sentColumns) copy(ctx context.Context, w io.Writer, data *jobspec.ColumnData) error {
	from, err := c.open(ctx, data)
	if err != nil {
		return err
	}
	defer from.Close()
	_, err = io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{from}, make([]byte, control.ChunkSize))
	return err
}

// lines passes on the lines of what was sent, without their ends, as batches of at most a chunk unless one line is longer. They hold until
// each returns.
func (c *sentColumns) lines(ctx context.Context, data *jobspec.ColumnData, each func(lines [][]byte) error) error {
	from, err := c.open(ctx, data)
	if err != nil {
		return err
	}
	defer from.Close()
	scanner := bufio.NewScanner(from)
	scanner.Buffer(make([]byte, 64<<10), control.MaxMessage/2)
	var batch [][]byte
	var text []byte
	for more := true; more; {
		batch, text = batch[:0], text[:0]
		for len(text) < control.ChunkSize {
			if more = scanner.Scan(); !more {
				break
			}
			from := len(text)
			text = append(text, scanner.Bytes()...)
			batch = append(batch, text[from:]) // where text moves, what it was stays
		}
		if err := scanner.Err(); err != nil {
			return err
		}
		if len(batch) > 0 {
			if err := each(batch); err != nil {
				return err
			}
		}
	}
	return nil
}
