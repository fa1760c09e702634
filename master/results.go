package master

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/superstep-go/superstep/internal/control"
)

// results keeps what jobs computed in files, a part for each worker:
//
//	DATA/results/JOB/part-00000
//
// so that it is there when the client asks, whatever has become of the workers.
type results struct {
	root      *os.Root
	dir       string
	temporary bool
	lock      *os.File // says that the process lives to which a temporary directory belongs; or nil
}

// newResults keeps results below a directory, or in one of its own that goes when it is closed.
func newResults(data string) (*results, error) {
	r := &results{dir: filepath.Join(data, "results")}
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

func (r *results) close() {
	_ = r.root.Close()
	if r.temporary {
		_ = os.RemoveAll(r.dir)
	}
	if r.lock != nil {
		_ = r.lock.Close()
	}
}

// remove forgets a job's result.
func (r *results) remove(job string) { _ = r.root.RemoveAll(job) }

// part is a file that a worker's share of a result goes into.
type part struct {
	file   *os.File
	buffer *bufio.Writer
	bytes  uint64
}

func (r *results) create(job string, i int) (*part, error) {
	if err := r.root.MkdirAll(job, 0o700); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	f, err := r.root.Create(filepath.Join(job, fmt.Sprintf("part-%05d", i)))
	if err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	return &part{file: f, buffer: bufio.NewWriterSize(f, 256<<10)}, nil
}

func (p *part) write(data []byte) error {
	n, err := p.buffer.Write(data)
	p.bytes += uint64(n)
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	return nil
}

func (p *part) close() error { return errors.Join(p.buffer.Flush(), p.file.Close()) }

// read passes a job's result on, but for the first bytes: part after part, or, where each part is sorted by the ids that its
// lines begin with, merged by them.
func (r *results) read(job string, sorted bool, offset uint64, each func(data []byte) error) error {
	dir, err := r.root.Open(job)
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	names, err := dir.Readdirnames(-1)
	_ = dir.Close()
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	slices.Sort(names)
	var parts []io.Reader
	for _, name := range names {
		f, err := r.root.Open(filepath.Join(job, name))
		if err != nil {
			return fmt.Errorf("result: %w", err)
		}
		defer f.Close()
		parts = append(parts, f)
	}
	w := bufio.NewWriterSize(&rest{skip: offset, each: each}, control.ChunkSize)
	if sorted && len(parts) > 1 {
		err = mergeLines(w, parts)
	} else {
		_, err = io.CopyBuffer(struct{ io.Writer }{w}, io.MultiReader(parts...), make([]byte, control.ChunkSize))
	}
	if err = cmp.Or(err, w.Flush()); err != nil {
		return fmt.Errorf("result: %w", err)
	}
	return nil
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
