package graphio

import (
	"math"

	"github.com/superstep-go/superstep/internal/edges"
)

// parquet writes a table of edges: source, target and, if the graph has weights, weight.
func (w *writer) parquet() error {
	if err := w.warnTable(); err != nil {
		return err
	}
	out, err := w.create(w.path, plain, "")
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
	p, err := NewParquetWriter(out, columns)
	if err != nil {
		return err
	}
	if err := w.parquetRows(p, ends); err != nil {
		return err
	}
	return p.Close()
}

// parquetRows writes a row for each tuple.
func (w *writer) parquetRows(p ParquetWriter, ends ColumnType) error {
	return w.inOrder(func(i int, b *edges.Block) error {
		for j := range b.N {
			for column, v := range [2]uint64{b.U[j], b.V[j]} {
				if id := w.in.Labels.Of(v); ends == TextColumn {
					p.Text(column, w.in.Names.Append(nil, id))
				} else {
					p.Int(column, int64(id))
				}
			}
			if w.in.Edges.Weighted() {
				p.Float(2, b.W[j])
			}
			if err := p.Row(); err != nil {
				return err
			}
		}
		w.report(i + 1)
		return nil
	})
}
