package engine

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/wire"
	"github.com/superstep-go/superstep/pregel"
)

// takeProperties takes the values of the program's columns or, in a plan, of all phases.
func (r *restoring) takeProperties(p *checkpoint.Part) error {
	rows := map[pregel.Direction]*restoringRows{}
	for _, s := range p.Sections {
		name, of := strings.CutPrefix(s.Name, sectionColumn)
		if !of {
			continue
		}
		c, err := r.column(name, false, 0, r.part.Owned)
		var storage any
		if err == nil {
			storage, err = unpackProperty(c.Property, s.Data, p.Vertices)
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", name, err)
		}
		to, from := reflect.ValueOf(c.storage), reflect.ValueOf(storage)
		if p.Of == r.part.Of {
			reflect.Copy(to, from)
		} else {
			r.each(p, func(k int, local uint32) { to.Index(int(local)).Set(from.Index(k)) })
		}
	}
	for _, s := range p.Sections {
		rest, of := strings.CutPrefix(s.Name, sectionEdges)
		direction, name, cut := strings.Cut(rest, " ")
		if !of {
			continue
		}
		n, err := strconv.ParseUint(direction, 10, 8)
		d := pregel.Direction(n)
		if err != nil || !cut || d > pregel.Either {
			return fmt.Errorf("%w: section %.80q", errState, s.Name)
		}
		if rows[d] == nil {
			if rows[d], err = r.rowsOf(p, d); err != nil {
				return fmt.Errorf("column %s: %w", name, err)
			}
		}
		c, err := r.column(name, true, d, rows[d].here)
		if err == nil {
			err = rows[d].take(c.Property, s.Data, c.storage)
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", name, err)
		}
	}
	return nil
}

// column finds a column of the program or, in a plan, of any phase, of so many elements.
func (r *restoring) column(name string, ofEdges bool, d pregel.Direction, n int) (c sharedColumn, err error) {
	shared := r.job.options.Shared
	for _, p := range r.job.methods.properties {
		if p.Name == name && p.OfEdges == ofEdges && (!ofEdges || d == r.job.direction) {
			return sharedColumn{p, r.properties[p.Number]}, nil
		}
	}
	if shared != nil {
		if p, ok := shared.known[columnName{name, ofEdges}]; ok {
			return sharedColumn{p, shared.column(r.part.Index, p, d, n)}, nil
		}
	}
	return c, fmt.Errorf("%w: the program has no such column", errState)
}

// restoringRows are runs of edges with properties: where they lie in a part, and here.
type restoringRows struct {
	edges, here int // of the part, and of the partition
	runs        []struct{ from, to, n int }
}

func (r *restoring) rowsOf(p *checkpoint.Part, direction pregel.Direction) (*restoringRows, error) {
	rows := &restoringRows{}
	if !r.part.Grid.Flat() {
		return nil, noEdges(r.part.Grid)
	}
	for i, l := range r.rows(direction) {
		rows.here += len(l.Adj)
		data, ok := p.Section(rowsSection(direction, i))
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
				rows.runs = append(rows.runs, struct{ from, to, n int }{starts[k], l.offset + int(lo), int(d)})
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// take copies a property's values of the runs.
func (rows *restoringRows) take(c kernel.Property, data []byte, storage any) error {
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
