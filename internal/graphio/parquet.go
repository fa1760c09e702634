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
	"github.com/superstep-go/superstep/internal/names"
	"github.com/superstep-go/superstep/internal/parallel"
)

// parquetBatch is the number of rows that are read at a time.
const parquetBatch = 1 << 16

// parquetTable is a file of Parquet whose rows are edges.
type parquetTable struct {
	r        *reader
	f        *file
	table    *ParquetFile
	columns  [3]*StoredColumn // the source, the target and the weight, if there is one
	at       [3]int           // their indices, -1 if there is none
	names    *names.Table     // nil if ids are numbers
	ends     int              // columns of ids: 2, or 1 in a table of vertices
	lo, hi   int              // this rank's row groups
	firsts   []int            // the first batch of each of these row groups
	rows     []int64          // the first row of each row group, and the number of rows
	weighted bool
}

// readParquet reads a Parquet table whose rows are edges. The vertices are all ids or names in it.
// Row groups are read in parallel. Each rank reads some of them.
func (r *reader) readParquet(ctx context.Context, f *file) (*edges.RankInput, error) {
	p, said, err := r.openParquet(f, r.Columns)
	if err != nil {
		return nil, err
	}
	defer p.names.Close()
	t, err := p.read(ctx)
	if err != nil {
		return nil, err
	}
	return r.edgesOf(ctx,
		&parsed{f: f, table: t, names: p.names, what: said, weighted: p.weighted, directed: true})
}

// openParquet reads the footer, and assigns row groups to ranks.
func (r *reader) openParquet(f *file, o Columns) (p *parquetTable, said string, err error) {
	p = &parquetTable{r: r, f: f}
	if p.table, err = r.readFooter(f); err != nil {
		return nil, "", err
	}
	if said, err = p.understand(p.table.Columns, &o); err != nil {
		return nil, "", inFile(err, f.path)
	}
	groups := p.table.Rows
	p.lo, p.hi = edges.Part(len(groups), r.rank, r.ranks)
	p.firsts, p.rows = make([]int, len(groups)), make([]int64, len(groups)+1)
	batch := 0
	for i, n := range groups {
		if p.rows[i+1] = p.rows[i] + n; i >= p.lo && i < p.hi {
			p.firsts[i] = batch
			batch += int((n + parquetBatch - 1) / parquetBatch)
		}
	}
	// A footer may claim many rows in pages of a few bytes. A row takes at least this much memory.
	mine := p.rows[p.hi] - p.rows[p.lo]
	r.admission(f).admit(8*mine, "the list of "+counted(mine, "row"))
	return p, said, nil
}

// understand finds the columns of source, target and weight or, in a table of vertices, the column
// of ids.
func (p *parquetTable) understand(columns []StoredColumn, o *Columns) (string, error) {
	var titles []string
	for i := range columns {
		titles = append(titles, columns[i].Name)
	}
	if len(columns) < 2 && !o.ofVertices || len(columns) == 0 {
		return "", wrong(counted(len(columns), "column"), "2 or more")
	}
	c, err := o.titled("columns of Parquet", titles)
	if err != nil {
		var bad *fault
		if errors.As(err, &bad) {
			bad.line = 0
		}
		return "", err
	}
	p.at = c.at
	for i, at := range c.at {
		if at < 0 {
			continue
		}
		p.columns[i] = &columns[at]
		if bad := columns[at].usable(i == 2); bad != nil {
			return "", bad
		}
	}
	if p.ends = 2; o.ofVertices {
		p.ends = 1
		return c.say(Parquet, true), nil
	}
	p.weighted = p.columns[2] != nil
	text := func(c *StoredColumn) bool { return c.Type == TextColumn }
	if o.IDs == "name" || o.IDs == "" && (text(p.columns[0]) || text(p.columns[1])) {
		p.names = names.NewTable()
	}
	return c.say(Parquet, true), nil
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

// read reads the row groups of this rank.
func (p *parquetTable) read(ctx context.Context) (*table, error) {
	columns := p.ends
	if p.weighted {
		columns = 3
	}
	t, err := p.r.filled(p.f, columns, func(t *table) error {
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
			err = p.f.unchanged()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	t.spans = []edges.Span{{From: p.rows[p.lo], To: p.rows[p.hi], Size: p.f.size()}}
	return t, nil
}

// rowGroup is the state of reading a row group.
type rowGroup struct {
	*parquetTable
	number  int
	columns [3]ParquetPages
	row     int64    // the first row of the batch, in the file
	batch   parser   // the rows of the batch
	words   []uint64 // the values of a column in the batch: ids, or bits of weights
}

// group reads a row group.
func (p *parquetTable) group(ctx context.Context, t *table, worker, number int) (err error) {
	g := &rowGroup{parquetTable: p, number: number, row: p.rows[number]}
	g.batch.high = maxID
	at := 0 // the column being read
	defer func() {
		switch x := recover(); {
		case mem.IsExhausted(x) != nil:
			panic(x)
		case x != nil: // the library does not expect such a file
			err = g.fault(at, fmt.Errorf("%v", x))
		}
	}()
	for i, c := range p.columns {
		if c != nil && (i < 2 || t.weighted) {
			g.columns[i] = p.table.Pages(p.at[i], number)
		}
	}
	for index := p.firsts[number]; g.row < p.rows[number+1]; index++ {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n := int(min(parquetBatch, p.rows[number+1]-g.row))
		g.batch.ids = slices.Grow(g.batch.ids[:0], n*p.ends)[:n*p.ends]
		for at = range p.ends {
			if err := g.readIDs(at, n); err != nil {
				return g.fault(at, err)
			}
			for i, id := range g.words {
				g.batch.ids[i*p.ends+at] = id
			}
		}
		if g.columns[2] != nil {
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
func (g *rowGroup) fault(column int, err error) error {
	name := g.parquetTable.columns[column].Name
	var null *MissingValue
	var read *readError
	var bad *fault
	switch {
	case errors.As(err, &bad) && bad.line > 0:
		return g.f.fault(fmt.Sprintf("%s in %q, row %d", bad.found, name, g.row+int64(bad.line)),
			bad.expected)
	case errors.As(err, &null):
		return g.f.fault(fmt.Sprintf("nothing in %q, row %d", name, g.rows[g.number]+null.Row+1),
			"a value in every row")
	case errors.As(err, &read), errors.As(err, &bad), errors.Is(err, context.Canceled):
		return err
	default:
		return g.f.fault(fmt.Sprintf("an invalid column %q in row group %d: %v", name, g.number,
			err), "a whole file of Parquet")
	}
}

// readIDs reads the vertices of n rows.
func (g *rowGroup) readIDs(at, n int) (err error) {
	c := g.parquetTable.columns[at].Type
	g.batch.names.Reset()
	if c == TextColumn {
		err = g.readTexts(at, n)
	} else {
		err = g.readNumbers(at, n, c == UintColumn)
	}
	if err == nil && g.names != nil {
		g.words = g.names.Take(&g.batch.names, g.words[:0])
	}
	return err
}

// readNumbers reads vertices that are numbers.
func (g *rowGroup) readNumbers(at, n int, unsigned bool) error {
	g.words = slices.Grow(g.words[:0], n)[:n]
	if err := g.columns[at].Words(g.words); err != nil {
		return err
	}
	if g.names == nil || unsigned {
		if err := checkIDs(g.words, unsigned); err != nil {
			return err
		}
	}
	if g.names == nil {
		return nil
	}
	text := make([]byte, 0, 20*n)
	for _, id := range g.words {
		from := len(text)
		if unsigned {
			text = strconv.AppendUint(text, id, 10)
		} else {
			text = strconv.AppendInt(text, int64(id), 10)
		}
		g.batch.names.Add(text[from:len(text):len(text)])
	}
	return nil
}

// checkIDs refuses negative numbers, and the number above maxID.
func checkIDs(ids []uint64, unsigned bool) error {
	all := uint64(0)
	for _, id := range ids {
		all |= id
	}
	if all < 1<<63 {
		return nil
	}
	for i, id := range ids {
		switch {
		case !unsigned && int64(id) < 0:
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
	g.words = slices.Grow(g.words[:0], n)
	row := 0
	return g.columns[at].Texts(n, func(text []byte) error {
		row++
		switch {
		case len(text) == 0:
			return rowFault(row-1, "nothing", "a vertex")
		case g.names == nil:
			id, bad := g.batch.id(text)
			if bad != nil {
				bad.expected += " (--ids name reads ids of any kind)"
				return bad.onLine(row, 0)
			}
			g.words = append(g.words, id)
		case len(text) > maxLine:
			return rowFault(row-1, "a name of more than 1 MiB", "shorter ones")
		case !utf8.Valid(text):
			return rowFault(row-1, "bytes that are not UTF-8: "+quote(text), "names in UTF-8")
		default:
			g.batch.names.Add(text)
		}
		return nil
	})
}

// readWeights reads the weights of n rows.
func (g *rowGroup) readWeights(n int) error {
	c := g.parquetTable.columns[2].Type
	g.words = slices.Grow(g.words[:0], n)[:n]
	if err := g.columns[2].Words(g.words); err != nil {
		return err
	}
	g.batch.weights = slices.Grow(g.batch.weights[:0], n)[:n]
	single := g.r.single()
	for i, x := range g.words {
		var w float64
		switch {
		case c == FloatColumn:
			w = math.Float64frombits(x)
		case c == UintColumn:
			w = float64(x)
		default:
			w = float64(int64(x))
		}
		was := w
		if single {
			w = float64(float32(w))
		}
		if math.IsNaN(w) || math.IsInf(w, 0) || w == 0 && was != 0 {
			return rowFault(i, fmt.Sprintf("the weight %v", was), "a finite number that fits")
		}
		g.batch.weights[i] = w
	}
	return nil
}
