package engine

import (
	"fmt"
	"strings"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// Prefilled has the initial values of a property, by partition in this process. They are in the
// order of the vertices, or of the edges as in an EdgeColumn. They must be set before the run.
type Prefilled struct {
	kernel.Property
	Program string
	Storage map[int]kernel.Column
	Ways    map[int][]EdgeWay // of an edge property
}

// Column returns the program's property with a name, if its initial values can be set. If the
// program has a vertex and an edge property with the name, it returns the vertex property.
func (m *Program) Column(name string) (kernel.Property, error) {
	var names []string
	var found *kernel.Property
	private := false
	for i, c := range m.properties {
		if c.Private {
			private = private || c.Name == name
			continue
		}
		if c.Name == name && (found == nil || !c.OfEdges) {
			found = &m.properties[i]
		}
		names = append(names, c.Name)
	}
	if found != nil {
		return *found, nil
	}
	why, others := fmt.Sprintf("its Traits lists no column %.150q", name), strings.Join(names, ", ")
	if private {
		why = fmt.Sprintf("column %.150q is private to the program", name)
	}
	switch {
	case private && others == "":
		why += ", and no other column can be filled"
	case private:
		why += ": the columns that can be filled are " + others
	case others != "":
		why += ", only " + others
	}
	return kernel.Property{}, fmt.Errorf("%s: %s", m.Name(), why)
}

// Prefill returns storage for the initial values of a property, which are zero at first. In a 2D
// grid edge properties are not supported.
func (j *Job) Prefill(name string) (*Prefilled, error) {
	c, err := j.methods.Column(name)
	if err != nil {
		return nil, err
	}
	p := &Prefilled{Property: c, Program: j.name}
	p.Storage, p.Ways = map[int]kernel.Column{}, map[int][]EdgeWay{}
	for _, r := range j.runners {
		storage := c.Zeros(r.elements(c))
		p.Storage[r.part.Index] = storage
		if c.OfEdges {
			lists, err := r.edgesOf(j.direction)
			if err != nil {
				return nil, fmt.Errorf("%s: edge column %s: %w", j.name, name, err)
			}
			for i, l := range lists {
				way := EdgeWay{l, j.direction == pregel.In || i > 0}
				p.Ways[r.part.Index] = append(p.Ways[r.part.Index], way)
			}
		}
		if r.prefilled == nil {
			r.prefilled = map[int]kernel.Column{}
		}
		r.prefilled[c.Number] = storage
	}
	return p, nil
}

// EdgeWay has lists whose edges have a property, and their direction.
type EdgeWay struct {
	*kernel.EdgeLists
	In bool // the lists of a directed graph's arcs by their targets
}

// elements returns the number of values that a property has in this partition.
func (r *partition) elements(c kernel.Property) int {
	if !c.OfEdges {
		return r.part.Owned
	}
	n := 0
	for _, c := range r.columns {
		n += c.out.Edges
	}
	return n
}
