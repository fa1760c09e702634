package kernel

import "reflect"

// Aggregate describes a pregel.Aggregator to the engine.
type Aggregate struct {
	Name string
	// Number is the handle's own in this process: cells are indexed by it.
	Number     int
	Type       reflect.Type // of the values
	Persistent bool         // the value is kept from superstep to superstep
	Unreported bool         // reports leave it out
	// New makes a cell at the identity. In a cell made with exact, sums of floats do not depend on
	// their order.
	New func(exact bool) Cell
}

// Cell holds the value of an aggregator: of one goroutine while a superstep runs, or the total.
type Cell interface {
	// Merge folds another cell of the same aggregator in, which has not been settled.
	Merge(from Cell)
	// Settle ends the merging: the value can be read.
	Settle()
	// Reset goes back to the identity.
	Reset()
	// Any returns the value.
	Any() any
	// Encode and Decode take the value from one process to another: little-endian if all values of
	// the type are of one size, else as given. A sum that must be exact travels with all its parts.
	Encode(pack func(value any) ([]byte, error)) ([]byte, error)
	Decode(data []byte, unpack func(data []byte, value any) error) error
}

// TypedCell is the Cell of values of a type. Value may be changed in place.
type TypedCell[T any] struct {
	Value    T
	identity func() T
	reduce   func(a, b T) T
	float    *Float[T]
	parts    *exactSum
	_        [64]byte // cells of different goroutines share no cache line
}

// Float converts values of a type of floats.
type Float[T any] struct {
	From func(T) float64
	To   func(float64) T
}

// NewCell makes a cell at the identity. float, if not nil, makes it an exact sum of floats.
func NewCell[T any](identity func() T, reduce func(a, b T) T, float *Float[T]) *TypedCell[T] {
	c := &TypedCell[T]{Value: identity(), identity: identity, reduce: reduce, float: float}
	if float != nil {
		c.parts = new(exactSum)
	}
	return c
}

// Add folds a value in.
func (c *TypedCell[T]) Add(x T) {
	if c.parts != nil {
		c.parts.add(c.float.From(x))
		return
	}
	c.Value = c.reduce(c.Value, x)
}

// Replace puts a value in the place of all that was folded in.
func (c *TypedCell[T]) Replace(x T) {
	c.Value = x
	if c.parts != nil {
		c.parts.reset()
		c.parts.add(c.float.From(x))
	}
}

// Merge folds another cell of the same aggregator in, which has not been settled.
func (c *TypedCell[T]) Merge(from Cell) {
	f := from.(*TypedCell[T])
	if c.parts != nil {
		c.parts.merge(f.parts)
		c.parts.add(c.float.From(f.Value)) // what was added in place: from is no total
		return
	}
	c.Value = c.reduce(c.Value, f.Value)
}

// Settle ends the merging.
func (c *TypedCell[T]) Settle() {
	if c.parts != nil {
		c.Value = c.float.To(c.parts.round())
	}
}

// Reset goes back to the identity.
func (c *TypedCell[T]) Reset() {
	c.Value = c.identity()
	if c.parts != nil {
		c.parts.reset()
	}
}

// Any returns the value.
func (c *TypedCell[T]) Any() any { return c.Value }

// End is how a program's Coordinate ends a run: it has converged, made its iterations, or given up.
type End struct{ Converged, Iterations, Stopped bool }

// State is what a goroutine knows of a superstep in a partition. Programs reach it through the
// methods of pregel.Vertex and pregel.Block.
type State struct {
	Partition, Partitions int
	Superstep, Phase      int
	NumVertices, NumEdges uint64
	// Log writes one line, or is nil.
	Log func(line string)
	// Edges are the lists that pregel.Vertex.Edges runs over, Out and In those of OutEdges and
	// InEdges; NoEdges says, if there are none, why and what to use.
	Edges, Out, In []*EdgeLists
	NoEdges        error
	// Direction is the program's, a pregel.Direction; Undirected says that the graph has none.
	Direction  uint8
	Undirected bool
	// IDs is the first vertex id that the graph does not have.
	IDs uint64
	// Totals are the aggregators' values of the previous superstep; Cells take this superstep's,
	// for this goroutine. Both are indexed by the aggregators' numbers.
	Totals, Cells []Cell
	// Seed is the run's, for pregel.Vertex.Rand.
	Seed uint64
	// Properties are the partition's vertex and edge properties, indexed by their numbers.
	Properties []Column
}

// Property is a pregel.VertexColumn or pregel.EdgeColumn. Its Column is empty in the list of a
// program, and has the values in a run.
type Property struct {
	Column
	Name    string
	Number  int // the handle's own in this process
	OfEdges bool
	Private bool // the program's own: it begins with zero
}

// Zeros returns a column of n zero values of the property.
func (p Property) Zeros(n int) Column {
	c := p.New(nil)
	c.AppendZero(n)
	return c
}
