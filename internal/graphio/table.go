package graphio

import (
	"context"
	"errors"
	"io"
	"math"
	"sync"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/edges"
)

// start is the beginning of the data in a text file: after a header that was read, or at the first
// byte.
type start struct {
	offset int64
	lines  int
}

// readTable parses the lines of this rank's part of f after from. Of several faults it returns the
// first in the file.
func (r *reader) readTable(ctx context.Context, f *file, from start, g grammar) (*table, error) {
	if g.csv != nil {
		if _, err := f.content.Discard(int(from.offset)); err != nil {
			return nil, err
		}
	}
	return r.readPieces(ctx, f, from, g, f.lines(from.offset, r.piece, r.rank, r.ranks, g.csv))
}

// readPieces is readTable for the pieces of src.
func (r *reader) readPieces(ctx context.Context, f *file, from start, g grammar, src source) (*table, error) {
	t := r.newTable(f, g.columns)
	if err := r.parseInto(ctx, t, f, src, from, g); err != nil {
		t.slabs.close()
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

// parseInto adds the lines of a source, which is a part of f, to t.
func (r *reader) parseInto(ctx context.Context, t *table, f *file, src source, from start, g grammar) error {
	base := len(t.batches)
	parsers := make([]parser, r.Team.Size())
	limit := r.mayLeave()
	var malformed atomic.Int64
	_, err := r.pieces(ctx, src.next, func(worker int, p *piece) error {
		q := &parsers[worker]
		q.grammar, q.limit = g, limit
		q.reset()
		q.first = p.first
		data := p.data
		if p.at == 0 {
			var bad *fault
			if data, bad = cutBOM(data); bad != nil {
				bad.line, bad.column, bad.fatal = 1, 1, true
				t.put(base+p.index, batch{bad: []*fault{bad}})
				return errMalformed
			}
		}
		q.parse(data)
		if n := len(q.bad); n > 0 && (malformed.Add(int64(n)) > int64(limit) || q.bad[n-1].fatal) {
			t.put(base+p.index, batch{lines: q.lines, bad: q.bad})
			return errMalformed
		}
		b, err := t.store(worker, base+p.index, q)
		t.put(base+p.index, b)
		return err
	})
	if err == nil {
		err = f.unchanged()
	}
	if malformed.Load() > 0 || err == errMalformed {
		if bad := r.leaveOut(f, src, from, t.batches[base:]); err == nil || err == errMalformed {
			err = bad
		}
	}
	t.spans = append(t.spans, src.span())
	return err
}

// pieces calls do for every piece that next returns. Workers run in parallel, each with its own
// piece. If some fail, it returns the index and error of the first of them. All pieces before that
// one are done.
func (r *reader) pieces(ctx context.Context, next func(context.Context, *piece) error,
	do func(worker int, p *piece) error,
) (int, error) {
	var mu sync.Mutex
	first, failure := math.MaxInt, error(nil)
	fail := func(index int, err error) {
		mu.Lock()
		defer mu.Unlock()
		if index < first {
			first, failure = index, err
		}
	}
	failed := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return failure != nil
	}
	r.Team.Run(func(worker int) {
		var p piece
		for !failed() {
			err := next(ctx, &p)
			if err == io.EOF {
				return
			}
			if err == nil {
				err = do(worker, &p)
			}
			if err != nil {
				fail(p.index, err)
				return
			}
		}
	})
	return first, failure
}
