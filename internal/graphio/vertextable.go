package graphio

import (
	"bytes"
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/names"
)

// A table of vertices beside a table of edges (Columns.Vertices) has a line, or a row of Parquet,
// for each vertex: those that no edge names exist all the same. Its ids are numbers or names as
// those of the edges are. Of several ranks each reads a part of it, as of the edges.

// noVertices is the fault of a table of vertices without any.
func noVertices(path string) *fault { return fileFault(path, "no vertices", "a line for each") }

// takesVertices refuses a table of vertices beside edges of a format that has no place for one.
func (r *reader) takesVertices(format Format) error {
	if r.Columns.Vertices == "" || namesIn[format] {
		return nil
	}
	return fileFault(r.Columns.Vertices, "a table of vertices beside edges of format "+string(format), "edges of csv, tsv, jsonl or parquet")
}

// readVertices adds this rank's part of the table of vertices to what was parsed of the edges.
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
		p.repeated = func(_ context.Context, k int, _ uint64) error {
			return f.fault(fmt.Sprintf("the vertex of row %d again", int(t.spans[0].From)+k+1), "every vertex once")
		}
	} else {
		g := grammar{columns: 1, high: maxID, csv: c, named: p.names, zeros: r.Columns.IDs != ""}
		t, err = r.readTable(ctx, f, from, g)
		if err == nil {
			p.repeated = r.lineOf(f, g, from, t.spans[0].From, false, " again", "every vertex once")
		}
	}
	if err != nil {
		return err
	}
	p.listed = t
	if t.n == 0 && !r.partial {
		return noVertices(f.path)
	}
	p.what += fmt.Sprintf(", %s of %s (%s)", said, f.path, counted(t.n, "line"))
	return nil
}

// understandVertices tells what the columns of a table of vertices mean; of Parquet, whose columns
// have names and types, it returns no grammar.
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

// parquetVertices reads this rank's part of a table of vertices of Parquet, and says what it is.
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

// with returns a table that has the ids of another one, too, to number them. Its edges are not to
// be read.
func (t *table) with(also *table) *table {
	all := &table{columns: 2, n: t.n + also.n, max: max(t.max, also.max), batches: append([]batch(nil), t.batches...)}
	all.slabs.admission = t.slabs.admission
	for _, b := range also.batches {
		b.wide = true // one id a word
		all.batches = append(all.batches, b)
	}
	return all
}

// added notes that the edges have so many vertices that the table of vertices does not.
func (r *reader) added(s *edges.RankInput, n int) {
	what := counted(n, "vertex of the edges is", "vertices of the edges are")
	r.note(s, r.Columns.Vertices, what+" not in it, and added")
}
