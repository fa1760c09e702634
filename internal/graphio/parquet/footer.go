// Package parquet reads and writes tables of Parquet for package graphio, which knows what their
// columns mean. The library decodes and encodes. It allocates whatever a file claims, so lengths
// are checked before it is called.
package parquet

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/superstep-go/superstep/internal/graphio"
)

// kinds are the types of columns that are read.
var kinds = map[format.Type]struct {
	graphio.ColumnType
	parquet.Type
}{
	format.Int32:     {graphio.IntColumn, parquet.Int32Type},
	format.Int64:     {graphio.IntColumn, parquet.Int64Type},
	format.Float:     {graphio.FloatColumn, parquet.FloatType},
	format.Double:    {graphio.FloatColumn, parquet.DoubleType},
	format.ByteArray: {graphio.TextColumn, parquet.ByteArrayType},
}

// column is a column at the top of the schema.
type column struct {
	graphio.StoredColumn
	leaf     int // its place among the leaves
	optional bool
	typ      parquet.Type
	size     int // bytes of a number, 0 of texts
}

// file is what a file of Parquet holds.
type file struct {
	source  graphio.ParquetSource
	meta    *format.FileMetaData
	columns []column
}

// Open reads the footer of a file, whose pages end at a place in it.
func Open(footer []byte, end int64, source graphio.ParquetSource) (*graphio.ParquetFile, error) {
	f := &file{source: source, meta: new(format.FileMetaData)}
	if _, err := decodeThrift(footer, f.meta); err != nil {
		return nil, err
	}
	leaves, err := f.readSchema()
	if err == nil {
		err = f.checkRowGroups(leaves, end)
	}
	table := &graphio.ParquetFile{Pages: f.pages}
	for i := range f.columns {
		table.Columns = append(table.Columns, f.columns[i].StoredColumn)
	}
	for i := range f.meta.RowGroups {
		table.Rows = append(table.Rows, f.meta.RowGroups[i].NumRows)
	}
	return table, err
}

// readSchema finds the columns at the top of the schema, which lists the tree of columns in
// depth-first order, and returns how many leaves it has.
func (f *file) readSchema() (leaves int, err error) {
	schema := f.meta.Schema
	if len(schema) == 0 {
		return 0, errors.New("no schema")
	}
	open := int64(0) // elements of the last column that are still to come
	for i := range schema[1:] {
		e := &schema[i+1]
		if open == 0 {
			open = 1
			f.columns = append(f.columns, columnOf(e, leaves))
		}
		open--
		if open += int64(max(e.NumChildren.V, 0)); e.NumChildren.V <= 0 {
			leaves++
		}
	}
	if want := max(schema[0].NumChildren.V, 0); open > 0 || len(f.columns) != int(want) {
		return 0, fmt.Errorf("a schema of %d columns where %d are expected", len(f.columns), want)
	}
	return leaves, nil
}

// columnOf says what a column is.
func columnOf(e *format.SchemaElement, leaf int) column {
	c := column{leaf: leaf, optional: e.RepetitionType.V == format.Optional}
	unsigned, other := meaning(e)
	if e.NumChildren.V > 0 || !e.Type.Valid || e.RepetitionType.V == format.Repeated {
		other = "lists or groups"
	}
	c.Name, c.Type, c.Of, c.Other = e.Name, graphio.BoolColumn, e.Type.V.String(), other
	if kind, ok := kinds[e.Type.V]; ok {
		c.Type, c.typ, c.size = kind.ColumnType, kind.Type, kind.Length()/8
	}
	if unsigned && c.Type == graphio.IntColumn {
		c.Type = graphio.UintColumn
	}
	return c
}

// meaning says whether integers have no sign, and names values that are neither numbers nor text.
func meaning(e *format.SchemaElement) (unsigned bool, other string) {
	switch t := e.LogicalType.Value.(type) {
	case nil:
	case *format.IntType:
		return !t.IsSigned, ""
	case *format.StringType, *format.EnumType, *format.JsonType:
		return false, ""
	default:
		return false, fmt.Sprint(t)
	}
	switch t := e.ConvertedType; {
	case !t.Valid || t.V == deprecated.UTF8 || t.V == deprecated.Enum || t.V == deprecated.Json:
		return false, ""
	case t.V >= deprecated.Uint8 && t.V <= deprecated.Int64: // without signs, and then with them
		return t.V <= deprecated.Uint64, ""
	default:
		return false, fmt.Sprintf("dates, times or decimals (converted type %d)", t.V)
	}
}

// checkRowGroups compares row groups with the schema and the bytes there are for pages.
func (f *file) checkRowGroups(leaves int, end int64) error {
	rows := int64(0)
	for i := range f.meta.RowGroups {
		g := &f.meta.RowGroups[i]
		if len(g.Columns) != leaves {
			return fmt.Errorf("row group %d with %d columns of %d", i, len(g.Columns), leaves)
		}
		if g.NumRows < 0 || g.NumRows > 1<<48-rows {
			return fmt.Errorf("row group %d with %d rows", i, g.NumRows)
		}
		rows += g.NumRows
		for j := range g.Columns {
			m := &g.Columns[j].MetaData
			from, size := chunkStart(m), m.TotalCompressedSize
			if from < 4 || size < 0 || from > end-size {
				return fmt.Errorf("column %d of row group %d beyond the end of the file", j, i)
			}
		}
	}
	if rows != f.meta.NumRows {
		return fmt.Errorf("%d rows in row groups of %d", rows, f.meta.NumRows)
	}
	return nil
}

// chunkStart is where the pages of a column of a row group begin.
func chunkStart(m *format.ColumnMetaData) int64 {
	if d := m.DictionaryPageOffset; d > 0 && d < m.DataPageOffset {
		return d
	}
	return m.DataPageOffset
}
