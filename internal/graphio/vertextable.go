package graphio

import (
	"bytes"
	"cmp"
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
	switch format {
	case CSV, TSV, JSONLines, Parquet:
		return nil
	}
	if r.Columns.Vertices == "" {
		return nil
	}
	return fileFault(r.Columns.Vertices, "a table of vertices beside edges of format "+string(format), "edges of csv, tsv, jsonl or parquet")
}

// readVertices reads this rank's part of the table of vertices. texts has the names of the edges'
// vertices, to which its own are added; nil of numbers.
func (r *reader) readVertices(ctx context.Context, texts *names.Table) (*table, error) {
	f, err := r.open(ctx, r.Columns.Vertices)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, said, from, err := r.understandVertices(f)
	if err != nil {
		return nil, inFile(err, f.path)
	}
	var t *table
	if c == nil {
		t, said, err = r.parquetVertices(ctx, f, texts)
	} else {
		c.names, c.zeros = texts, r.Columns.IDs != ""
		t, err = r.readTable(ctx, f, from, grammar{columns: 1, high: maxID, csv: c})
	}
	if err != nil {
		return nil, err
	}
	if t.n == 0 && !r.partial {
		t.slabs.close()
		return nil, noVertices(f.path)
	}
	t.said = fmt.Sprintf("%s of %s (%s)", said, f.path, counted(t.n, "line", "lines"))
	return t, nil
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

// repeatedVertex looks for the first line of the table of vertices whose vertex has come before,
// and returns the fault of it. It reads the table anew, in order. named says that vertices are
// names.
func (r *reader) repeatedVertex(ctx context.Context, named bool) error {
	f, err := r.open(ctx, r.Columns.Vertices)
	if err != nil {
		return err
	}
	defer f.Close()
	bad := fileFault(f.path, "a vertex twice", "every vertex once")
	if !f.regular { // it cannot be read again
		return bad
	}
	c, _, from, err := r.understandVertices(f)
	if err != nil {
		return inFile(err, f.path)
	}
	if c == nil {
		return r.repeatedRow(ctx, f, named)
	}
	c.at[2] = c.at[0]
	seen := map[string]bool{}
	t := tableValues{csv: c, ends: 1, skip: true, each: func(v *Value) (found, expected string) {
		vertex := v.Vertex(0)
		if named {
			vertex = quote(v.Names[0])
		}
		if v.OfID = seen[vertex]; v.OfID {
			return "vertex " + vertex + " again", bad.expected
		}
		seen[vertex] = true
		return "", ""
	}}
	return cmp.Or(inFile(c.eachRecord(ctx, f, from, t.record), f.path), error(bad))
}

// repeatedRow is repeatedVertex of Parquet.
func (r *reader) repeatedRow(ctx context.Context, f *file, named bool) error {
	var texts *names.Table
	if named {
		texts = names.NewTable()
		defer texts.Close()
	}
	t, _, err := newReader(r.ReadOptions, r.piece).parquetVertices(ctx, f, texts)
	if err != nil {
		return err
	}
	defer t.slabs.close()
	x, err := number(ctx, r.Team, t)
	if err != nil {
		return err
	}
	if x.n == t.n {
		return f.changed("vertices twice")
	}
	row, _ := repeated(t, x)
	return fileFault(f.path, fmt.Sprintf("the vertex of row %d again", row+1), "every vertex once")
}
