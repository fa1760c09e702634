// Package parquet reads and writes tables of Parquet for package graphio, which knows what their columns mean.
package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/superstep-go/superstep/internal/graphio"
)

// A file of Parquet ends with what it holds: | PAR1 | pages ... | footer | size of the footer (uint32) | PAR1 |. The footer and the headers of
// pages are structs of Thrift's compact protocol; the library that reads them makes room for what lengths say before it looks at what is there, so
// that all lengths are checked first.
//
// thriftDepth is how deep structs may be nested: those of Parquet are less than 10 deep.
const thriftDepth = 32

var (
	errThriftEnd  = errors.New("a struct that goes on after its end")
	errThriftForm = errors.New("no struct of the compact protocol")
)

// thriftWalk goes through values of Thrift's compact protocol, without making anything of them.
type thriftWalk struct {
	data    []byte
	at      int
	structs int // in lists, so far
}

// thriftLength returns the length of the struct that data begins with, if all lengths in it are within data.
func thriftLength(data []byte) (int, error) {
	w := thriftWalk{data: data}
	err := w.fields(0)
	if err == nil && w.structs > len(data)/6+64 {
		err = errThriftForm // structs of nothing, that take memory
	}
	return w.at, err
}

func (w *thriftWalk) byte() (byte, error) {
	if w.at >= len(w.data) {
		return 0, errThriftEnd
	}
	w.at++
	return w.data[w.at-1], nil
}

func (w *thriftWalk) uvarint() (uint64, error) {
	x, n := binary.Uvarint(w.data[w.at:])
	switch {
	case n == 0:
		return 0, errThriftEnd
	case n < 0:
		return 0, errThriftForm
	}
	w.at += n
	return x, nil
}

func (w *thriftWalk) skip(n uint64) error {
	if n > uint64(len(w.data)-w.at) {
		return errThriftEnd
	}
	w.at += int(n)
	return nil
}

// fields goes through the fields of a struct.
func (w *thriftWalk) fields(depth int) error {
	if depth > thriftDepth {
		return errThriftForm
	}
	for {
		b, err := w.byte()
		if err != nil || b == 0 {
			return err
		}
		if b>>4 == 0 { // the number of the field follows
			if _, err := w.uvarint(); err != nil {
				return err
			}
		}
		if kind := b & 15; kind > 2 { // else a truth value, which the type says
			if err := w.value(kind, depth); err != nil {
				return err
			}
		}
	}
}

// value goes through a value of a type.
func (w *thriftWalk) value(kind byte, depth int) error {
	switch kind {
	case 1, 2, 3:
		return w.skip(1)
	case 4, 5, 6:
		_, err := w.uvarint()
		return err
	case 7:
		return w.skip(8)
	case 8:
		n, err := w.uvarint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case 9, 10:
		return w.list(depth)
	case 12:
		return w.fields(depth + 1)
	default: // maps, which Parquet has none of
		return errThriftForm
	}
}

func (w *thriftWalk) list(depth int) error {
	b, err := w.byte()
	if err != nil {
		return err
	}
	n := uint64(b >> 4)
	if n == 15 {
		if n, err = w.uvarint(); err != nil {
			return err
		}
	}
	if n > uint64(len(w.data)-w.at) {
		return errThriftEnd
	}
	if b&15 >= 8 {
		w.structs += int(n)
	}
	if depth > thriftDepth {
		return errThriftForm
	}
	for range n {
		if err := w.value(b&15, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// decodeThrift reads a struct whose lengths were checked.
func decodeThrift(data []byte, to any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return thrift.Unmarshal(new(thrift.CompactProtocol), data, to)
}

// column is a column at the top of the schema.
type column struct {
	name     string
	leaf     int // its place among the leaves; -1 of a group or a list
	optional bool
	kind     format.Type
	unsigned bool
	other    string // what it is, if neither numbers nor text: lists, dates, decimals
}

// file is what a file of Parquet holds.
type file struct {
	source  graphio.ParquetSource
	meta    *format.FileMetaData
	columns []column
}

// Open reads the footer of a file, whose pages end at a place in it.
func Open(footer []byte, end int64, source graphio.ParquetSource) (graphio.ParquetFile, error) {
	f := &file{source: source, meta: new(format.FileMetaData)}
	n, err := thriftLength(footer)
	if err == nil {
		err = decodeThrift(footer[:n], f.meta)
	}
	if err != nil {
		return nil, err
	}
	leaves := 0
	if f.columns, leaves, err = schemaOf(f.meta.Schema); err != nil {
		return nil, err
	}
	return f, checkRowGroups(f.meta, leaves, end)
}

// Rows is how many rows each row group has.
func (f *file) Rows() []int64 {
	rows := make([]int64, len(f.meta.RowGroups))
	for i := range rows {
		rows[i] = f.meta.RowGroups[i].NumRows
	}
	return rows
}

// Columns are those at the top of the schema.
func (f *file) Columns() []graphio.StoredColumn {
	all := make([]graphio.StoredColumn, len(f.columns))
	for i := range f.columns {
		c := &f.columns[i]
		all[i] = graphio.StoredColumn{Name: c.name, Of: c.kind.String(), Other: c.other, Type: graphio.BoolColumn}
		switch {
		case (c.kind == format.Int32 || c.kind == format.Int64) && c.unsigned:
			all[i].Type = graphio.UintColumn
		case c.kind == format.Int32 || c.kind == format.Int64:
			all[i].Type = graphio.IntColumn
		case c.kind == format.Float || c.kind == format.Double:
			all[i].Type = graphio.FloatColumn
		case c.kind == format.ByteArray:
			all[i].Type = graphio.TextColumn
		}
	}
	return all
}

// schemaOf returns the columns at the top of a schema, which lists the tree of columns in depth-first order, and how many leaves it has.
func schemaOf(schema []format.SchemaElement) ([]column, int, error) {
	if len(schema) == 0 {
		return nil, 0, errors.New("no schema")
	}
	at, leaves := 1, 0
	var columns []column
	for range max(schema[0].NumChildren.V, 0) {
		if at >= len(schema) {
			return nil, 0, errors.New("a schema with columns missing")
		}
		columns = append(columns, columnOf(&schema[at], leaves))
		for open := int64(1); open > 0; open-- { // elements of this column that are still to come
			if at >= len(schema) {
				return nil, 0, errors.New("a schema with columns missing")
			}
			if e := &schema[at]; e.NumChildren.Valid && e.NumChildren.V > 0 {
				open += int64(e.NumChildren.V)
			} else {
				leaves++
			}
			at++
		}
	}
	if at != len(schema) {
		return nil, 0, errors.New("a schema with too many columns")
	}
	return columns, leaves, nil
}

// columnOf says what a column is.
func columnOf(e *format.SchemaElement, leaf int) column {
	c := column{name: e.Name, leaf: leaf, kind: e.Type.V}
	c.optional = e.RepetitionType.Valid && e.RepetitionType.V == format.Optional
	if e.NumChildren.Valid && e.NumChildren.V > 0 || !e.Type.Valid || e.RepetitionType.Valid && e.RepetitionType.V == format.Repeated {
		c.leaf, c.other = -1, "lists or groups"
		return c
	}
	switch t := e.LogicalType.Value.(type) {
	case nil:
	case *format.IntType:
		c.unsigned = !t.IsSigned
		return c
	case *format.StringType, *format.EnumType, *format.JsonType:
		return c
	default:
		c.other = fmt.Sprint(t)
		return c
	}
	if !e.ConvertedType.Valid {
		return c
	}
	switch t := e.ConvertedType.V; t {
	case deprecated.UTF8, deprecated.Enum, deprecated.Json, deprecated.Int8, deprecated.Int16, deprecated.Int32, deprecated.Int64:
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		c.unsigned = true
	default:
		c.other = fmt.Sprintf("numbers with a meaning of their own (converted type %d: dates, times, decimals)", t)
	}
	return c
}

// checkRowGroups compares row groups with the schema and the bytes there are for pages.
func checkRowGroups(meta *format.FileMetaData, leaves int, end int64) error {
	rows := int64(0)
	for i := range meta.RowGroups {
		g := &meta.RowGroups[i]
		if len(g.Columns) != leaves {
			return fmt.Errorf("row group %d with %d columns of %d", i, len(g.Columns), leaves)
		}
		if g.NumRows < 0 || g.NumRows > 1<<48-rows {
			return fmt.Errorf("row group %d with %d rows", i, g.NumRows)
		}
		rows += g.NumRows
		for j := range g.Columns {
			m := &g.Columns[j].MetaData
			from := chunkStart(m)
			if from < 4 || m.TotalCompressedSize < 0 || m.TotalCompressedSize > end || from > end-m.TotalCompressedSize {
				return fmt.Errorf("column %d of row group %d beyond the end of the file", j, i)
			}
		}
	}
	if rows != meta.NumRows {
		return fmt.Errorf("%d rows in row groups of %d", rows, meta.NumRows)
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
