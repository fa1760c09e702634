package master

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// results keeps what jobs computed in files, a part for each worker:
//
//	DATA/results/JOB/part-00000
//
// so that it is there when the client asks, whatever has become of the workers; masters that share their state have it in their place, too. What writes and removes them are goroutines
// of their own: nothing that goes on in the master waits for the disk.
type results struct {
	root      *os.Root
	dir       string
	temporary bool
	lock      *os.File // says that the process lives to which a temporary directory belongs; or nil
	wrap      func(io.WriteCloser) io.WriteCloser
	atDisk    sync.WaitGroup
	retention retention
	shared    *sharedFiles // the place of masters that share their state, or nil
	fetching  turns        // results from there, by job
	now       func() time.Time

	mu        sync.Mutex
	discarded map[string]chan struct{} // by job: closed when parts that nobody wants are gone
}

// diskPatience is how long the end of the master waits for the disk.
const diskPatience = 2 * time.Second

// newResults keeps results below a directory, or in one of its own that goes when it is closed.
func newResults(data string, wrap func(io.WriteCloser) io.WriteCloser) (*results, error) {
	r := &results{dir: filepath.Join(data, resultsName), wrap: wrap, retention: retention{stored: map[string]*stored{}, log: slog.New(slog.DiscardHandler)}, discarded: map[string]chan struct{}{}}
	if data == "" {
		clearStale(os.TempDir())
		dir, err := os.MkdirTemp("", temporaryName)
		if err != nil {
			return nil, fmt.Errorf("results: %w", err)
		}
		r.dir, r.temporary, r.lock = dir, true, own(dir)
	} else if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	r.root = root
	return r, nil
}

// close lets go of everything. A disk that hangs is waited for a moment only: what is left in a temporary directory the next
// master removes.
func (r *results) close() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		r.atDisk.Wait()
		_ = r.root.Close()
		if r.temporary {
			_ = os.RemoveAll(r.dir)
		}
		if r.lock != nil {
			_ = r.lock.Close()
		}
	}()
	select {
	case <-closed:
	case <-time.After(diskPatience):
	}
}

// remove forgets a job's result, soon.
func (r *results) remove(job string) {
	r.retention.drop(job)
	r.atDisk.Go(func() { r.erase(context.Background(), []*stored{{id: job}}) })
}

// discard forgets parts that nobody wants any more, when what is being written is. Those of the job's next attempt, if there is one, come
// after that.
func (r *results) discard(job string, parts []*part) {
	gone := make(chan struct{})
	r.mu.Lock()
	r.discarded[job] = gone
	r.mu.Unlock()
	for _, p := range parts {
		close(p.unwanted)
	}
	r.atDisk.Go(func() {
		for _, p := range parts {
			<-p.done
		}
		_ = r.root.RemoveAll(job)
		if r.shared != nil {
			_ = r.shared.remove(context.Background(), path.Join(sharedResults, job, r.shared.term)+"/") // else it goes with the job's result
		}
		close(gone)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.discarded[job] == gone {
			delete(r.discarded, job)
		}
	})
}

// create begins the parts of a job's result.
func (r *results) create(job string, n int) []*part {
	r.retention.drop(job) // one of an earlier master with the same name
	ready, outcome := make(chan struct{}), error(nil)
	r.mu.Lock()
	before := r.discarded[job]
	r.mu.Unlock()
	r.atDisk.Go(func() {
		defer close(ready)
		if before != nil {
			<-before
		}
		outcome = errors.Join(r.root.RemoveAll(job), r.root.MkdirAll(job, 0o700))
	})
	parts := make([]*part, n)
	for i := range parts {
		p := &part{
			name:   partName(job, i),
			chunks: make(chan []byte, partChunks), ended: make(chan struct{}), unwanted: make(chan struct{}), done: make(chan struct{}),
		}
		parts[i] = p
		r.atDisk.Go(func() {
			defer close(p.done)
			if <-ready; outcome != nil {
				p.err = fmt.Errorf("result: %w", outcome)
			} else if err := p.run(r); err != nil {
				p.err = fmt.Errorf("result: %w", err)
			}
		})
	}
	return parts
}

// partOrder is how the parts of a result are read.
type partOrder uint8

const (
	asTheyAre   partOrder = iota // part after part, which may be anything
	linesByPart                  // part after part, of lines
	linesByID                    // merged by the ids that the lines of each part are sorted by
)

// orderOf is how the parts of a job's result are read.
func orderOf(spec *jobspec.Spec) partOrder {
	switch {
	case spec.Values != "" || spec.Program == "":
		return asTheyAre
	case spec.Unsorted:
		return linesByPart
	}
	return linesByID
}

// checkedFirst is how large a result may be whose parts are read, and compared with their checksums,
// before its first byte is passed on. Of larger ones each part is compared while it is passed on.
const checkedFirst = 256 << 20

// partName is the name of the file of a part.
func partName(job string, i int) string { return path.Join(job, fmt.Sprintf(partPrefix+"%05d", i)) }

// openParts opens the parts of a job's result. What they give is compared with their checksums; their
// lengths are compared at once.
func (r *results) openParts(job string, sums []*control.Sum) (parts []io.Reader, done func(), err error) {
	var files []*os.File
	done = func() {
		for _, f := range files {
			_ = f.Close() // it was read
		}
	}
	for i, sum := range sums {
		name := path.Join(resultsName, partName(job, i))
		f, err := openSummed(r.root, partName(job, i), name, sumOf(sum))
		if err != nil {
			done()
			return nil, nil, err
		}
		files = append(files, f)
		parts = append(parts, sumOf(sum).Check(name, f))
	}
	return parts, done, nil
}

// openSummed opens a file if it has the length that it was written with. Errors call it by a name.
func openSummed(root *os.Root, file, name string, sum store.Sum) (*os.File, error) {
	f, err := root.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, store.Missing(name)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() != sum.Bytes {
		err = sum.Damage(name, store.Sum{Bytes: info.Size()})
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// sumOf is a Sum as a message has it.
func sumOf(s *control.Sum) store.Sum {
	return store.Sum{Bytes: int64(s.GetBytes()), CRC32C: s.GetCrc32C()}
}

// checkFile reads a file, and returns store.ErrDamaged if it is not as it was written.
func (r *results) checkFile(file string, sum store.Sum) error {
	name := path.Join(resultsName, file)
	f, err := openSummed(r.root, file, name, sum)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, sum.Check(name, f))
	return errors.Join(err, f.Close())
}

// read passes a job's result on, but for the first bytes. The ids by which the workers' lines are sorted are left out where lines have names too.
func (r *results) read(job string, sums []*control.Sum, order partOrder, offset uint64, each func(data []byte) error) error {
	size := uint64(0)
	for _, s := range sums {
		size += s.Bytes
	}
	for i, sum := range sums {
		if size > checkedFirst {
			break
		}
		if err := r.checkFile(partName(job, i), sumOf(sum)); err != nil {
			return err
		}
	}
	parts, done, err := r.openParts(job, sums)
	if err != nil {
		return err
	}
	defer done()
	w := bufio.NewWriterSize(&rest{skip: offset, each: each}, control.ChunkSize)
	return cmp.Or(passLines(w, parts, order), w.Flush())
}

// passLines passes the lines of parts on.
func passLines(w io.Writer, parts []io.Reader, order partOrder) (err error) {
	switch {
	case order == linesByID && len(parts) > 1:
		err = mergeLines(w, parts)
	case order != asTheyAre:
		err = copyLines(w, parts)
	default:
		_, err = io.CopyBuffer(struct{ io.Writer }{w}, io.MultiReader(parts...), make([]byte, control.ChunkSize))
	}
	if errors.As(err, new(malformed)) {
		_, damage := io.Copy(io.Discard, io.MultiReader(parts...))
		err = cmp.Or(damage, err)
	}
	return err
}

// rest passes on what comes after the first bytes.
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

// summed is the Sum of a part that is finished.
func (p *part) summed() *control.Sum {
	return &control.Sum{Bytes: uint64(p.sum.Bytes), Crc32C: p.sum.CRC32C}
}

// partChunks is how many chunks may wait for the disk; who has one more waits too.
const partChunks = 8

// part is a file that a worker's share of a result goes into. A goroutine of its own writes it, so that who gives up does
// not wait for a disk that hangs.
type part struct {
	name     string
	chunks   chan []byte
	ended    chan struct{} // closed: there are no more chunks
	unwanted chan struct{} // closed: whatever was written is not wanted
	done     chan struct{} // closed: the file is closed, and err is why it is no good
	err      error

	sum   store.Sum     // of what is in the file, when done is closed
	bytes atomic.Uint64 // taken
	whole atomic.Bool   // the last chunk was
}

// errUnwanted is why nothing more is written of a result that was given up.
var errUnwanted = errors.New("the result is not wanted any more")

// write takes a chunk. It waits while the disk is busy with those before.
func (p *part) write(data []byte, last bool) error {
	select {
	case p.chunks <- data:
		p.bytes.Add(uint64(len(data)))
		if last {
			p.whole.Store(true)
		}
		return nil
	case <-p.done:
		if p.err != nil {
			return p.err
		}
	case <-p.ended:
	case <-p.unwanted:
	}
	return errUnwanted
}

// finish waits until all chunks are in the file, or ctx ends.
func (p *part) finish(ctx context.Context) error {
	close(p.ended)
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run writes the file. It is on the disk then, if it is to outlive the master.
func (p *part) run(r *results) (err error) {
	f, err := r.root.OpenFile(p.name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	file := io.WriteCloser(f)
	if r.wrap != nil {
		file = r.wrap(file)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	to := io.MultiWriter(file, &p.sum)
	for {
		select {
		case data := <-p.chunks:
			if _, err := to.Write(data); err != nil {
				return err
			}
		case <-p.unwanted:
			return errUnwanted
		case <-p.ended:
			for len(p.chunks) > 0 { // nobody adds to them
				if _, err := to.Write(<-p.chunks); err != nil {
					return err
				}
			}
			if r.temporary {
				return nil
			}
			return errors.Join(f.Sync(), store.SyncDir(r.root, path.Dir(p.name)))
		}
	}
}
