package graphio

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/names"
)

// A table of vertices beside a table of edges (Columns.Vertices) has a line, or a row of Parquet,
// for each vertex. It may contain vertices without edges. Its ids are numbers or names, as those of
// the edges. Each rank reads a part of it.

// noVertices is the fault of an empty table of vertices.
func noVertices(path string) *fault { return fileFault(path, "no vertices", "a line for each") }

// takesVertices returns an error if the format of the edges does not allow a table of vertices.
func (r *reader) takesVertices(format Format) error {
	switch format {
	case CSV, TSV, JSONLines, Parquet:
		return nil
	}
	if r.Columns.Vertices == "" {
		return nil
	}
	return fileFault(r.Columns.Vertices, "a table of vertices beside edges of format "+string(format), "edges of csv, tsv, jsonl or parquet")
}

// readVertices adds this rank's part of the table of vertices to the parsed edges.
func (r *reader) readVertices(ctx context.Context, p *parsed) error {
	f, err := r.open(ctx, r.Columns.Vertices)
	if err != nil {
		return err
	}
	defer f.Close()
	c, said, from, err := r.understandVertices(f)
	if err != nil {
		return inFile(err, f.path)
	}
	var t *table
	if c == nil {
		t, said, err = r.parquetVertices(ctx, f, p.names)
	} else {
		c.names, c.zeros = p.names, r.Columns.IDs != ""
		t, err = r.readTable(ctx, f, from, grammar{columns: 1, high: maxID, csv: c})
	}
	if err != nil {
		return err
	}
	p.listed = t
	if t.n == 0 && !r.partial {
		return noVertices(f.path)
	}
	p.what += fmt.Sprintf(", %s of %s (%s)", said, f.path, counted(t.n, "line"))
	p.repeated = func(ctx context.Context, k int, _ uint64) error {
		if c == nil {
			return f.fault(fmt.Sprintf("the vertex of row %d again", int(t.spans[0].From)+k+1), "every vertex once")
		}
		return r.repeatedVertex(ctx, f, *c, from, t.spans[0].From, k)
	}
	return nil
}

// understandVertices derives the meaning of the columns of a table of vertices. For Parquet, whose
// columns have names and types, it returns no grammar.
func (r *reader) understandVertices(f *file) (*csvGrammar, string, start, error) {
	format := formatOfName(f.path)
	head := f.head()
	if format == Parquet || bytes.HasPrefix(head, []byte(parquetMagic)) {
		return nil, "", start{}, nil
	}
	if err := f.foreign(head, CSV); err != nil {
		return nil, "", start{}, err
	}
	o := Columns{Source: r.Columns.Vertex, ofVertices: true, IDs: IDKinds[0]}
	c, said, from, err := o.understand(head, f.headIsAll(), format)
	if err == nil && from.offset > 0 && f.headIsAll() && len(bytes.TrimSpace(head[from.offset:])) == 0 {
		err = noVertices(f.path)
	}
	return c, said, from, err
}

// parquetVertices reads this rank's part of a Parquet table of vertices, and describes it.
func (r *reader) parquetVertices(ctx context.Context, f *file, texts *names.Table) (*table, string, error) {
	p, said, err := r.openParquet(f, Columns{Source: r.Columns.Vertex, ofVertices: true})
	if err != nil {
		return nil, "", err
	}
	if p.rows[len(p.rows)-1] == 0 {
		return nil, "", noVertices(f.path)
	}
	p.names = texts
	t, err := p.read(ctx)
	return t, said, err
}

// with returns a table with the ids of t and of another table, to number them together. Only its
// ids are valid, not its edges.
func (t *table) with(also *table) *table {
	all := &table{columns: 2, n: t.n + also.n, max: max(t.max, also.max), batches: append([]batch(nil), t.batches...)}
	all.slabs.admission = t.slabs.admission
	for _, b := range also.batches {
		b.wide = true // one id in a word
		all.batches = append(all.batches, b)
	}
	return all
}

// added notes that n vertices occur in edges, but not in the table of vertices.
func (r *reader) added(s *edges.RankInput, n int) {
	what := counted(n, "vertex of the edges is", "vertices of the edges are")
	r.note(s, r.Columns.Vertices, what+" not in it, and added")
}

// repeatedVertex locates a vertex that occurs twice, and returns its fault. It is the k-th vertex
// of the records that begin at first or later. It parses the table again.
func (r *reader) repeatedVertex(ctx context.Context, f *file, c csvGrammar, from start, first int64, k int) error {
	bad := f.fault("a vertex twice", "every vertex once")
	p := parser{grammar: grammar{columns: 1, high: maxID, csv: &c}}
	cut := func(data []byte) (record, rest []byte, ends bool) {
		p.reset()
		p.names.Reset()
		p.cut.scratch = nil
		record, rest, wrong := p.record(data, c.names == nil)
		if wrong != nil {
			record = nil // a skipped line
		}
		return record, rest, true
	}
	return r.again(ctx, f, bad, func(f *file) error {
		return cmp.Or(inFile(c.eachRecord(ctx, f, from, cut, func(record []byte, at int64, line int) error {
			if at >= first {
				k--
			}
			if k >= 0 {
				return nil
			}
			var fields [3][]byte
			_ = c.fields(&p.cut, record, true, &fields) // it was read before without an error
			vertex := quote(fields[0])
			if c.names == nil {
				vertex = strconv.FormatUint(p.ids[0], 10)
			}
			bad.found = "vertex " + vertex + " again"
			return bad.onLine(c.placeOf(c.begins(record, c.at[0]), record, line))
		}), f.path), error(bad))
	})
}
