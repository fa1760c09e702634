package kernel

import "reflect"

// Aggregate describes a pregel.Aggregator to the engine.
type Aggregate struct {
	Name string
	// Number identifies the aggregator in this process. Cells are indexed by it.
	Number     int
	Type       reflect.Type // of the values
	Persistent bool         // the value carries over to the next superstep
	Unreported bool         // reports omit it
	// New makes a cell with the identity. If exact is set, sums of floats do not depend on their
	// order.
	New func(exact bool) Cell
}

// Cell has the value of an aggregator: of one goroutine in a superstep, or the total.
type Cell interface {
	// Merge adds another cell of the same aggregator, which must not be settled.
	Merge(from Cell)
	// Settle ends the merging. After it the value can be read.
	Settle()
	// Reset sets the cell to the identity.
	Reset()
	// Any returns the value, and Pointer a pointer to it, which allocates nothing.
	Any() any
	Pointer() any
	// Encode and Decode transfer the value between processes. A value of fixed size is encoded as
	// little-endian, any other by pack and unpack. An exact sum is encoded with all its parts.
	Encode(pack func(value any) ([]byte, error)) ([]byte, error)
	Decode(data []byte, unpack func(data []byte, value any) error) error
}

// TypedCell is a Cell of type T. Value may be changed in place.
type TypedCell[T any] struct {
	Value    T
	identity func() T
	reduce   func(a, b T) T
	float    *Float[T]
	parts    *exactSum
	_        [64]byte // cells of different goroutines share no cache line
}

// Float converts between a float type and float64.
type Float[T any] struct {
	From func(T) float64
	To   func(float64) T
}

// NewCell makes a cell with the identity. If float is not nil, the cell is an exact sum of floats.
func NewCell[T any](identity func() T, reduce func(a, b T) T, float *Float[T]) *TypedCell[T] {
	c := &TypedCell[T]{Value: identity(), identity: identity, reduce: reduce, float: float}
	if float != nil {
		c.parts = new(exactSum)
	}
	return c
}

func (c *TypedCell[T]) Add(x T) {
	if c.parts != nil {
		c.parts.add(c.float.From(x))
		return
	}
	c.Value = c.reduce(c.Value, x)
}

// Replace sets the value, in place of everything added so far.
func (c *TypedCell[T]) Replace(x T) {
	c.Value = x
	if c.parts != nil {
		c.parts.reset()
		c.parts.add(c.float.From(x))
	}
}

func (c *TypedCell[T]) Merge(from Cell) {
	f := from.(*TypedCell[T])
	if c.parts != nil {
		c.parts.merge(f.parts)
		c.parts.add(c.float.From(f.Value)) // value added in place: from is not a total
		return
	}
	c.Value = c.reduce(c.Value, f.Value)
}

func (c *TypedCell[T]) Settle() {
	if c.parts != nil {
		c.Value = c.float.To(c.parts.round())
	}
}

func (c *TypedCell[T]) Reset() {
	c.Value = c.identity()
	if c.parts != nil {
		c.parts.reset()
	}
}

func (c *TypedCell[T]) Any() any { return c.Value }

func (c *TypedCell[T]) Pointer() any { return &c.Value }

// End is the reason for which a program's Coordinate ended a run.
type End struct{ Converged, Iterations, Stopped bool }

// State is a goroutine's view of a superstep in a partition. Programs read it through the methods
// of pregel.Vertex and pregel.Block.
type State struct {
	Deal                  Deal
	Superstep, Phase      int
	NumVertices, NumEdges uint64
	// Log writes one line, or is nil.
	Log func(line string)
	// Edges has the lists for pregel.Vertex.Edges, Out those for OutEdges and In those for InEdges.
	// If there are none, NoEdges is the error that tells the reason and the remedy.
	Edges, Out, In []*EdgeLists
	NoEdges        error
	// Direction is the program's pregel.Direction. Undirected means that the graph is undirected.
	Direction  uint8
	Undirected bool
	// IDs is the first vertex id that the graph does not have.
	IDs uint64
	// Totals has the aggregators' values of the previous superstep. Cells has this goroutine's
	// values of this superstep. Both are indexed by the aggregators' numbers.
	Totals, Cells []Cell
	// Seed is the run's seed, for pregel.Vertex.Rand.
	Seed uint64
	// Properties has the partition's vertex and edge properties, indexed by their numbers.
	Properties []Column
}

// Property is a pregel.VertexColumn or pregel.EdgeColumn. Its Column is empty in a program's list
// of properties. In a run it has the values.
type Property struct {
	Column
	Name    string
	Number  int // identifies the property in this process
	OfEdges bool
	Private bool // owned by the program: it begins with zeros
}

// Zeros returns a column with n zero values of the property.
func (p Property) Zeros(n int) Column {
	c := p.New(nil)
	c.AppendZero(n)
	return c
}
