package pregel

import (
	"reflect"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/kernel"
)

// Number is a type of number that can be added and compared.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64
}

// Aggregator reduces values of type T from all vertices of a superstep to one value. Every vertex
// and Coordinate read this value in the next superstep. A regular aggregator starts each superstep
// at its identity. A persistent aggregator continues from its last value. Declare each aggregator
// as a package variable, and list it in the program's Traits.
type Aggregator[T any] struct{ *aggregator[T] }

type aggregator[T any] struct {
	name       string
	number     int
	persistent bool
	unreported bool
	identity   func() T
	reduce     func(a, b T) T
	// float is set for a sum of floats, which deterministic runs add without rounding; else nil.
	float *kernel.Float[T]
}

var aggregators atomic.Int32

// NewAggregator makes an aggregator from a function, which must be commutative and associative.
// identity returns the neutral value; nil means the zero value. identity returns a new value on
// each call, because reduce may change its first argument in place (a map, a slice). reduce must
// not keep a reference to its second argument, because the caller of Add may change it.
func NewAggregator[T any](name string, identity func() T, reduce func(a, b T) T) Aggregator[T] {
	if identity == nil {
		identity = func() (zero T) { return zero }
	}
	return Aggregator[T]{&aggregator[T]{
		name: name, number: int(aggregators.Add(1)) - 1, identity: identity, reduce: reduce,
	}}
}

// SumOf makes an aggregator that adds.
func SumOf[T Number](name string) Aggregator[T] {
	a := NewAggregator[T](name, nil, func(a, b T) T { return a + b })
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Float32, reflect.Float64:
		a.float = &kernel.Float[T]{
			From: func(x T) float64 { return float64(x) },
			To:   func(x float64) T { return T(x) },
		}
	}
	return a
}

// MinOf makes an aggregator of the least value. none is the result if no vertex adds a value. The
// default of none is the greatest value of the type; for floats, infinity.
func MinOf[T Number](name string, none ...T) Aggregator[T] {
	_, greatest := kernel.Limits[T]()
	return NewAggregator(name, constant(append(none, greatest)[0]),
		func(a, b T) T { return min(a, b) })
}

// MaxOf makes an aggregator of the greatest value. none is the result if no vertex adds a value.
// The default of none is the least value of the type; for floats, minus infinity.
func MaxOf[T Number](name string, none ...T) Aggregator[T] {
	least, _ := kernel.Limits[T]()
	return NewAggregator(name, constant(append(none, least)[0]),
		func(a, b T) T { return max(a, b) })
}

// AnyOf makes an aggregator that is true when any vertex adds true.
func AnyOf(name string) Aggregator[bool] {
	return NewAggregator[bool](name, nil, func(a, b bool) bool { return a || b })
}

// AllOf makes an aggregator that is false when any vertex adds false.
func AllOf(name string) Aggregator[bool] {
	return NewAggregator(name, constant(true), func(a, b bool) bool { return a && b })
}

// constant returns a function that returns x.
func constant[T any](x T) func() T { return func() T { return x } }

// Persistent returns a copy of the aggregator that keeps its value from superstep to superstep.
func (a Aggregator[T]) Persistent() Aggregator[T] {
	persistent := *a.aggregator
	persistent.persistent = true
	return Aggregator[T]{&persistent}
}

// Unreported returns a copy of the aggregator that reports leave out. It is for aggregators that
// only control the program.
func (a Aggregator[T]) Unreported() Aggregator[T] {
	unreported := *a.aggregator
	unreported.unreported = true
	return Aggregator[T]{&unreported}
}

// Add adds x to this superstep's aggregate.
func (a Aggregator[T]) Add(c Context, x T) {
	a.cell(c.view().state.Cells).Add(x)
}

// Cell returns a pointer to the goroutine's part of this superstep's aggregate, to be changed in
// place. It is for aggregates that are too large to pass by value.
func (a Aggregator[T]) Cell(c Context) *T { return &a.cell(c.view().state.Cells).Value }

// Value returns the aggregate of the previous superstep, or the value that Coordinate set since
// then. For a Result it returns the value that Coordinate would read next; unless the aggregator is
// persistent, that is the aggregate of the last superstep.
func (a Aggregator[T]) Value(c Context) T { return a.cell(c.view().state.Totals).Value }

// Replace sets the value that vertices read in the coming superstep. A persistent aggregator
// continues from it.
func (a Aggregator[T]) Replace(c *Coordinator, x T) {
	a.cell(c.totals.state.Totals).Replace(x)
}

func (a Aggregator[T]) cell(cells []kernel.Cell) *kernel.TypedCell[T] {
	if a.number < len(cells) {
		if c, ok := cells[a.number].(*kernel.TypedCell[T]); ok {
			return c
		}
	}
	panic("aggregator " + a.name + " is not listed by the program's Traits, or not to be had here")
}

// Aggregate is an aggregator of any type, for the list in Traits.
type Aggregate interface{ aggregate() kernel.Aggregate }

func (a Aggregator[T]) aggregate() kernel.Aggregate {
	return kernel.Aggregate{
		Name: a.name, Number: a.number, Type: reflect.TypeFor[T](), Persistent: a.persistent,
		Unreported: a.unreported,
		New: func(exact bool) kernel.Cell {
			if exact {
				return kernel.NewCell(a.identity, a.reduce, a.float)
			}
			return kernel.NewCell(a.identity, a.reduce, nil)
		},
	}
}

// Combiner reduces two messages to a vertex to one. It must be commutative and associative, and
// Identity must be its neutral element. Package combiners has the usual combiners; combiners.Func
// makes a combiner from a function.
type Combiner[M any] interface {
	// String names the combiner in reports.
	String() string
	Identity() M
	Combine(a, b M) M
	// Kernel is for the engine. It returns the combiner's bulk loops for one partition, or an error
	// if the combiner does not fit the graph. Programs use the combiners of package combiners,
	// which implement it.
	Kernel(b kernel.Binding) (kernel.Kernel[M], error)
}
