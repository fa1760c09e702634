package graphio

import (
	"context"
	"errors"
	"io"
	"math"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// start is the beginning of the data in a text file: after a header that was read, or at the first
// byte.
type start struct {
	offset int64
	lines  int
}

// part returns the range of bytes of a file that this rank reads. total is the size of all files,
// and before that of the files before this one. If the files are read as a whole, the range has no
// end, because the size of a pipe is unknown.
func (r *reader) part(size, before, total int64) (lo, hi int64) {
	if !r.partial {
		return 0, math.MaxInt64
	}
	from, to := edges.Part(int(total), r.rank, r.ranks)
	return min(max(int64(from)-before, 0), size), min(max(int64(to)-before, 0), size)
}

// textFile is a file of lines or records.
type textFile struct {
	f      *file
	others []string // files after f with the same grammar
	from   start    // of the data in f
	grammar
}

// readPart adds to t the lines that begin in bytes [lo, hi) of x.f as it is stored.
func (r *reader) readPart(ctx context.Context, t *table, x textFile, lo, hi int64) error {
	if x.csv != nil { // its header was peeked, not consumed
		if err := x.f.skip(x.from); err != nil {
			return err
		}
	}
	src, err := x.f.lines(x.from.offset, r.piece, lo, hi, x.csv)
	if err != nil {
		return err
	}
	return r.parseInto(ctx, t, x, src)
}

// skip skips the header of a table that was peeked, not consumed.
func (f *file) skip(from start) error {
	_, err := f.content.Discard(int(max(from.offset-f.bom, 0)))
	return err
}

// filled returns a table that fill fills. columns counts ids and a weight.
func (r *reader) filled(f *file, columns int, fill func(t *table) error) (*table, error) {
	t := r.newTable(f, columns)
	defer func() {
		if t.starts == nil { // filling failed, or memory is exhausted
			t.slabs.close()
		}
	}()
	if err := fill(t); err != nil {
		return nil, err
	}
	t.seal()
	return t, nil
}

// newTable returns an empty table. columns counts ids and a weight.
func (r *reader) newTable(f *file, columns int) *table {
	t := &table{columns: min(columns, 2), weighted: columns == 3 && r.Weights != edges.Unweighted}
	t.slabs.using, t.slabs.admission = make([]*slab, r.Team.Size()), r.admission(f)
	return t
}

// put stores the batch with this index.
func (t *table) put(index int, b batch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.batches) <= index {
		t.batches = append(t.batches, batch{})
	}
	t.batches[index] = b
}

// errMalformed is the error of a piece with too many malformed lines. Its batch contains their
// faults.
var errMalformed = errors.New("graphio: malformed lines")

// parseInto adds the lines of a source, which is a part of x.f, to t.
func (r *reader) parseInto(ctx context.Context, t *table, x textFile, src source) error {
	base := len(t.batches)
	parsers := make([]parser, r.Team.Size())
	limit := r.mayLeave()
	var malformed atomic.Int64
	err := r.pieces(ctx, src.next, func(worker int, p *piece) error {
		q := &parsers[worker]
		q.grammar, q.limit = x.grammar, limit
		q.reset()
		q.first = p.first
		q.parse(p.data)
		if n := len(q.bad); n > 0 && (malformed.Add(int64(n)) > int64(limit) || q.bad[n-1].fatal) {
			t.put(base+p.index, batch{lines: q.lines, bad: q.bad})
			return errMalformed
		}
		t.store(worker, base+p.index, q)
		return nil
	})
	if err == nil {
		err = x.f.unchanged(ctx)
	}
	if malformed.Load() > 0 || err == errMalformed {
		if bad := r.leaveOut(x, src, t.batches[base:]); err == nil || err == errMalformed {
			err = bad
		}
	}
	t.spans = append(t.spans, src.span())
	return err
}

// admitted calls f, and returns a refusal of memory as an error, so that the other workers stop,
// too.
func admitted(f func() error) (err error) {
	defer mem.Recover(&err)
	return f()
}

// pieces calls do for every piece that next cuts (source). Each worker processes its own piece at
// the same time as the others. If pieces fail, it returns the error of the first of these; all
// pieces before it have been processed.
func (r *reader) pieces(
	ctx context.Context, next func(context.Context, *piece) error,
	do func(worker int, p *piece) error,
) error {
	var first parallel.First
	r.Team.Run(func(worker int) {
		var p piece
		for !first.Before(math.MaxInt) {
			err := next(ctx, &p)
			if err == io.EOF {
				return
			}
			if err == nil {
				err = admitted(func() error { return do(worker, &p) })
			}
			if err != nil {
				first.Report(p.index, err)
			}
		}
	})
	return first.Err()
}
