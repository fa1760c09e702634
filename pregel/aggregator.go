package pregel

import (
	"reflect"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/kernel"
)

// Number is a type of number that can be added and compared.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64
}

// Aggregator reduces values of type T from all vertices of a superstep to one, which every vertex
// and Coordinate read in the next. A regular one starts each superstep at its identity; a
// persistent one goes on from its last value. Make one per aggregate, as a package variable, and
// list it in the program's Traits.
type Aggregator[T any] struct{ *aggregator[T] }

type aggregator[T any] struct {
	name       string
	number     int
	persistent bool
	unreported bool
	identity   func() T
	reduce     func(a, b T) T
	// of a sum of floats, which deterministic runs add without rounding; else nil
	float *kernel.Float[T]
}

var aggregators atomic.Int32

// NewAggregator makes an aggregator with a function of one's own, which must be commutative and
// associative. identity makes the value that is neutral to it, a fresh one at each call, so that
// reduce may change its first argument in place (a map, a slice); nil stands for the zero value.
// reduce keeps nothing of its second argument that the caller of Add may change.
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
		a.float = &kernel.Float[T]{From: func(x T) float64 { return float64(x) }, To: func(x float64) T { return T(x) }}
	}
	return a
}

// MinOf makes an aggregator of the least value. none is the result if no vertex adds a value: if
// it is not given, the greatest value of the type, infinity for floats.
func MinOf[T Number](name string, none ...T) Aggregator[T] {
	_, greatest := kernel.Limits[T]()
	return NewAggregator(name, constant(append(none, greatest)[0]), func(a, b T) T { return min(a, b) })
}

// MaxOf makes an aggregator of the greatest value. none is the result if no vertex adds a value: if
// it is not given, the least value of the type, minus infinity for floats.
func MaxOf[T Number](name string, none ...T) Aggregator[T] {
	least, _ := kernel.Limits[T]()
	return NewAggregator(name, constant(append(none, least)[0]), func(a, b T) T { return max(a, b) })
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

// Persistent returns the aggregator, made to keep its value from superstep to superstep.
func (a Aggregator[T]) Persistent() Aggregator[T] {
	persistent := *a.aggregator
	persistent.persistent = true
	return Aggregator[T]{&persistent}
}

// Unreported returns the aggregator, made to be left out of reports of runs: one by which a program
// steers itself, say.
func (a Aggregator[T]) Unreported() Aggregator[T] {
	unreported := *a.aggregator
	unreported.unreported = true
	return Aggregator[T]{&unreported}
}

// Add gives x to this superstep's aggregate, of a vertex or a block.
func (a Aggregator[T]) Add(c Context, x T) {
	a.cell(c.view().state.Cells).Add(x)
}

// Cell returns this superstep's aggregate of the goroutine that c belongs to, to be changed in
// place: for aggregates too large to be passed by value.
func (a Aggregator[T]) Cell(c Context) *T { return &a.cell(c.view().state.Cells).Value }

// Value returns the aggregate of the previous superstep, or what Coordinate set since. Of a result
// it is what Coordinate would read next: of an aggregator that is not persistent that of the last
// superstep alone.
func (a Aggregator[T]) Value(c Context) T { return a.cell(c.view().state.Totals).Value }

// Replace sets what vertices read in the coming superstep; a persistent aggregator goes on from it.
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

// Aggregate is an aggregator of any type, as Traits lists them.
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

// Combiner reduces the messages to a vertex to one. It is commutative and associative, and Identity
// is neutral. Package combiners has the usual ones; combiners.Func makes one of a function.
type Combiner[M any] interface {
	// String names the combiner in reports.
	String() string
	Identity() M
	Combine(a, b M) M
	// Kernel is for the engine: it makes the combiner's bulk loops for one partition, and fails
	// when the combiner does not fit the graph. Programs make combiners with package combiners,
	// combiners.Func among them.
	Kernel(b kernel.Binding) (kernel.Kernel[M], error)
}
