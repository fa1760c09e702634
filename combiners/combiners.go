// Package combiners has the combiners that reduce the messages to a vertex: sums, minima, semirings
// and others.
//
// A program returns one from its method Combiner. Each has loops for a whole partition: pull, push
// and fold come from one definition, without a call per edge.
//
//	program.Combiner() --> combiner --> its kernel: loops over edges --> msg of Compute
//	                                    (called by the engine)
//
//	Sum Min Max                numbers
//	And Or                     booleans
//	AndBits OrBits             sets of bits
//	Count                      the number of messages; only presence is sent
//	First                      any one message
//	Sender                     any one sender: the message is its id, and only presence is sent
//	MinPlus MaxMin SumTimes    semirings: the weight of an edge changes each message along it
//	MinPlusSender              MinPlus with the sender of the least message
//	Func                       a function of your own, at 5 to 7 times the cost of a message
//
// A combiner with a terminal value ends the walk over a vertex's in-edges when it reaches that
// value: First and Sender at the first message, Or at true, And at false, OrBits at all ones,
// Min and Max at the least and the greatest value of their type. Semirings have no
// terminal value. (Terminal is the word of SuiteSparse GraphBLAS.)
//
// Each combiner has one rule for odd floats, whatever the delivery. Sum and SumTimes pass NaN on,
// and take -0 for 0. Min, Max, MinPlus, MaxMin and MinPlusSender order messages: NaN
// is not sent, so that a vertex that is sent nothing else has no message, and -0 is sent as 0.
// First and Func take messages as they are. Stored weights are finite. So only SumTimes makes NaN
// on an edge, of an infinite message and a weight of 0, and it passes this NaN on; no sum of
// MinPlus is NaN.
//
// Read combiners.go first: it defines the combiners. kernels.go and kernels_gen.go, which go
// generate writes, have the loops. Package pregeltest checks a combiner of your own
// (CheckCombiner).
package combiners

import (
	"fmt"
	"reflect"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// Bits is a type whose values are sets of bits.
type Bits interface {
	~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// simple is a combiner whose behaviour is in its fields.
type simple[M any] struct {
	name     string
	identity M
	combine  func(a, b M) M
	kernel   makeKernel[M]
	weights  reflect.Kind
}

func (c simple[M]) String() string   { return c.name }
func (c simple[M]) Identity() M      { return c.identity }
func (c simple[M]) Combine(a, b M) M { return c.combine(a, b) }
func (c simple[M]) Kernel(b kernel.Binding) (kernel.Kernel[M], error) {
	return c.kernel(b, c)
}

// Weights returns the kind of edge weights that a semiring needs, or Invalid.
func (c simple[M]) Weights() reflect.Kind { return c.weights }

type makeKernel[M any] = func(b kernel.Binding, c simple[M]) (kernel.Kernel[M], error)

func define[M any](name string, identity M, combine func(a,
	b M) M, loops makeKernel[M],
) pregel.Combiner[M] {
	return simple[M]{name, identity, combine, loops, reflect.Invalid}
}

// semiring defines a combiner that needs edge weights of type W.
func semiring[W Weight, M any](name string, identity M, combine func(a,
	b M) M, loops makeKernel[M],
) pregel.Combiner[M] {
	return simple[M]{name, identity, combine, loops, reflect.TypeFor[W]().Kind()}
}

func named[M any](name string) string { return fmt.Sprintf("%s[%s]", name, reflect.TypeFor[M]()) }

// Sum adds. The sum of floats depends on the order of the messages unless the run is deterministic.
// It passes NaN on, and treats -0 as 0.
func Sum[T pregel.Number]() pregel.Combiner[T] {
	return define(named[T]("Sum"), 0, func(a, b T) T { return a + b },
		func(b kernel.Binding, _ simple[T]) (kernel.Kernel[T], error) {
			float := isFloat[T]()
			return &sumKernel[T]{newPlain[T](b, 0,
				kernel.Traits{Ordered: float}), float && b.Deterministic}, nil
		})
}

// Min keeps the least message. Its identity is the greatest value of the type. It drops NaN when it
// is sent, and sends -0 as 0.
func Min[T pregel.Number]() pregel.Combiner[T] {
	least, greatest := kernel.Limits[T]()
	return define(named[T]("Min"), greatest, lesser[T],
		func(b kernel.Binding, c simple[T]) (kernel.Kernel[T], error) {
			return &minKernel[T]{newOrdered(b, c.identity,
				kernel.Traits{Terminal: true, Monotone: true}), least}, nil
		})
}

// Max keeps the greatest message. Its identity is the least value of the type. It drops NaN when it
// is sent, and sends -0 as 0.
func Max[T pregel.Number]() pregel.Combiner[T] {
	least, greatest := kernel.Limits[T]()
	return define(named[T]("Max"), least, greater[T],
		func(b kernel.Binding, c simple[T]) (kernel.Kernel[T], error) {
			return &maxKernel[T]{newOrdered(b, c.identity,
				kernel.Traits{Terminal: true, Monotone: true}), greatest}, nil
		})
}

// Or is true if any message is true.
func Or() pregel.Combiner[bool] {
	return define("Or", false, func(a, b bool) bool { return a || b },
		func(b kernel.Binding, c simple[bool]) (kernel.Kernel[bool], error) {
			return &orKernel{newPlain(b, false, kernel.Traits{Terminal: true})}, nil
		})
}

// And is true if every message is true.
func And() pregel.Combiner[bool] {
	return define("And", true, func(a, b bool) bool { return a && b },
		func(b kernel.Binding, c simple[bool]) (kernel.Kernel[bool], error) {
			return &andKernel{newPlain(b, true, kernel.Traits{Terminal: true})}, nil
		})
}

// OrBits returns the union of all sets of bits.
func OrBits[T Bits]() pregel.Combiner[T] {
	return define(named[T]("OrBits"), 0, func(a, b T) T { return a | b },
		func(b kernel.Binding, _ simple[T]) (kernel.Kernel[T], error) {
			return &orBitsKernel[T]{newPlain[T](b, 0, kernel.Traits{Terminal: true}), ^T(0)}, nil
		})
}

// AndBits returns the intersection of all sets of bits. It has no compiled loops: it uses the loops
// of Func, and costs as much.
func AndBits[T Bits]() pregel.Combiner[T] {
	return define(named[T]("AndBits"), ^T(0), func(a, b T) T { return a & b }, funcLoops[T])
}

// First keeps any one message. The choice may differ between runs, unless they are deterministic.
func First[M any]() pregel.Combiner[M] {
	var zero M
	return define(named[M]("First"), zero, func(a, _ M) M { return a },
		func(b kernel.Binding, c simple[M]) (kernel.Kernel[M], error) {
			return &firstKernel[M]{newPlain(b, c.identity,
				kernel.Traits{AnyOne: true, Terminal: true, Ordered: true})}, nil
		})
}

// Func makes a combiner from a function, which must be commutative and associative. identity must
// be its neutral element. The engine calls the function for every message but the first, which
// costs 5 to 7 times as much as the other combiners of this package. Messages are not changed, so
// the function must handle NaN and -0.
//
// The function must not change memory that its arguments point to, because other vertices get the
// same message. append(a, b...) may write into the memory of a; append(slices.Clip(a), b...) makes
// a new slice.
func Func[M any](identity M, combine func(a, b M) M) pregel.Combiner[M] {
	return define(named[M]("Func"), identity, combine, funcLoops[M])
}

func funcLoops[M any](b kernel.Binding, c simple[M]) (kernel.Kernel[M], error) {
	return &funcKernel[M]{newPlain(b, c.identity, kernel.Traits{Ordered: true}), c.combine}, nil
}

// MinPlus is the semiring of shortest paths: it adds the weight of each edge to the message along
// it, and keeps the least sum. It drops NaN when it is sent, and sends -0 as 0.
func MinPlus[W Weight]() pregel.Combiner[W] {
	_, infinity := kernel.Limits[W]()
	return semiring[W](named[W]("MinPlus"), infinity, lesser[W],
		func(b kernel.Binding, c simple[W]) (kernel.Kernel[W], error) {
			return &minPlusKernel[W]{newDistances(b, c.identity)}, checkWeights[W](b, c.name)
		})
}

// MaxMin is the semiring of widest paths: it takes the minimum of each message and the weight of
// its edge, and keeps the greatest. It drops NaN when it is sent, and sends -0 as 0.
func MaxMin[W Weight]() pregel.Combiner[W] {
	least, _ := kernel.Limits[W]()
	return semiring[W](named[W]("MaxMin"), least, greater[W],
		func(b kernel.Binding, c simple[W]) (kernel.Kernel[W], error) {
			return &maxMinKernel[W]{newOrdered(b, c.identity,
				kernel.Traits{Weighted: true, Monotone: true})}, checkWeights[W](b, c.name)
		})
}

// SumTimes is the semiring of a matrix product: it multiplies each message by the weight of its
// edge, and adds the products. It passes NaN on, also the NaN of an infinite message times a weight
// of 0, and treats -0 as 0.
func SumTimes[W Weight]() pregel.Combiner[W] {
	return semiring[W](named[W]("SumTimes"), 0, func(a, b W) W { return a + b },
		func(b kernel.Binding, c simple[W]) (kernel.Kernel[W], error) {
			k := &sumTimesKernel[W]{newPlain[W](b, 0, kernel.Traits{Weighted: true, Ordered: true})}
			return k, checkWeights[W](b, c.name)
		})
}

// lesser returns the lesser of two messages. If one is NaN it returns the other.
func lesser[T pregel.Number](a, b T) T {
	if b < a || a != a {
		return b
	}
	return a
}

// greater returns the greater of two messages. If one is NaN it returns the other.
func greater[T pregel.Number](a, b T) T {
	if b > a || a != a {
		return b
	}
	return a
}

func isFloat[T pregel.Number]() bool {
	k := reflect.TypeFor[T]().Kind()
	return k == reflect.Float32 || k == reflect.Float64
}
