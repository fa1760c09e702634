package graphio

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/edges"
)

// A table of vertices beside a table of edges (Columns.Vertices) has a line, or a row of Parquet,
// for each vertex. It may contain vertices without edges. Its ids are numbers or names, as those of
// the edges. Each rank reads a part of it.

// noVertices is the fault of an empty table of vertices.
func noVertices(path string) *fault { return fileFault(path, "no vertices", "a line for each") }

// takesVertices returns an error if the format of the edges does not allow a table of vertices.
func (r *reader) takesVertices(format Format) error {
	if r.Columns.Vertices == "" || namesIn[format] {
		return nil
	}
	return fileFault(r.Columns.Vertices, "a table of vertices beside edges of format "+
		string(format), "edges of csv, tsv, jsonl or parquet")
}

// readVertices adds this rank's part of the table of vertices to the parsed edges.
func (r *reader) readVertices(ctx context.Context, p *parsed) error {
	f, err := r.open(ctx, r.Columns.Vertices)
	if err != nil {
		return err
	}
	defer f.Close()
	read := r.vertexRecords
	if formatOfName(f.path) == Parquet || bytes.HasPrefix(f.head(), []byte(parquetMagic)) {
		read = r.parquetVertices
	}
	said, err := read(ctx, f, p)
	if err != nil {
		return inFile(err, f.path)
	}
	if p.listed.n == 0 && !r.partial {
		return noVertices(f.path)
	}
	p.what += fmt.Sprintf(", %s of %s (%s)", said, f.path, Counted(p.listed.n, "line"))
	return nil
}

// vertexRecords reads this rank's part of a CSV or TSV table of vertices, and describes it.
func (r *reader) vertexRecords(ctx context.Context, f *file, p *parsed) (string, error) {
	head := f.head()
	if err := f.foreign(head, CSV); err != nil {
		return "", err
	}
	o := Columns{Source: r.Columns.Vertex, ofVertices: true, IDs: IDKinds[0]}
	c, err := o.understand(f, formatOfName(f.path))
	if err == nil && c.header && f.headIsAll() &&
		len(bytes.TrimSpace(head[c.from.offset-f.bom:])) == 0 {
		err = noVertices(f.path)
	}
	if err != nil {
		return "", err
	}
	x := textFile{f: f, from: c.from, grammar: grammar{
		columns: 1, high: maxID, csv: c, named: p.named, zeros: r.Columns.IDs != "",
	}}
	if p.listed, err = r.readTable(ctx, x); err != nil {
		return "", err
	}
	p.Repeated = r.lineOf(x, p.listed.spans[0].From, false, " again", "every vertex once")
	return c.say(CSV), nil
}

// parquetVertices reads this rank's part of a Parquet table of vertices, and describes it.
func (r *reader) parquetVertices(ctx context.Context, f *file, p *parsed) (string, error) {
	rows, err := r.openParquet(f, Columns{Source: r.Columns.Vertex, ofVertices: true})
	if err != nil {
		return "", err
	}
	if rows.rows[len(rows.rows)-1] == 0 {
		return "", noVertices(f.path)
	}
	x := textFile{f: f, grammar: grammar{columns: 1, named: p.named}}
	if p.listed, err = rows.read(ctx, x); err != nil {
		return "", err
	}
	p.Repeated = func(_ context.Context, k int, _ uint64) error {
		return f.fault(fmt.Sprintf("the vertex of row %d again", int(rows.rows[rows.lo])+k+1),
			"every vertex once")
	}
	return rows.say(Parquet), nil
}

// with returns a table with the ids of t and of another table, to number them together. Only its
// ids are valid, not its edges.
func (t *table) with(also *table) *table {
	all := &table{columns: 2, n: t.n + also.n, max: max(t.max, also.max)}
	all.batches = slices.Clone(t.batches)
	all.slabs.admission = t.slabs.admission
	for _, b := range also.batches {
		b.wide = true // one id in a word
		all.batches = append(all.batches, b)
	}
	return all
}

// added notes that n vertices occur in edges, but not in the table of vertices.
func (r *reader) added(s *edges.RankInput, n int) {
	what := Counted(n, "vertex of the edges is", "vertices of the edges are")
	r.note(s, r.Columns.Vertices, what+" not in it, and added")
}
