package graphio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// parquetBatch is the number of rows that are read at a time.
const parquetBatch = 1 << 16

// parquetTable is a Parquet file whose rows are edges or, in a table of vertices, vertices.
type parquetTable struct {
	*ParquetFile
	*csvGrammar
	r      *reader
	x      textFile // its grammar has the number of columns, and the names
	lo, hi int      // this rank's row groups
	rows   []int64  // the first row of each row group, and the number of rows
}

// readParquet reads a Parquet table whose rows are edges. Row groups are read in parallel. Each
// rank reads some of them.
func (r *reader) readParquet(ctx context.Context, p *parsed) error {
	t, err := r.openParquet(p.f, r.Columns)
	if err != nil {
		return err
	}
	r.edgeTable(p, t.csvGrammar)
	p.table, err = t.read(ctx, p.textFile)
	return err
}

// openParquet reads the footer, and assigns row groups to ranks.
func (r *reader) openParquet(f *file, o Columns) (p *parquetTable, err error) {
	p = &parquetTable{r: r}
	if p.ParquetFile, err = r.readFooter(f); err != nil {
		return nil, err
	}
	if p.csvGrammar, err = o.parquet(p.Columns); err != nil {
		return nil, inFile(err, f.path)
	}
	p.rows = make([]int64, len(p.Rows)+1)
	for i, n := range p.Rows {
		p.rows[i+1] = p.rows[i] + n
	}
	p.lo, p.hi = edges.Part(len(p.Rows), r.rank, r.ranks)
	// A footer may claim many rows in pages of a few bytes. A row takes at least this much memory.
	mine := p.rows[p.hi] - p.rows[p.lo]
	r.admission(f).admit(8*mine, "the list of "+Counted(mine, "row"))
	return p, nil
}

// parquet finds the columns of source, target and weight or, in a table of vertices, the column of
// ids.
func (o *Columns) parquet(columns []StoredColumn) (*csvGrammar, error) {
	var titles []string
	for i := range columns {
		titles = append(titles, columns[i].Name)
	}
	if len(columns) < 2 && !o.ofVertices || len(columns) == 0 {
		return nil, wrong(Counted(len(columns), "column"), "2 or more")
	}
	c, err := o.titled("columns of Parquet", titles)
	if err != nil {
		if bad, ok := err.(*fault); ok {
			bad.line = 0
		}
		return nil, err
	}
	for i, at := range c.at {
		if at < 0 {
			continue
		}
		if bad := columns[at].usable(i == 2); bad != nil {
			return nil, bad
		}
		c.named = c.named || i < 2 && columns[at].Type == TextColumn
	}
	if o.IDs != "" {
		c.named = o.IDs == "name"
	}
	return c, nil
}

// usable returns a fault if the column cannot contain vertices, or weights if weight is true.
func (c *StoredColumn) usable(weight bool) *fault {
	bad := wrong(fmt.Sprintf("the column %q of type %s", c.Name, c.Of), "whole numbers or text")
	if weight {
		bad.expected = "numbers"
	}
	switch t := c.Type; {
	case c.Other != "":
		bad.found = fmt.Sprintf("the column %q of %s", c.Name, c.Other)
	case t == IntColumn || t == UintColumn, weight && t == FloatColumn, !weight && t == TextColumn:
		return nil
	}
	return bad
}

// read reads the row groups of this rank. x has the columns to read.
func (p *parquetTable) read(ctx context.Context, x textFile) (*table, error) {
	p.x = x
	t, err := p.r.filled(x.f, x.columns, func(t *table) error {
		var taken parallel.Counter
		taken.Reset(p.lo)
		next := func(_ context.Context, group *piece) error {
			if group.index = taken.Take(1); group.index >= p.hi {
				return io.EOF
			}
			return nil
		}
		err := p.r.pieces(ctx, next, func(worker int, group *piece) error {
			return p.group(ctx, t, worker, group.index)
		})
		if err == nil {
			err = x.f.unchanged(ctx)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	t.spans = []edges.Span{{From: p.rows[p.lo], To: p.rows[p.hi], Size: x.f.size()}}
	return t, nil
}

// rowGroup is the state of reading a row group.
type rowGroup struct {
	*parquetTable
	number int
	pages  [3]ParquetPages
	row    int64  // the first row of the batch, in the file
	column parser // the values of a column in the batch: ids or, as ids, the bits of weights
	batch  parser // the rows of the batch
}

// group reads a row group. Its first batch has an index above those of the groups before.
func (p *parquetTable) group(ctx context.Context, t *table, worker, number int) (err error) {
	g := &rowGroup{parquetTable: p, number: number, row: p.rows[number]}
	g.column.grammar = grammar{high: maxID, named: p.x.named, zeros: true}
	at, ends := 0, t.columns // the column being read, and the number of columns of ids
	defer func() {
		switch x := recover(); {
		case mem.IsExhausted(x) != nil:
			panic(x)
		case x != nil: // the library does not expect such a file
			err = g.fault(at, fmt.Errorf("%v", x))
		}
	}()
	for i, c := range p.at {
		if c >= 0 && (i < 2 || t.weighted) {
			g.pages[i] = p.Pages(c, number)
		}
	}
	index := int(g.row-p.rows[p.lo])/parquetBatch + number - p.lo
	for ; g.row < p.rows[number+1]; index++ {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n := int(min(parquetBatch, p.rows[number+1]-g.row))
		g.batch.ids = slices.Grow(g.batch.ids[:0], n*ends)[:n*ends]
		for at = range ends {
			if err := g.readIDs(at, n); err != nil {
				return g.fault(at, err)
			}
			for i, id := range g.column.ids {
				g.batch.ids[i*ends+at] = id
			}
		}
		if g.pages[2] != nil {
			at = 2
			if err := g.readWeights(n); err != nil {
				return g.fault(at, err)
			}
		}
		t.store(worker, index, &g.batch)
		g.row += int64(n)
	}
	return nil
}

// rowFault is a fault in row i of a batch. Its line is the number of the row, from 1.
func rowFault(i int, found, expected string) *fault { return wrong(found, expected).onLine(i+1, 0) }

// fault adds the place to an error in a column.
func (g *rowGroup) fault(at int, err error) error {
	name := g.titles[g.at[at]]
	var null *MissingValue
	var read *readError
	var bad *fault
	switch {
	case errors.As(err, &bad) && bad.line > 0:
		return g.x.f.fault(fmt.Sprintf("%s in %q, row %d", bad.found, name, g.row+int64(bad.line)),
			bad.expected)
	case errors.As(err, &null):
		return g.x.f.fault(fmt.Sprintf("nothing in %q, row %d", name, g.rows[g.number]+null.Row+1),
			"a value in every row")
	case errors.As(err, &read), errors.As(err, &bad), errors.Is(err, context.Canceled):
		return err
	default:
		return g.x.f.fault(fmt.Sprintf("an invalid column %q in row group %d: %v", name, g.number,
			err), "a whole file of Parquet")
	}
}

// readIDs reads the vertices of n rows.
func (g *rowGroup) readIDs(at, n int) (err error) {
	c := &g.column
	c.reset()
	if t := g.Columns[g.at[at]].Type; t == TextColumn {
		err = g.readTexts(at, n)
	} else {
		err = g.readNumbers(at, n, t == UintColumn)
	}
	if err == nil && c.named != nil {
		c.ids = c.named.Take(&c.names, c.ids[:0])
	}
	return err
}

// readWords reads the numbers of n rows.
func (g *rowGroup) readWords(at, n int) ([]uint64, error) {
	g.column.ids = slices.Grow(g.column.ids[:0], n)[:n]
	return g.column.ids, g.pages[at].Words(g.column.ids)
}

// readNumbers reads vertices that are numbers.
func (g *rowGroup) readNumbers(at, n int, unsigned bool) error {
	ids, err := g.readWords(at, n)
	if err == nil && (g.x.named == nil || unsigned) {
		err = checkIDs(ids, unsigned)
	}
	if err != nil || g.x.named == nil {
		return err
	}
	text := make([]byte, 0, 20*n)
	for _, id := range ids {
		from := len(text)
		if unsigned {
			text = strconv.AppendUint(text, id, 10)
		} else {
			text = strconv.AppendInt(text, int64(id), 10)
		}
		g.column.names.Add(text[from:len(text):len(text)])
	}
	return nil
}

// checkIDs refuses negative numbers, and the number above maxID.
func checkIDs(ids []uint64, unsigned bool) error {
	for i, id := range ids {
		switch {
		case id < 1<<63:
		case !unsigned:
			return rowFault(i, fmt.Sprintf("the negative number %d", int64(id)),
				"a vertex: a whole number from 0 on (--ids name reads ids of any kind)")
		case id > maxID:
			return rowFault(i, fmt.Sprintf("the reserved id %d", id), "a smaller number")
		}
	}
	return nil
}

// readTexts reads the vertices of n rows from a column of text.
func (g *rowGroup) readTexts(at, n int) error {
	row := 0
	return g.pages[at].Texts(n, func(text []byte) error {
		row++
		switch {
		case g.x.named == nil:
		case len(text) > maxLine:
			return rowFault(row-1, "a name of more than 1 MiB", "shorter ones")
		case !utf8.Valid(text):
			return rowFault(row-1, "bytes that are not UTF-8: "+quote(text), "names in UTF-8")
		}
		if bad := g.column.end(text); bad != nil {
			return bad.onLine(row, 0)
		}
		return nil
	})
}

// readWeights reads the weights of n rows.
func (g *rowGroup) readWeights(n int) error {
	words, err := g.readWords(2, n)
	if err != nil {
		return err
	}
	g.batch.weights = slices.Grow(g.batch.weights[:0], n)[:n]
	for i, x := range words {
		was := float64(int64(x))
		switch g.Columns[g.at[2]].Type {
		case FloatColumn:
			was = math.Float64frombits(x)
		case UintColumn:
			was = float64(x)
		}
		w := was
		if g.r.Weights == edges.Float32 {
			w = float64(float32(w))
		}
		if math.IsNaN(w) || math.IsInf(w, 0) || w == 0 && was != 0 {
			return rowFault(i, fmt.Sprintf("the weight %v", was), "a finite number that fits")
		}
		g.batch.weights[i] = w
	}
	return nil
}
