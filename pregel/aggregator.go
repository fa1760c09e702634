package pregel

import (
	"reflect"
	"sync/atomic"
)

// Number is a type of number that can be added and compared.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64
}

// Aggregator reduces values of type T from all vertices of a superstep to one, which every vertex and Coordinate read in
// the next. A regular one starts each superstep at its identity; a persistent one goes on from its last value. Make one
// per aggregate, as a package variable, and list it in the program's Aggregators.
type Aggregator[T any] struct{ *aggregator[T] }

type aggregator[T any] struct {
	name       string
	number     int
	persistent bool
	identity   func() T
	reduce     func(a, b T) T
	float      *float[T] // of a sum of floats, which deterministic runs add without rounding; else nil
}

// float converts values of a type of floats.
type float[T any] struct {
	from func(T) float64
	to   func(float64) T
}

var aggregators atomic.Int32

// NewAggregator makes an aggregator with a function of one's own, which must be commutative and associative. identity makes
// the value that is neutral to it, a fresh one at each call, so that reduce may change its first argument in place (a map, a
// slice); nil stands for the zero value. reduce keeps nothing of its second argument that the caller of Add may change.
func NewAggregator[T any](name string, identity func() T, reduce func(a, b T) T) Aggregator[T] {
	if identity == nil {
		identity = func() (zero T) { return zero }
	}
	return Aggregator[T]{&aggregator[T]{name: name, number: int(aggregators.Add(1)) - 1, identity: identity, reduce: reduce}}
}

// SumOf makes an aggregator that adds.
func SumOf[T Number](name string) Aggregator[T] {
	a := NewAggregator[T](name, nil, func(a, b T) T { return a + b })
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Float32, reflect.Float64:
		a.float = &float[T]{func(x T) float64 { return float64(x) }, func(x float64) T { return T(x) }}
	}
	return a
}

// MinOf makes an aggregator of the least value; identity is what it is when no vertex adds any.
func MinOf[T Number](name string, identity T) Aggregator[T] {
	return NewAggregator(name, constant(identity), func(a, b T) T { return min(a, b) })
}

// MaxOf makes an aggregator of the greatest value; identity is what it is when no vertex adds any.
func MaxOf[T Number](name string, identity T) Aggregator[T] {
	return NewAggregator(name, constant(identity), func(a, b T) T { return max(a, b) })
}

// AnyOf makes an aggregator that is true when any vertex adds true.
func AnyOf(name string) Aggregator[bool] {
	return NewAggregator[bool](name, nil, func(a, b bool) bool { return a || b })
}

// AllOf makes an aggregator that is false when any vertex adds false.
func AllOf(name string) Aggregator[bool] {
	return NewAggregator(name, constant(true), func(a, b bool) bool { return a && b })
}

// constant makes one value again and again.
func constant[T any](x T) func() T { return func() T { return x } }

// Persistent returns the aggregator, made to keep its value from superstep to superstep.
func (a Aggregator[T]) Persistent() Aggregator[T] {
	kept := *a.aggregator
	kept.persistent = true
	return Aggregator[T]{&kept}
}

// Add gives x to this superstep's aggregate.
func (a Aggregator[T]) Add(s Scope, x T) {
	c := a.cell(s.worker().Cells)
	if c.parts != nil {
		c.parts.add(c.float.from(x))
		return
	}
	c.value = a.reduce(c.value, x)
}

// Cell returns this superstep's aggregate of the goroutine that s belongs to, to be changed in place: for aggregates too
// large to be passed by value.
func (a Aggregator[T]) Cell(s Scope) *T { return &a.cell(s.worker().Cells).value }

// Totals is a place where the aggregates of the previous superstep can be read: a *Vertex, *Worker or *Coordinator.
type Totals interface{ totals() []Cell }

func (v *Vertex[V, M]) totals() []Cell { return v.b.Worker.Totals }

// Value returns the aggregate of the previous superstep, or what Coordinate set since.
func (a Aggregator[T]) Value(s Totals) T { return a.cell(s.totals()).value }

// Replace sets what vertices read in the coming superstep; a persistent aggregator goes on from it.
func (a Aggregator[T]) Replace(c *Coordinator, x T) {
	total := a.cell(c.Totals)
	total.value = x
	if total.parts != nil {
		total.parts.reset()
		total.parts.add(total.float.from(x))
	}
}

func (a Aggregator[T]) cell(cells []Cell) *cell[T] {
	if a.number < len(cells) {
		if c, ok := cells[a.number].(*cell[T]); ok {
			return c
		}
	}
	panic("aggregator " + a.name + " is not listed by the program's Aggregators method")
}

// Aggregate is an aggregator of any type, as Aggregators lists them.
type Aggregate interface {
	// Name is the aggregator's name.
	Name() string
	// Number is the handle's process-wide number.
	Number() int
	// Type is that of the values.
	Type() reflect.Type
	// Persistent reports whether the value is kept from superstep to superstep.
	Persists() bool
	// NewCell makes a cell at the identity. In a cell made with exact, sums of floats do not depend on their order.
	NewCell(exact bool) Cell
}

// Name is the aggregator's name.
func (a Aggregator[T]) Name() string { return a.name }

// Number is the handle's process-wide number.
func (a Aggregator[T]) Number() int { return a.number }

// Type is that of the values.
func (a Aggregator[T]) Type() reflect.Type { return reflect.TypeFor[T]() }

// Persists reports whether the value is kept from superstep to superstep.
func (a Aggregator[T]) Persists() bool { return a.persistent }

// NewCell makes a cell at the identity.
func (a Aggregator[T]) NewCell(exact bool) Cell {
	c := &cell[T]{value: a.identity(), identity: a.identity, reduce: a.reduce}
	if exact && a.float != nil {
		c.float, c.parts = a.float, new(exactSum)
	}
	return c
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
	// Encode and Decode take the value from one process to another: little-endian if all values of the type are of one
	// size, else as given. A sum that must be exact travels with all its parts.
	Encode(pack func(value any) ([]byte, error)) ([]byte, error)
	Decode(data []byte, unpack func(data []byte, value any) error) error
}

type cell[T any] struct {
	value    T
	identity func() T
	reduce   func(a, b T) T
	float    *float[T]
	parts    *exactSum
	_        [64]byte // cells of different goroutines share no cache line
}

func (c *cell[T]) Merge(from Cell) {
	f := from.(*cell[T])
	if c.parts != nil {
		c.parts.merge(f.parts)
		c.parts.add(c.float.from(f.value)) // what was added in place: from is no total
		return
	}
	c.value = c.reduce(c.value, f.value)
}

func (c *cell[T]) Settle() {
	if c.parts != nil {
		c.value = c.float.to(c.parts.round())
	}
}

func (c *cell[T]) Reset() {
	c.value = c.identity()
	if c.parts != nil {
		c.parts.reset()
	}
}

func (c *cell[T]) Any() any { return c.value }
