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
	"strings"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/store"
)

// results stores the results of jobs as objects, a part for each worker:
//
//	DATA/results/JOB/RUN_EPOCH/part-00000
//
// so that a client can fetch them after the workers have left. Calls of workers write the parts,
// and separate goroutines remove them. Nothing else in the master waits for the disk. Masters that
// share their state also store them in the shared place:
//
//	PLACE/master/results/JOB/RUN_EPOCH/part-00000
//	PLACE/master/columns/ID
//
// RUN is the number of the master's run and EPOCH that of the job's attempt, so that late writes of
// an earlier attempt, or of a master that was paused for long, do not replace newer parts. If a job
// is done, its last attempt has the result. Earlier versions stored parts in JOB, or in JOB/RUN in
// the shared place.
type results struct {
	files  *store.Dir
	root   *os.Root // of files
	local  *place
	run    uint64
	lock   *os.File // locked while the owner of a temporary directory lives; or nil
	wrap   func(io.Reader) io.Reader
	atDisk sync.WaitGroup
	log    *slog.Logger

	shared *place      // the shared place, or nil
	held   func() bool // whether this master leads: only then it removes shared objects
}

// diskPatience bounds how long the master waits for the disk when it ends.
const diskPatience = 2 * time.Second

// newResults stores results below a directory, or in a temporary one that close removes. run is the
// number of the master's run. wrap is daemon.Master.WrapPart.
func newResults(data string, run uint64, wrap func(io.Reader) io.Reader) (*results, error) {
	r := &results{run: run, wrap: wrap, log: slog.New(slog.DiscardHandler)}
	dir := filepath.Join(data, resultsName)
	if data == "" {
		clearStale(os.TempDir())
		var err error
		if dir, err = os.MkdirTemp("", temporaryName); err != nil {
			return nil, fmt.Errorf("results: %w", err)
		}
		r.lock = own(dir)
	}
	files, err := store.OpenDir(dir)
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	// After a crash, unfinished columns may have gaps. The pattern is valid.
	partial, _ := fs.Glob(files.Root().FS(), columnsPrefix+"*"+unfinished)
	for _, name := range partial {
		if err := files.Delete(context.Background(), name); err != nil {
			return nil, fmt.Errorf("columns: %w", err)
		}
	}
	files.Temporary = data == ""
	r.files, r.root, r.local = files, files.Root(), &place{files, resultsName, ""}
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
		if r.files.Temporary {
			_ = os.RemoveAll(r.files.String())
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

// remove removes a job's result, or a directory of an attempt, soon.
func (r *results) remove(dir string) {
	r.atDisk.Go(func() {
		if err := errors.Join(r.root.RemoveAll(dir),
			r.unshare(context.Background(), sharedResults+dir+"/")); err != nil {
			r.log.Warn("a result cannot be removed", "result", dir, "error", err)
		}
	})
}

// removeEarlier removes, soon, what earlier attempts, also of a killed master, stored beside the
// directory of an attempt.
func (r *results) removeEarlier(dir string) {
	r.atDisk.Go(func() {
		r.sweep(path.Dir(dir), func(name string) bool {
			return name < path.Base(dir) || strings.HasPrefix(name, partPrefix)
		})
	})
}

// sweep removes the entries of a local directory for which gone returns true.
func (r *results) sweep(dir string, gone func(name string) bool) {
	all, err := fs.ReadDir(r.root.FS(), dir)
	for _, e := range all {
		if gone(e.Name()) {
			err = cmp.Or(err, r.root.RemoveAll(path.Join(dir, e.Name())))
		}
	}
	if err != nil {
		r.log.Warn("unneeded results cannot be removed", "error", err)
	}
}

// attempt returns the directory of an attempt's result.
func (r *results) attempt(job string, epoch uint32) string {
	return fmt.Sprintf("%s/%020d_%010d", job, r.run, epoch)
}

// put stores a part in the directory of an attempt and returns its Sum. When ctx has ended, the
// attempt's result is not wanted: its directory is being removed.
func (r *results) put(
	ctx context.Context, dir string, i int, from io.Reader,
) (*control.Sum, error) {
	sum := &store.Sum{}
	from = io.TeeReader(from, sum)
	if r.wrap != nil {
		from = r.wrap(from)
	}
	err := r.files.Copy(ctx, path.Join(dir, partFile(i)), from, -1)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
		_ = r.root.RemoveAll(dir) // it may have been made after it was removed
	}
	if err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	return &control.Sum{Bytes: uint64(sum.Bytes), Crc32C: sum.CRC32C}, nil
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
func (f *found) read(ctx context.Context, sums []*control.Sum, order partOrder, to *rest) error {
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
