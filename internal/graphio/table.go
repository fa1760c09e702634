package graphio

import (
	"context"
	"io"
	"math"
	"sync"

	"github.com/superstep-go/superstep/internal/edges"
)

// start is where the lines of data begin in a text file: after a header that has been read, or at its first byte.
type start struct {
	offset int64
	lines  int
}

// readTable parses the lines of this rank's part of f from the start given. Of several faults it returns the one that comes
// first.
func (r *reader) readTable(ctx context.Context, f *file, from start, g grammar) (*table, error) {
	t := &table{columns: min(g.columns, 2), weighted: g.columns == 3 && r.Weights != edges.Unweighted}
	t.slabs.using, t.slabs.admission = make([]*slab, r.Team.Size()), r.admission(f)
	var mu sync.Mutex
	put := func(index int, b batch) {
		mu.Lock()
		defer mu.Unlock()
		for len(t.batches) <= index {
			t.batches = append(t.batches, batch{})
		}
		t.batches[index] = b
	}
	parsers := make([]parser, r.Team.Size())
	src := f.part(from.offset, r.piece, false, r.rank, r.ranks)
	index, err := r.pieces(ctx, src, func(worker int, p *piece) error {
		q := &parsers[worker]
		q.grammar = g
		q.reset()
		data := p.data
		if p.at == 0 {
			var bad *fault
			if data, bad = cutBOM(data); bad != nil {
				q.lines = 1
				put(p.index, batch{lines: 1})
				return bad
			}
		}
		bad := q.parse(data)
		if bad != nil {
			put(p.index, batch{lines: q.lines})
			return bad
		}
		b, err := t.store(worker, p.index, q)
		put(p.index, b)
		return err
	})
	if err == nil {
		err = f.unchanged()
	}
	if err != nil {
		t.slabs.close()
		if bad, ok := err.(*fault); ok && bad.file == "" {
			before, wrong := src.before()
			if wrong != nil {
				return nil, wrong
			}
			bad.file, bad.line = f.path, from.lines+before
			for _, b := range t.batches[:index+1] {
				bad.line += b.lines
			}
		}
		return nil, err
	}
	t.seal()
	t.span = src.span()
	return t, nil
}

// pieces calls do for every piece of src, several at a time, each worker with a piece of its own. When some fail it
// returns the index and the error of the first of them; all pieces before that have been done.
func (r *reader) pieces(ctx context.Context, src source, do func(worker int, p *piece) error) (int, error) {
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
			err := src.next(ctx, &p)
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
