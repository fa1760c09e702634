package engine

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/wire"
)

// takeProperties takes the values of the program's columns.
func (r *restoring[V, M]) takeProperties(p *checkpoint.Part) error {
	var rows *restoringRows
	for _, c := range r.job.methods.properties {
		var err error
		if c.OfEdges {
			if rows == nil {
				rows, err = r.rowsOf(p)
			}
			if err == nil {
				err = rows.take(c, p, r.properties[c.Number])
			}
		} else {
			data, _ := p.Section(sectionColumn + c.Name)
			var storage any
			if storage, err = unpackProperty(c, data, p.Vertices); err == nil {
				to, from := reflect.ValueOf(r.properties[c.Number]), reflect.ValueOf(storage)
				if p.Of == r.part.Of {
					reflect.Copy(to, from)
				} else {
					r.each(p, func(k int, local uint32) { to.Index(int(local)).Set(from.Index(k)) })
				}
			}
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
	}
	return nil
}

// restoringRows are runs of edges with properties: where they lie in a part, and here.
type restoringRows struct {
	edges int // of the part
	runs  []struct{ from, to, n int }
}

func (r *restoring[V, M]) rowsOf(p *checkpoint.Part) (*restoringRows, error) {
	rows := &restoringRows{}
	if !r.part.Grid.Flat() {
		return nil, noEdges(r.part.Grid)
	}
	for i, l := range r.rows() {
		data, ok := p.Section(sectionRows + fmt.Sprint(i))
		if !ok || len(data) != 4*p.Vertices {
			return nil, fmt.Errorf("%w: %d bytes for the degrees of %d vertices", errState, len(data), p.Vertices)
		}
		degrees := wire.Slice[uint32](data)
		starts := make([]int, len(degrees))
		for k, d := range degrees {
			starts[k] = rows.edges
			rows.edges += int(d)
		}
		var err error
		r.each(p, func(k int, local uint32) {
			lo, hi := l.Row(local)
			if d := degrees[k]; d != hi-lo {
				err = errors.New("the lists of edges are not as they were")
			} else if d > 0 {
				rows.runs = append(rows.runs, struct{ from, to, n int }{starts[k], int(l.Offset + lo), int(d)})
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// take copies a property's values of the runs.
func (rows *restoringRows) take(c kernel.Property, p *checkpoint.Part, storage any) error {
	data, _ := p.Section(sectionEdges + c.Name)
	from, err := unpackProperty(c, data, rows.edges)
	if err != nil {
		return err
	}
	source, to := reflect.ValueOf(from), reflect.ValueOf(storage)
	for _, run := range rows.runs {
		reflect.Copy(to.Slice(run.to, run.to+run.n), source.Slice(run.from, run.from+run.n))
	}
	return nil
}
