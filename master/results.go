package master

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/store"
)

// results stores the results of jobs in files, a part for each worker:
//
//	DATA/results/JOB/part-00000
//
// so that a client can fetch them after the workers have left. Calls of workers write the files,
// and separate goroutines remove them. Nothing else in the master waits for the disk. Masters that
// share their state also store them in the shared place:
//
//	PLACE/master/results/JOB/TERM/part-00000
//	PLACE/master/columns/ID
//
// TERM is the number of the master's run, so that a master that was paused for long does not
// overwrite files of the current leader. If a job is done, its last term has the result, because no
// further attempt writes another one.
type results struct {
	root      *os.Root
	dir       string
	local     *place
	temporary bool
	lock      *os.File // locked while the owner of a temporary directory lives; or nil
	wrap      func(io.WriteCloser) io.WriteCloser
	atDisk    sync.WaitGroup
	log       *slog.Logger

	shared *place // the shared place, or nil
	term   string
	held   func() bool // whether this master leads: only then it removes shared objects

	mu sync.Mutex
	// By job: closed when the last operation on its files has ended.
	turns map[string]chan struct{}
}

// diskPatience bounds how long the master waits for the disk when it ends.
const diskPatience = 2 * time.Second

// newResults stores results below a directory, or in a temporary one that close removes.
func newResults(data string, wrap func(io.WriteCloser) io.WriteCloser) (*results, error) {
	r := &results{
		dir: filepath.Join(data, resultsName), wrap: wrap,
		turns: map[string]chan struct{}{}, log: slog.New(slog.DiscardHandler),
	}
	if data == "" {
		clearStale(os.TempDir())
		dir, err := os.MkdirTemp("", temporaryName)
		if err != nil {
			return nil, fmt.Errorf("results: %w", err)
		}
		r.dir, r.temporary, r.lock = dir, true, own(dir)
	}
	files, err := store.OpenDir(r.dir)
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	r.root, r.local = files.Root(), &place{files, resultsName, "", 1}
	return r, nil
}

// settle waits for all pending operations, but at most diskPatience.
func (r *results) settle() { within(diskPatience, r.atDisk.Wait) }

// close frees everything. It waits at most diskPatience for the disk; the next master removes the
// rest of a temporary directory.
func (r *results) close() {
	within(diskPatience, func() {
		r.atDisk.Wait()
		_ = r.root.Close()
		if r.temporary {
			_ = os.RemoveAll(r.dir)
		}
		_ = r.lock.Close() // or there is none
	})
}

// within runs do, and reports whether it ended in time. If not, do continues in the background.
func within(most time.Duration, do func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
		return true
	case <-time.After(most):
		return false
	}
}

// remove removes a job's result, soon.
func (r *results) remove(job string) {
	r.then(job, func() {
		if err := errors.Join(r.root.RemoveAll(job),
			r.unshare(context.Background(), sharedResults+job+"/")); err != nil {
			r.log.Warn("a result cannot be removed", "job", job, "error", err)
		}
	})
}

// sweep removes local results of earlier masters for which has returns false.
func (r *results) sweep(has func(job string) bool) {
	jobs, err := namesIn(r.root, ".", jobName)
	for _, job := range jobs {
		if !has(job) {
			err = cmp.Or(err, r.root.RemoveAll(job))
		}
	}
	if err != nil {
		r.log.Warn("unneeded results cannot be removed", "error", err)
	}
}

// then runs do after earlier operations on a job's files, in the background. It closes ended after
// that.
func (r *results) then(job string, do func()) (ended chan struct{}) {
	ended = make(chan struct{})
	r.mu.Lock()
	before := r.turns[job]
	r.turns[job] = ended
	r.mu.Unlock()
	r.atDisk.Go(func() {
		if before != nil {
			<-before
		}
		do()
		close(ended)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.turns[job] == ended {
			delete(r.turns, job)
		}
	})
	return ended
}

// discard removes the parts of an unwanted result in the background, after the writes in progress.
func (r *results) discard(job string, parts []*part) {
	for _, p := range parts {
		p.unwanted.Store(true)
	}
	r.then(job, func() {
		for _, p := range parts {
			p.mu.Lock()
			p.close()
			p.mu.Unlock()
		}
		_ = r.root.RemoveAll(job)
		// on failure it is removed with the job's result
		_ = r.unshare(context.Background(), r.sharedDir(job))
	})
}

// create starts writing the parts of a job's result.
func (r *results) create(job string, n int) []*part {
	var outcome error
	ready := r.then(job,
		func() { outcome = errors.Join(r.root.RemoveAll(job), r.root.MkdirAll(job, 0o700)) })
	parts := make([]*part, n)
	for i := range parts {
		name := path.Join(job, partFile(i))
		parts[i] = &part{results: r, name: name, ready: ready, outcome: &outcome}
	}
	return parts
}

// partOrder is the order of reading the parts of a result.
type partOrder uint8

const (
	asTheyAre   partOrder = iota // part after part, of any data
	linesByPart                  // part after part, of lines
	linesByID                    // merged by id; the lines of each part are sorted by id
)

// orderOf returns the order of reading the parts of a job's result.
func orderOf(spec *jobspec.Spec) partOrder {
	switch {
	case spec.Values != "" || spec.Program == "":
		return asTheyAre
	case spec.Unsorted:
		return linesByPart
	}
	return linesByID
}

// checkedFirst is the size up to which the checksums of a result are verified before its first byte
// is returned. Parts of larger results are verified while they are returned.
const checkedFirst = 256 << 20

// partFile returns the name of a part in the directory of its job.
func partFile(i int) string { return fmt.Sprintf(partPrefix+"%05d", i) }

// read writes a job's result. In lines with names it omits the ids, which only serve sorting.
func (f *found) read(
	ctx context.Context, sums []*control.Sum, order partOrder, to *rest,
) error {
	size := uint64(0)
	for _, s := range sums {
		size += s.Bytes
	}
	if size <= checkedFirst {
		if err := f.check(ctx, sums); err != nil {
			return err
		}
	}
	parts, err := f.parts(ctx, sums)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(to, control.ChunkSize)
	return cmp.Or(passLines(w, parts, order), w.Flush())
}

// passLines writes the parts in the given order.
func passLines(w io.Writer, parts []io.Reader, order partOrder) (err error) {
	switch {
	case order == linesByID && len(parts) > 1:
		err = mergeLines(w, parts)
	case order != asTheyAre:
		err = copyLines(w, parts)
	default:
		_, err = io.CopyBuffer(struct{ io.Writer }{w}, io.MultiReader(parts...),
			make([]byte, control.ChunkSize))
	}
	if errors.As(err, new(malformed)) {
		_, damage := io.Copy(io.Discard, io.MultiReader(parts...))
		err = cmp.Or(damage, err)
	}
	return err
}

// rest passes on data without its first skip bytes.
type rest struct {
	skip uint64
	each func(data []byte) error
}

func (r *rest) Write(data []byte) (int, error) {
	n := uint64(len(data))
	gone := min(r.skip, n)
	r.skip -= gone
	if gone == n {
		return int(n), nil
	}
	return int(n), r.each(data[gone:])
}

// summed returns the Sum of a complete part.
func (p *part) summed() *control.Sum {
	return &control.Sum{Bytes: uint64(p.sum.Bytes), Crc32C: p.sum.CRC32C}
}

// part is the file of a worker's part of a result. Only the call that delivers the data waits for
// the disk.
type part struct {
	*results
	name     string
	ready    <-chan struct{} // closed when the directory exists, or outcome has the error
	outcome  *error
	unwanted atomic.Bool
	whole    atomic.Bool // the file is complete

	mu   sync.Mutex // held while writing or closing the file
	file *os.File   // nil when it is not open
	to   io.WriteCloser
	sum  store.Sum // of the data written
}

// errUnwanted ends the writing of a discarded result.
var errUnwanted = errors.New("the result is not wanted any more")

// write appends a chunk to the file. After the last chunk it closes the file, which is synced
// unless the directory is temporary.
func (p *part) write(data []byte, last bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	<-p.ready
	err := *p.outcome
	switch {
	case err != nil:
	case p.unwanted.Load() || p.whole.Load():
		err = errUnwanted
	case p.file == nil:
		err = p.open()
	}
	if err == nil {
		_, err = io.MultiWriter(p.to, &p.sum).Write(data)
	}
	if err == nil && last {
		if !p.temporary {
			err = errors.Join(p.file.Sync(), store.SyncDir(p.root, path.Dir(p.name)))
		}
		err = errors.Join(err, p.close())
		p.whole.Store(err == nil)
	}
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	return nil
}

func (p *part) open() (err error) {
	p.file, err = p.root.OpenFile(p.name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if p.to = p.file; err == nil && p.wrap != nil {
		p.to = p.wrap(p.file)
	}
	return err
}

func (p *part) close() (err error) {
	if p.file != nil {
		err = p.to.Close()
	}
	p.file = nil
	return err
}

// stored is a column that a client sends.
type stored struct {
	id      string
	bytes   int64
	at      time.Time // when the client last sent a piece
	readers int       // jobs and backups that need it; it is not removed while there are any

	file    sync.Mutex // held while writing or removing the file
	partial bool       // the last piece has not been received
	gone    bool       // the file was removed
}
