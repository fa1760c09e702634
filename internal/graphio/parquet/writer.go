package parquet

import (
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/superstep-go/superstep/internal/graphio"
)

const (
	// groupRows is the number of rows in a written row group. Different threads or processes can
	// read the row groups.
	groupRows = 1 << 20
	// buffered is the number of values of a column that are passed to the library at a time.
	buffered = 1 << 12
)

// nodes are the types of columns.
var nodes = [...]parquet.Node{
	graphio.TextColumn:  parquet.Encoded(parquet.String(), &parquet.Plain),
	graphio.IntColumn:   parquet.Encoded(parquet.Int(64), &parquet.Plain),
	graphio.UintColumn:  parquet.Encoded(parquet.Uint(64), &parquet.Plain),
	graphio.FloatColumn: parquet.Encoded(parquet.Leaf(parquet.DoubleType), &parquet.Plain),
	graphio.BoolColumn:  parquet.Leaf(parquet.BooleanType),
}

// writer writes a table with plain encoding and Snappy compression. For each row the caller adds a
// value to each column, in order, and then calls Row.
type writer struct {
	w       *parquet.GenericWriter[any]
	columns []*parquet.ColumnWriter
	values  [][]parquet.Value
	rows    int
}

// orderedGroup is a schema that keeps the order of columns. parquet.Group sorts them by name.
type orderedGroup struct {
	parquet.Group
	fields []parquet.Field
}

func (g orderedGroup) Fields() []parquet.Field { return g.fields }

// Create begins a table.
func Create(w io.Writer, columns []graphio.ParquetColumn) graphio.ParquetWriter {
	schema := orderedGroup{Group: parquet.Group{}}
	for _, c := range columns {
		one := parquet.Group{c.Name: nodes[c.Type]}
		schema.Group[c.Name] = nodes[c.Type]
		schema.fields = append(schema.fields, one.Fields()...)
	}
	p := &writer{values: make([][]parquet.Value, len(columns))}
	p.w = parquet.NewGenericWriter[any](w, parquet.NewSchema("superstep", schema),
		parquet.Compression(&parquet.Snappy),
		parquet.DataPageStatistics(false), parquet.PageBufferSize(1<<20),
		parquet.CreatedBy("superstep", "", ""))
	p.columns = p.w.ColumnWriters()
	return p
}

func (p *writer) add(column int, v parquet.Value) {
	p.values[column] = append(p.values[column], v.Level(0, 0, column))
}

// Int adds a value to a column of type IntColumn or UintColumn.
func (p *writer) Int(column int, x int64) { p.add(column, parquet.Int64Value(x)) }

// Float adds a value to a column of type FloatColumn.
func (p *writer) Float(column int, x float64) { p.add(column, parquet.DoubleValue(x)) }

// Bool adds a value to a column of type BoolColumn.
func (p *writer) Bool(column int, x bool) { p.add(column, parquet.BooleanValue(x)) }

// Text adds a value to a column of type TextColumn. x must not change before 4096 more rows were
// written.
func (p *writer) Text(column int, x []byte) { p.add(column, parquet.ByteArrayValue(x)) }

// Row ends a row.
func (p *writer) Row() error {
	p.rows++
	if p.rows%buffered == 0 {
		if err := p.handOver(); err != nil {
			return err
		}
	}
	if p.rows%groupRows == 0 {
		return p.w.Flush()
	}
	return nil
}

// handOver passes the buffered values to the library.
func (p *writer) handOver() error {
	for i, values := range p.values {
		if _, err := p.columns[i].WriteRowValues(values); err != nil {
			return err
		}
		clear(values)
		p.values[i] = values[:0]
	}
	return nil
}

// Close ends the table.
func (p *writer) Close() error {
	if err := p.handOver(); err != nil {
		return err
	}
	return p.w.Close()
}
