package snapshot

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"runtime/debug"
	"strings"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/internal/wire"
)

// Requests for objects that cannot be mapped: the size of each, and the number at a time.
const (
	requestSize = 8 << 20
	requests    = 8
)

// opener opens files of a snapshot.
type opener struct {
	*Place
	arena *mem.Arena // of the files' memory
	team  *parallel.Team
}

// arrays are the arrays of a file in memory. They must be read in the order in which they were
// stored.
type arrays struct {
	header *header
	data   []byte // the bytes after position start of the file, where the first array begins
	start  int
	next   int
	err    error
}

// read reads a file of a kind into memory, mapped if the store has files, and checks every byte.
func (o *opener) read(ctx context.Context, kind string, f File) (*arrays, error) {
	a, err := o.readFile(ctx, f)
	if err == nil && (a.header.Kind != kind || a.header.Count != f.Count) {
		err = fmt.Errorf("found %.20s of %d, expected %s of %d", a.header.Kind, a.header.Count,
			kind, f.Count)
	}
	if err != nil && !strings.Contains(err.Error(), f.Name) {
		err = store.At(o.Store, f.Name, err)
	}
	return a, err
}

func (o *opener) readFile(ctx context.Context, f File) (*arrays, error) {
	if f.Size < dataAlign {
		return nil, fmt.Errorf("a file of %d bytes: expected %d or more", f.Size, dataAlign)
	}
	var data []byte
	var err error
	if dir, ok := o.Store.(*store.Dir); ok {
		data, err = mapped(dir, f, o.arena)
	} else {
		data, err = fetched(ctx, o.Store, f, o.arena)
	}
	if err != nil {
		return nil, err
	}
	var h *header
	var at int64
	if err := faultless(func() (err error) {
		h, at, err = parseHead(data, f)
		return err
	}); err != nil {
		return nil, err
	}
	if h.ID != o.ID {
		return nil, errors.New("it is of another snapshot")
	}
	a := &arrays{header: h, data: data[at:], start: int(at)}
	return a, a.checkBlocks(ctx, o.team)
}

// mapped maps a file.
func mapped(dir *store.Dir, f File, arena *mem.Arena) (_ []byte, err error) {
	opened, err := dir.File(f.Name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	info, err := opened.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() != f.Size {
		return nil, fmt.Errorf("found %d bytes, expected %d", info.Size(), f.Size)
	}
	return mem.Map(arena, opened, f.Size)
}

// fetched reads an object, by several requests at a time.
func fetched(ctx context.Context, s store.Store, f File, arena *mem.Arena) (_ []byte, err error) {
	defer mem.Recover(&err)
	if err := graph.Enough("reading "+f.Name, float64(f.Size)); err != nil {
		return nil, err
	}
	data := wire.Bytes(mem.Make[uint64](arena, int((f.Size+7)/8)))[:f.Size]
	var jobs []func(ctx context.Context) error
	for from := int64(0); from < f.Size; from += requestSize {
		jobs = append(jobs, func(ctx context.Context) error {
			return s.GetRange(ctx, store.Object{Name: f.Name}, from,
				data[from:min(from+requestSize, f.Size)])
		})
	}
	return data, store.Together(ctx, requests, jobs)
}

// faultless calls f. It returns an error if f reads mapped memory whose file cannot be read, or was
// shortened.
func faultless(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		fault, ok := r.(interface {
			error
			Addr() uintptr
		})
		if !ok {
			panic(r)
		}
		err = fmt.Errorf("reading the file failed, perhaps because it was truncated: %w", fault)
	}()
	return f()
}

// checkBlocks checks the checksums of all blocks.
func (a *arrays) checkBlocks(ctx context.Context, team *parallel.Team) error {
	var failed parallel.First
	team.For(len(a.header.Blocks), 1, func(_, i, _ int) {
		err := context.Cause(ctx)
		if err == nil {
			err = faultless(func() error { return a.checkBlock(i) })
		}
		if err != nil {
			failed.Report(i, err)
		}
	})
	return failed.Err()
}

func (a *arrays) checkBlock(i int) error {
	from := i * blockSize
	to := min(from+blockSize, len(a.data))
	if sum := crc32.Checksum(a.data[from:to], castagnoli); sum != a.header.Blocks[i] {
		return fmt.Errorf("bytes %d to %d have checksum %08x, expected %08x: it was damaged",
			a.start+from, a.start+to, sum, a.header.Blocks[i])
	}
	return nil
}

// get returns the next array, which must have this name and type.
func get[T any](a *arrays, name, kind string, s *[]T) {
	if a.err != nil {
		return
	}
	if a.next == len(a.header.Arrays) {
		a.err = fmt.Errorf("found no array %q", name)
		return
	}
	x := a.header.Arrays[a.next]
	a.next++
	if x.Name != name || x.Type != kind {
		a.err = fmt.Errorf("found the array %.40q of %.10q, expected %q of %q", x.Name, x.Type,
			name, kind)
		return
	}
	if x.Length == 0 {
		*s = make([]T, 0)
		return
	}
	end := x.At + x.Length*sizes[kind]
	*s = wire.Slice[T](a.data[x.At:end:end])
}

// Uint32s and the other methods implement graph.Arrays.
func (a *arrays) Uint32s(name string, s *[]uint32)   { get(a, name, "uint32", s) }
func (a *arrays) Uint64s(name string, s *[]uint64)   { get(a, name, "uint64", s) }
func (a *arrays) Float32s(name string, s *[]float32) { get(a, name, "float32", s) }
func (a *arrays) Float64s(name string, s *[]float64) { get(a, name, "float64", s) }

// end returns an error unless all arrays were read.
func (a *arrays) end() error {
	if a.err == nil && a.next < len(a.header.Arrays) {
		return fmt.Errorf("found the array %.40q, expected no more", a.header.Arrays[a.next].Name)
	}
	return a.err
}
