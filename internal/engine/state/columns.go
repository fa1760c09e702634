package state

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/engine/change"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/wire"
	"github.com/superstep-go/superstep/pregel"
)

// The sections of a part for property columns (docs/design/checkpoints.md).
const (
	// The number of edges with properties of each vertex, 4 bytes each. The name ends with a
	// direction and the number of the list.
	sectionRows   = "rows "
	sectionColumn = "column " // of vertices; followed by the column's name
	sectionEdges  = "edges "  // of edges; followed by the direction and the column's name
)

// Column is a property column with its values.
type Column struct {
	kernel.Property
	Direction pregel.Direction // of an edge column; phases that share it have the same direction
}

// Columns has the property columns of a partition: of a program or, in a plan, of all phases.
type Columns []*Column

// Lists returns the lists of edges that messages of a direction cross. An edge column has the
// values of the lists one after the other.
type Lists func(d pregel.Direction) ([]*kernel.EdgeLists, error)

// Get returns a column of n elements. It makes the column at first use.
func (all *Columns) Get(c kernel.Property, d pregel.Direction, n int) *Column {
	for _, known := range *all {
		switch {
		case known.Name != c.Name || known.OfEdges != c.OfEdges:
		case known.Number != c.Number:
			panic(fmt.Sprintf("two columns are named %s: "+
				"phases share a column if both list the same one", c.Name))
		case c.OfEdges && known.Direction != d:
			panic(fmt.Sprintf("edge column %s: a phase of direction %v has it, "+
				"and this one is of direction %v: they do not share it", c.Name, known.Direction,
				d))
		default:
			return known
		}
	}
	made := &Column{c, d}
	made.Column = c.Zeros(n)
	*all = append(*all, made)
	return made
}

// OfEdges reports whether there is an edge column.
func (all Columns) OfEdges() bool {
	return slices.ContainsFunc(all, func(c *Column) bool { return c.OfEdges })
}

// Move moves the columns to a changed partition. outBefore is the number of arcs in the out-lists
// before the change.
func (all Columns) Move(changed *graph.Changed, outBefore int) {
	for _, c := range all {
		if !c.OfEdges {
			c.AppendZero(changed.Partition.Owned - c.Len())
		} else if places := change.Places(c.Direction, changed, outBefore); places != nil {
			c.Column = c.Move(places)
		}
	}
}

// Save adds the columns to a part.
func (all Columns) Save(p *checkpoint.Part, lists Lists) error {
	rows := map[pregel.Direction]bool{}
	for _, c := range all {
		section := sectionColumn + c.Name
		if c.OfEdges {
			section = fmt.Sprintf("%s%d %s", sectionEdges, c.Direction, c.Name)
			if !rows[c.Direction] {
				rows[c.Direction] = true
				if err := saveRows(p, c.Direction, lists); err != nil {
					return err
				}
			}
		}
		if err := Save(p, section, c.Column, c.Len()); err != nil {
			return err
		}
	}
	return nil
}

// Save adds a section with a copy of the first n values of a column.
func Save(p *checkpoint.Part, section string, c kernel.Column, n int) error {
	copied := c.New(nil)
	copied.Append(c.Part(0, n))
	data, err := Pack(copied)
	if err != nil {
		return fmt.Errorf("%s: %w", section, err)
	}
	p.Add(section, data)
	return nil
}

func rowsSection(d pregel.Direction, i int) string {
	return fmt.Sprintf("%s%d %d", sectionRows, d, i)
}

func saveRows(p *checkpoint.Part, d pregel.Direction, lists Lists) error {
	crossed, err := lists(d)
	for i, l := range crossed {
		degrees := make([]uint32, p.Vertices)
		for v := range degrees {
			lo, hi := l.Row(uint32(v))
			degrees[v] = hi - lo
		}
		p.Add(rowsSection(d, i), wire.Bytes(degrees))
	}
	return err
}

// Find finds a column by its name. n is the length of an edge column.
type Find func(name string, ofEdges bool, d pregel.Direction, n int) (kernel.Column, error)

// Properties takes the values of a program's columns from a part.
func (o Owner) Properties(p *checkpoint.Part, lists Lists, find Find) error {
	for _, s := range p.Sections {
		name, ofVertices := strings.CutPrefix(s.Name, sectionColumn)
		edges, ofEdges := strings.CutPrefix(s.Name, sectionEdges)
		var err error
		switch {
		case ofVertices:
			var to kernel.Column
			if to, err = find(name, false, 0, 0); err == nil {
				err = o.Vertices(p, s.Data, to)
			}
		case ofEdges:
			var direction string
			direction, name, _ = strings.Cut(edges, " ")
			d := slices.Index([]string{"0", "1", "2", "3"}, direction)
			if d < 0 {
				return fmt.Errorf("%w: section %.80q", Err, s.Name)
			}
			err = o.edges(p, s.Data, name, pregel.Direction(d), lists, find)
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", name, err)
		}
	}
	return nil
}

// edges copies the values of an edge column from a section's data.
func (o Owner) edges(
	p *checkpoint.Part, data []byte, name string, d pregel.Direction, lists Lists, find Find,
) error {
	crossed, err := lists(d)
	if err != nil {
		return err
	}
	// the n edges of a vertex: first at from in the part's values, at to in the partition's
	type run struct{ from, to, n int }
	var runs []run
	edges, here := 0, 0 // number of edges in the part and in the partition
	for i, l := range crossed {
		here += len(l.Adj)
		section, ok := p.Section(rowsSection(d, i))
		if !ok || len(section) != 4*p.Vertices {
			return fmt.Errorf("%w: %d bytes of degrees of %d vertices", Err, len(section),
				p.Vertices)
		}
		degrees := wire.Slice[uint32](section)
		starts := make([]int, len(degrees))
		for k, d := range degrees {
			starts[k] = edges
			edges += int(d)
		}
		o.Each(p, func(k int, local uint32) {
			lo, hi := l.Row(local)
			if d := degrees[k]; d != hi-lo {
				err = errors.New("the lists of edges differ from those of the checkpoint")
			} else if d > 0 {
				runs = append(runs, run{starts[k], int(l.Offset + lo), int(d)})
			}
		})
		if err != nil {
			return err
		}
	}
	to, err := find(name, true, d, here)
	if err != nil {
		return err
	}
	from, err := Unpack(to, data, edges)
	if err != nil {
		return err
	}
	for _, run := range runs {
		to.Copy(run.to, from, run.from, run.n)
	}
	return nil
}
