package graphio

import (
	"fmt"
	"io"
	"math"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/superstep-go/superstep/internal/edges"
)

// ColumnType is what the values of a column of Parquet are.
type ColumnType uint8

const (
	// TextColumn is of texts in UTF-8.
	TextColumn ColumnType = iota
	// IntColumn is of int64.
	IntColumn
	// UintColumn is of uint64.
	UintColumn
	// FloatColumn is of float64.
	FloatColumn
	// BoolColumn is of truth values.
	BoolColumn
)

// ParquetColumn is a column of a file that is written.
type ParquetColumn struct {
	Name string
	Type ColumnType
}

const (
	// parquetRows is how many rows a row group that is written has, of which each can be read by another thread or process.
	parquetRows = 1 << 20
	// parquetBuffer is how many values of a column are handed over at a time.
	parquetBuffer = 1 << 12
)

// ParquetWriter writes a table of Parquet: pages of plain values, compressed by Snappy. Each row is a value for each column, in order, and Row.
type ParquetWriter struct {
	w       *parquet.GenericWriter[any]
	columns []*parquet.ColumnWriter
	values  [][]parquet.Value
	rows    int
}

// orderedGroup is a schema whose columns keep their order: those of parquet.Group are sorted by name.
type orderedGroup struct {
	parquet.Group
	fields []parquet.Field
}

func (g orderedGroup) Fields() []parquet.Field { return g.fields }

// NewParquetWriter begins a table.
func NewParquetWriter(w io.Writer, columns []ParquetColumn) *ParquetWriter {
	return newParquetWriter(w, columns, &parquet.Snappy)
}

func newParquetWriter(w io.Writer, columns []ParquetColumn, codec compress.Codec) *ParquetWriter {
	group := parquet.Group{}
	for _, c := range columns {
		group[c.Name] = parquet.Encoded(parquetNode(c.Type), &parquet.Plain)
		if c.Type == BoolColumn {
			group[c.Name] = parquetNode(c.Type)
		}
	}
	schema := orderedGroup{Group: group}
	for _, c := range columns {
		for _, f := range group.Fields() {
			if f.Name() == c.Name {
				schema.fields = append(schema.fields, f)
			}
		}
	}
	p := &ParquetWriter{values: make([][]parquet.Value, len(columns))}
	p.w = parquet.NewGenericWriter[any](w, parquet.NewSchema("superstep", schema), parquet.Compression(codec),
		parquet.DataPageStatistics(false), parquet.PageBufferSize(1<<20), parquet.CreatedBy("superstep", "", ""))
	p.columns = p.w.ColumnWriters()
	return p
}

func parquetNode(t ColumnType) parquet.Node {
	switch t {
	case IntColumn:
		return parquet.Int(64)
	case UintColumn:
		return parquet.Uint(64)
	case FloatColumn:
		return parquet.Leaf(parquet.DoubleType)
	case BoolColumn:
		return parquet.Leaf(parquet.BooleanType)
	default:
		return parquet.String()
	}
}

func (p *ParquetWriter) add(column int, v parquet.Value) {
	p.values[column] = append(p.values[column], v.Level(0, 0, column))
}

// Int adds a value to a column of type IntColumn.
func (p *ParquetWriter) Int(column int, x int64) { p.add(column, parquet.Int64Value(x)) }

// Uint adds a value to a column of type UintColumn.
func (p *ParquetWriter) Uint(column int, x uint64) { p.add(column, parquet.Int64Value(int64(x))) }

// Float adds a value to a column of type FloatColumn.
func (p *ParquetWriter) Float(column int, x float64) { p.add(column, parquet.DoubleValue(x)) }

// Bool adds a value to a column of type BoolColumn.
func (p *ParquetWriter) Bool(column int, x bool) { p.add(column, parquet.BooleanValue(x)) }

// Text adds a value to a column of type TextColumn. Its bytes must not change before some more rows have been written, as many as 4096.
func (p *ParquetWriter) Text(column int, x []byte) { p.add(column, parquet.ByteArrayValue(x)) }

// Row ends a row.
func (p *ParquetWriter) Row() error {
	p.rows++
	if p.rows%parquetBuffer == 0 {
		if err := p.handOver(); err != nil {
			return err
		}
	}
	if p.rows%parquetRows == 0 {
		return p.w.Flush()
	}
	return nil
}

// handOver gives the library what has been added.
func (p *ParquetWriter) handOver() error {
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
func (p *ParquetWriter) Close() error {
	if err := p.handOver(); err != nil {
		return err
	}
	return p.w.Close()
}

// parquet writes a table of edges: source, target and, if there are any, weight.
func (w *writer) parquet() error {
	if w.codec != plain {
		return fmt.Errorf("format parquet compresses its pages itself: a name without %s", w.codec.suffix())
	}
	if err := w.warnTable(Parquet); err != nil {
		return err
	}
	out, err := w.create(w.path, plain)
	if err != nil {
		return err
	}
	ends := IntColumn
	switch last := uint64(max(w.in.Vertices, 1) - 1); {
	case w.in.Names != nil:
		ends = TextColumn
	case w.in.Labels.Of(last) > math.MaxInt64:
		ends = UintColumn
	}
	columns := []ParquetColumn{{"source", ends}, {"target", ends}}
	if w.in.Edges.Weighted() {
		columns = append(columns, ParquetColumn{"weight", FloatColumn})
	}
	p := NewParquetWriter(out, columns)
	if err := w.parquetRows(p, ends); err != nil {
		return err
	}
	return p.Close()
}

// parquetRows writes a row for each tuple.
func (w *writer) parquetRows(p *ParquetWriter, ends ColumnType) error {
	list := w.in.Edges
	var b edges.Block
	for i := range edges.Blocks(list) {
		if w.ctx.Err() != nil {
			return w.ctx.Err()
		}
		if err := list.Read(i, &b); err != nil {
			return err
		}
		if err := checkWeights(i, &b, list.Weighted()); err != nil {
			return err
		}
		for j := range b.N {
			for column, v := range [2]uint64{b.U[j], b.V[j]} {
				switch ends {
				case TextColumn:
					p.Text(column, w.in.Names.Append(nil, w.in.Labels.Of(v)))
				case UintColumn:
					p.Uint(column, w.in.Labels.Of(v))
				default:
					p.Int(column, int64(w.in.Labels.Of(v)))
				}
			}
			if list.Weighted() {
				p.Float(2, b.W[j])
			}
			if err := p.Row(); err != nil {
				return err
			}
		}
		if w.Progress != nil {
			w.Progress(int64(min((i+1)*edges.BlockSize, list.Len())), int64(list.Len()))
		}
	}
	return nil
}
