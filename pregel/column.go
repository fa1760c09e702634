package pregel

import (
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/kernel"
)

// Column is a property column of any type, for the list in Traits.
type Column interface{ column() kernel.Property }

var columns atomic.Int32

// handle is the common part of VertexColumn and EdgeColumn.
type handle struct {
	name    string
	number  int
	private bool
}

func newHandle(name string) handle { return handle{name: name, number: int(columns.Add(1)) - 1} }

// VertexColumn is a typed property that every vertex has besides its value. Declare each property
// as a package variable, and list it in the program's Traits. It is zero when the run begins,
// unless superstep.Options.Columns gives other values.
type VertexColumn[T any] struct{ handle }

// NewVertexColumn declares a property of vertices.
func NewVertexColumn[T any](name string) VertexColumn[T] {
	return VertexColumn[T]{newHandle(name)}
}

// Private returns the same column, marked as internal to the program: superstep.Options.Columns and
// --column must not give its initial values.
func (c VertexColumn[T]) Private() VertexColumn[T] {
	c.private = true
	return c
}

// Of returns the property of a vertex.
func (c VertexColumn[T]) Of(v Context) T { return c.of(v.view())[v.local()] }

// Set replaces the property of a vertex.
func (c VertexColumn[T]) Set(v Context, x T) { c.of(v.view())[v.local()] = x }

// Slice returns the properties of a block's vertices. Element i belongs to vertex i of the block.
// The last block of a partition may have fewer than 64 elements.
func (c VertexColumn[T]) Slice(b Context) []T {
	w := b.view()
	all := c.of(w)
	return all[w.base:min(int(w.base)+64, len(all))]
}

func (c VertexColumn[T]) of(w *partition) []T {
	col, ok := lookup[T](w.state.Properties, c.number)
	if !ok {
		panic("vertex column " + c.name + " is not listed by the program's Traits")
	}
	return col
}

func (c VertexColumn[T]) column() kernel.Property { return property[T](c.handle, false) }

// EdgeColumn is a typed property of every edge. It is stored with each adjacency list, so an
// undirected edge has one value at each end. Declare each property as a package variable, and list
// it in the program's Traits. It is zero when the run begins, unless superstep.Options.Columns
// gives other values.
type EdgeColumn[T any] struct{ handle }

// NewEdgeColumn declares a property of edges.
func NewEdgeColumn[T any](name string) EdgeColumn[T] {
	return EdgeColumn[T]{newHandle(name)}
}

// Private returns the same column, marked as internal to the program: superstep.Options.Columns and
// --column must not give its initial values.
func (c EdgeColumn[T]) Private() EdgeColumn[T] {
	c.private = true
	return c
}

// Of returns the property of e, an edge of the vertex that runs.
func (c EdgeColumn[T]) Of(e Edge) T { return c.of(e)[uint32(e.place)] }

// Set replaces the property of e, an edge of the vertex that runs.
func (c EdgeColumn[T]) Set(e Edge, x T) { c.of(e)[uint32(e.place)] = x }

func (c EdgeColumn[T]) of(e Edge) []T {
	if e.lists != nil && !e.lists.Other {
		if col, ok := lookup[T](e.lists.Properties, c.number); ok {
			return col
		}
	}
	panic("edge column " + c.name + c.fault(e))
}

// fault returns why an edge has no property of this column.
func (c handle) fault(e Edge) string {
	switch {
	case e.lists == nil:
		return ": an edge that was added in this superstep has no properties before the next"
	case e.lists.Other:
		return ": it holds edges by the program's Direction, and this one is of the other"
	}
	return " is not listed by the program's Traits"
}

func (c EdgeColumn[T]) column() kernel.Property { return property[T](c.handle, true) }

func property[T any](c handle, ofEdges bool) kernel.Property {
	return kernel.Property{
		Column: new(kernel.Vec[T]),
		Name:   c.name, Number: c.number, OfEdges: ofEdges, Private: c.private,
	}
}

func lookup[T any](columns []kernel.Column, number int) ([]T, bool) {
	if number < len(columns) {
		if c, ok := columns[number].(*kernel.Vec[T]); ok {
			return c.Data, true
		}
	}
	return nil, false
}
