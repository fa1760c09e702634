// Package parquet reads and writes Parquet tables for package graphio, which knows the meaning of
// their columns. A library decodes and encodes. It trusts the lengths in a file when it allocates,
// so this package checks them first. Start with footer.go and page.go.
package parquet

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/superstep-go/superstep/internal/graphio"
)

// kinds are the column types that are read.
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

// column is a top-level column of the schema.
type column struct {
	graphio.StoredColumn
	leaf     int // its index among the leaves of the schema
	optional bool
	typ      parquet.Type
	size     int // bytes of a number, 0 for texts
}

// file is the footer of a Parquet file.
type file struct {
	source  graphio.ParquetSource
	meta    *format.FileMetaData
	columns []column
}

// Open decodes the footer of a file. end is the offset after the last page.
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

// readSchema finds the top-level columns of the schema, which lists the tree of columns in
// depth-first order. It returns the number of leaves.
func (f *file) readSchema() (leaves int, err error) {
	schema := f.meta.Schema
	if len(schema) == 0 {
		return 0, errors.New("no schema")
	}
	open := int64(0) // remaining elements of the current top-level column
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

// columnOf describes a column.
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

// meaning reports whether integers are unsigned. other names the type of values that are neither
// numbers nor text.
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
	case t.V >= deprecated.Uint8 && t.V <= deprecated.Int64: // unsigned types, then signed ones
		return t.V <= deprecated.Uint64, ""
	default:
		return false, fmt.Sprintf("dates, times or decimals (converted type %d)", t.V)
	}
}

// checkRowGroups checks the row groups against the schema and the size of the file's pages.
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

// chunkStart returns the offset of the first page of a column in a row group.
func chunkStart(m *format.ColumnMetaData) int64 {
	if d := m.DictionaryPageOffset; d > 0 && d < m.DataPageOffset {
		return d
	}
	return m.DataPageOffset
}
