package graphio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// WriteOptions are options of writing. With the zero value the file's name determines the format,
// and one goroutine writes.
type WriteOptions struct {
	// Format is the format to write. If it is "", the file's name determines it; the suffixes .gz
	// and .zst request compression.
	Format Format
	// Team shares the work. nil means the caller's goroutine alone.
	Team *parallel.Team
	// Progress is called from time to time, by one goroutine at a time, with the number of tuples
	// that were written and their total.
	Progress func(done, total int64)
	// Warn is called with each warning, a line about information that the format cannot hold.
	Warn func(string)
}

// Write writes a graph. Its files appear complete or not at all. If the format cannot hold the
// graph, Write fails. If the lost information can be given when the file is read, or may not be
// needed, it calls o.Warn instead.
func Write(ctx context.Context, path string, in *edges.Input, o WriteOptions) (err error) {
	defer mem.Recover(&err)
	format, err := FormatToWrite(path, string(o.Format))
	if err != nil {
		return err
	}
	if in.Names != nil && !namesIn[format] {
		return fmt.Errorf("cannot write %s: the vertices of %s have names, which the format %s has no place for: csv, tsv, jsonl and parquet have", path, in.Name, format)
	}
	w := &writer{WriteOptions: o, ctx: ctx, path: path, in: in}
	w.base, w.codec = splitCodec(path)
	w.format = format
	defer func() {
		for _, out := range w.outputs {
			out.discard()
		}
	}()
	if err = functions[format].write(w); err == nil {
		err = w.placeAll()
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	for _, line := range w.warnings {
		if o.Warn != nil {
			o.Warn(path + ": " + line)
		}
	}
	return nil
}

// uncompressed are the formats whose files are never compressed as a whole.
var uncompressed = []Format{Graph500, Serialized, SerializedW, Parquet}

// FormatToWrite returns the format of a file that is written: the named format, or that of the
// file's name.
func FormatToWrite(path, name string) (Format, error) {
	format := formatOfName(path)
	if name != "" {
		var err error
		if format, err = ParseFormat(name); err != nil {
			return "", err
		}
	}
	_, c := splitCodec(path)
	switch {
	case format == "":
		return "", fmt.Errorf("writing %s: the name does not tell the format: give one of %s", path,
			strings.Join(Written, ", "))
	case !slices.Contains(Written, string(format)):
		return "", fmt.Errorf("writing %s: format %s is read, not written: give one of %s", path,
			format, strings.Join(Written, ", "))
	case c != plain && slices.Contains(uncompressed, format):
		return "", fmt.Errorf("writing %s: format %s is not compressed as a whole: give a name without %s", path, format, c.suffix())
	}
	return format, nil
}

// writer is one call of Write.
type writer struct {
	WriteOptions
	ctx      context.Context
	format   Format
	path     string
	base     string // path without the suffix of compression
	codec    codec
	in       *edges.Input
	outputs  []*output
	stale    []string // old files that would be taken for a part of the new graph
	warnings []string
}

func (w *writer) warn(format string, args ...any) {
	w.warnings = append(w.warnings, fmt.Sprintf(format, args...))
}

// create begins an output file with its header.
func (w *writer) create(path string, c codec, header string) (*output, error) {
	out, err := create(w.ctx, path, 0o666, c, w.Team.Size())
	if err == nil {
		w.outputs = append(w.outputs, out)
		_, err = io.WriteString(out, header)
	}
	return out, err
}

// placeAll completes the files and gives them their final names.
func (w *writer) placeAll() error {
	for _, out := range w.outputs {
		if err := out.finish(); err != nil {
			return err
		}
	}
	if err := w.ctx.Err(); err != nil {
		return context.Cause(w.ctx)
	}
	for _, path := range w.stale {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, out := range w.outputs {
		if err := out.place(); err != nil {
			return err
		}
	}
	return nil
}

// writeBlocks is the number of blocks of tuples that a worker formats at a time.
const writeBlocks = 16

// blocks formats all blocks of tuples in parallel and writes them in order. It calls wrote with the
// number of blocks.
func (w *writer) blocks(
	out io.Writer, wrote func(blocks int),
	format func(worker int, dst []byte, i int, b *edges.Block) ([]byte, error),
) error {
	decoded := make([]edges.Block, w.Team.Size())
	return ordered(w.ctx, w.Team, out, edges.Blocks(w.in.Edges), writeBlocks,
		func(worker int, dst []byte, i int) ([]byte, error) {
			b := &decoded[worker]
			if err := w.decode(i, b); err != nil {
				return nil, err
			}
			return format(worker, dst, i, b)
		}, wrote)
}

// decode reads block i of the tuples. It returns an error for a weight that no reader accepts.
func (w *writer) decode(i int, b *edges.Block) error {
	if err := w.in.Edges.Read(i, b); err != nil || !w.in.Edges.Weighted() {
		return err
	}
	for j, x := range b.W[:b.N] {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("the weight of tuple %d is %v, which no file may hold",
				i*edges.BlockSize+j, x)
		}
	}
	return nil
}

// report reports progress: the number of written blocks of tuples.
func (w *writer) report(blocks int) {
	if n := w.in.Edges.Len(); w.Progress != nil {
		w.Progress(int64(min(blocks*edges.BlockSize, n)), int64(n))
	}
}

// inOrder calls f with every block of the tuples, in order.
func (w *writer) inOrder(f func(i int, b *edges.Block) error) error {
	var b edges.Block
	for i := range edges.Blocks(w.in.Edges) {
		if w.ctx.Err() != nil {
			return w.ctx.Err()
		}
		if err := w.decode(i, &b); err != nil {
			return err
		}
		if err := f(i, &b); err != nil {
			return err
		}
	}
	return nil
}

// extent returns the number of vertices, and the largest vertex with a tuple, or -1.
func (w *writer) extent() (vertices, last int, err error) {
	most := make([]int64, w.Team.Size())
	err = w.each(func(worker int, b *edges.Block) {
		end := uint64(0)
		for j := range b.N {
			end = max(end, b.U[j]+1, b.V[j]+1)
		}
		most[worker] = max(most[worker], int64(min(end, math.MaxInt64)))
	})
	end := int(slices.Max(most))
	if vertices = w.in.Vertices; vertices == 0 {
		vertices = end
	}
	switch {
	case err != nil:
	case end > vertices:
		err = fmt.Errorf("an edge has vertex %d, the graph has %d", end-1, vertices)
	case vertices > maxVertices:
		err = fmt.Errorf("the graph has %d vertices, a file may have %d", vertices, maxVertices)
	}
	return vertices, end - 1, err
}

// isolated returns the number of vertices without tuples.
func (w *writer) isolated(vertices int) (int, error) {
	set := make([]uint64, bitmap.Words(vertices))
	err := w.each(func(_ int, b *edges.Block) {
		for j := range b.N {
			bitmap.SetShared(set, uint32(b.U[j]))
			bitmap.SetShared(set, uint32(b.V[j]))
		}
	})
	return vertices - bitmap.Count(set), err
}

// each calls f with every block of the tuples, in any order.
func (w *writer) each(f func(worker int, b *edges.Block)) error {
	return w.blocks(io.Discard, nil,
		func(worker int, dst []byte, _ int, b *edges.Block) ([]byte, error) {
			f(worker, b)
			return dst, nil
		})
}
