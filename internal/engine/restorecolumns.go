package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/wire"
	"github.com/superstep-go/superstep/pregel"
)

// takeProperties takes the values of the program's columns or, in a plan, of all phases.
func (r *restoring) takeProperties(p *checkpoint.Part) error {
	for _, s := range p.Sections {
		name, ofVertices := strings.CutPrefix(s.Name, sectionColumn)
		edges, ofEdges := strings.CutPrefix(s.Name, sectionEdges)
		var err error
		switch {
		case ofVertices:
			var to kernel.Column
			if to, err = r.column(name, false, 0, r.part.Owned); err == nil {
				err = r.takeVertices(p, s.Data, to)
			}
		case ofEdges:
			var direction string
			direction, name, _ = strings.Cut(edges, " ")
			d := slices.Index([]string{"0", "1", "2", "3"}, direction)
			if d < 0 {
				return fmt.Errorf("%w: section %.80q", errState, s.Name)
			}
			err = r.takeEdges(p, pregel.Direction(d), name, s.Data)
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", name, err)
		}
	}
	return nil
}

// column finds a column of the program or, in a plan, of any phase, of so many elements.
func (r *restoring) column(
	name string, ofEdges bool, d pregel.Direction, n int,
) (kernel.Column, error) {
	for _, c := range r.job.methods.properties {
		if c.Name == name && c.OfEdges == ofEdges && (!ofEdges || d == r.job.direction) {
			return r.properties[c.Number], nil
		}
	}
	if s := r.job.options.Shared; s != nil {
		for _, c := range s.known {
			if c.Name == name && c.OfEdges == ofEdges {
				return r.shared.column(c, d, n).Column, nil
			}
		}
	}
	return nil, fmt.Errorf("%w: the program has no such column", errState)
}

// takeEdges takes the values of a column of edges.
func (r *restoring) takeEdges(
	p *checkpoint.Part, d pregel.Direction, name string, data []byte,
) error {
	if !r.part.Grid.Flat() {
		return noEdges(r.part.Grid)
	}
	type run struct{ from, to, n int } // the edges of a vertex, in the part and here
	var runs []run
	edges, here := 0, 0 // of the part, and of the partition
	for i, l := range r.crossedBy(d) {
		here += len(l.Adj)
		section, ok := p.Section(rowsSection(d, i))
		if !ok || len(section) != 4*p.Vertices {
			return fmt.Errorf(
				"%w: %d bytes for the degrees of %d vertices", errState, len(section), p.Vertices)
		}
		degrees := wire.Slice[uint32](section)
		starts := make([]int, len(degrees))
		for k, d := range degrees {
			starts[k] = edges
			edges += int(d)
		}
		var err error
		r.eachOf(p, func(k int, local uint32) {
			lo, hi := l.Row(local)
			if d := degrees[k]; d != hi-lo {
				err = errors.New("the lists of edges are not as they were")
			} else if d > 0 {
				runs = append(runs, run{starts[k], int(l.Offset+lo), int(d)})
			}
		})
		if err != nil {
			return err
		}
	}
	to, err := r.column(name, true, d, here)
	if err != nil {
		return err
	}
	from, err := unpackColumn(to, data, edges)
	if err != nil {
		return err
	}
	for _, run := range runs {
		to.Copy(run.to, from, run.from, run.n)
	}
	return nil
}
