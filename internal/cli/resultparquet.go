package cli

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/resultlines"
)

// columnTypes returns the columns of a result: the vertex, then each field.
func columnTypes(f resultlines.Form) []graphio.ParquetColumn {
	vertex := graphio.IntColumn
	if f.Named {
		vertex = graphio.TextColumn
	}
	columns := []graphio.ParquetColumn{{Name: "vertex", Type: vertex}}
	for _, field := range f.Fields {
		c := graphio.ParquetColumn{Name: field.Name, Type: columnType(field)}
		if field.Vertex {
			c.Type = vertex
		}
		if c.Name == "vertex" {
			c.Name = "value_vertex"
		}
		columns = append(columns, c)
	}
	return columns
}

func columnType(f resultlines.Field) graphio.ColumnType {
	switch k := f.Kind; {
	case k == reflect.Bool:
		return graphio.BoolColumn
	case k >= reflect.Int && k <= reflect.Int64:
		return graphio.IntColumn
	case k >= reflect.Uint && k <= reflect.Uintptr:
		return graphio.UintColumn
	case k == reflect.Float32 || k == reflect.Float64:
		return graphio.FloatColumn
	default:
		return graphio.TextColumn
	}
}

// saveParquet writes what fill writes as a Parquet table.
func saveParquet(form resultlines.Form, fill filler) filler {
	return func(ctx context.Context, w io.Writer) error {
		columns := columnTypes(form)
		p, err := graphio.NewParquetWriter(w, columns)
		if err != nil {
			return err
		}
		out := &table{form: form, row: func(vertex string, values []string) error {
			if err := addText(p, 0, columns[0].Type, vertex); err != nil {
				return err
			}
			for i, text := range values {
				if err := addText(p, i+1, columns[i+1].Type, text); err != nil {
					return err
				}
			}
			return p.Row()
		}}
		if err := fill(ctx, out); err != nil {
			return err
		}
		return p.Close()
	}
}

// addText adds the text of a value to a column.
func addText(p graphio.ParquetWriter, column int, t graphio.ColumnType, text string) error {
	var err error
	switch t {
	case graphio.IntColumn:
		var x int64
		x, err = strconv.ParseInt(text, 10, 64)
		p.Int(column, x)
	case graphio.UintColumn:
		var x uint64
		x, err = strconv.ParseUint(text, 10, 64)
		p.Int(column, int64(x))
	case graphio.FloatColumn:
		var x float64
		x, err = strconv.ParseFloat(text, 64)
		p.Float(column, x)
	case graphio.BoolColumn:
		var x bool
		x, err = strconv.ParseBool(text)
		p.Bool(column, x)
	default:
		p.Text(column, []byte(text))
	}
	if err != nil {
		return fmt.Errorf("writing Parquet: found the value %.80q of another type: use --output-format csv: %w", text, err)
	}
	return nil
}
