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

// results stores the results of jobs in files, one part per worker:
//
//	DATA/results/JOB/part-00000
//
// So a client can fetch a result after the workers are gone. Goroutines write and remove the files,
// so that the master does not wait for the disk. Masters that share their state also store results
// in the shared place:
//
//	PLACE/master/results/JOB/TERM/part-00000   and job.json, as in a directory of results
//	PLACE/master/columns/ID
//
// TERM is the number of the master's run, so that a master that was suspended cannot overwrite
// files of the current leader. The result of a job that is done is in its last term, because no
// attempt follows.
type results struct {
	root      *os.Root
	dir       string
	local     *place
	temporary bool
	lock      *os.File // locked while the owner of a temporary directory lives; or nil
	wrap      func(io.WriteCloser) io.WriteCloser
	atDisk    sync.WaitGroup
	retention retention
	now       func() time.Time

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
		dir: filepath.Join(data, resultsName), wrap: wrap, now: time.Now,
		turns:     map[string]chan struct{}{},
		retention: retention{keptTable: keptTable{all: map[string]*stored{}}, log: slog.New(slog.DiscardHandler)},
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

// remove removes a job's result in the background.
func (r *results) remove(job string) {
	r.retention.drop(job)
	r.erase([]*stored{{id: job}})
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

// discard cancels the writing of parts and removes them.
func (r *results) discard(job string, parts []*part) {
	for _, p := range parts {
		_ = p.to.CloseWithError(errUnwanted) // never fails
	}
	r.then(job, func() {
		for _, p := range parts {
			<-p.done
		}
		_ = r.root.RemoveAll(job)
		// on failure it is removed with the job's result
		_ = r.unshare(context.Background(), r.sharedDir(job))
	})
}

// create starts writing the parts of a job's result.
func (r *results) create(job string, n int) []*part {
	r.retention.drop(job) // an earlier master's result with the same name
	var outcome error
	ready := r.then(job, func() { outcome = errors.Join(r.root.RemoveAll(job), r.root.MkdirAll(job, 0o700)) })
	parts := make([]*part, n)
	for i := range parts {
		from, to := io.Pipe()
		p := &part{name: path.Join(job, partFile(i)), to: to, done: make(chan struct{})}
		parts[i] = p
		r.atDisk.Go(func() {
			defer close(p.done)
			<-ready
			err := outcome
			if err == nil {
				err = p.run(r, from)
			}
			if err != nil {
				p.err = fmt.Errorf("result: %w", err)
			}
			_ = from.CloseWithError(p.err) // passes the error to the writer
		})
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

// read passes a job's result to each, starting at byte offset. In lines with names it omits the
// ids, which only serve sorting.
func (f *found) read(ctx context.Context, sums []*control.Sum, order partOrder, offset uint64, each func(data []byte) error) error {
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
	w := bufio.NewWriterSize(&rest{skip: offset, each: each}, control.ChunkSize)
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

// summed returns the checksum of a finished part.
func (p *part) summed() *control.Sum {
	return &control.Sum{Bytes: uint64(p.sum.Bytes), Crc32C: p.sum.CRC32C}
}

// part is the file of a worker's part of a result. A goroutine writes it, so that a caller can give
// up waiting for a disk that hangs.
type part struct {
	name string
	to   *io.PipeWriter
	done chan struct{} // closed after the file; then err is its error
	err  error

	sum   store.Sum     // of the file, valid after done is closed
	bytes atomic.Uint64 // accepted
	whole atomic.Bool   // the last chunk was accepted
}

// errUnwanted ends the writing of a discarded result.
var errUnwanted = errors.New("the result is not wanted any more")

// write accepts a chunk. It blocks while earlier chunks are written.
func (p *part) write(data []byte, last bool) error {
	n, err := p.to.Write(data)
	p.bytes.Add(uint64(n))
	if err == nil && last {
		p.whole.Store(true)
	}
	return err
}

// finish waits until all chunks are in the file, or ctx ends.
func (p *part) finish(ctx context.Context) error {
	_ = p.to.Close() // never fails
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run writes the file. Unless results are temporary, it syncs the file.
func (p *part) run(r *results, from io.Reader) (err error) {
	f, err := r.root.OpenFile(p.name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	file := io.WriteCloser(f)
	if r.wrap != nil {
		file = r.wrap(file)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err = io.Copy(io.MultiWriter(file, &p.sum), from); err != nil || r.temporary {
		return err
	}
	return errors.Join(f.Sync(), store.SyncDir(r.root, path.Dir(p.name)))
}
