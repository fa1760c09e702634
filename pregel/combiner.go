package pregel

import "github.com/superstep-go/superstep/internal/kernel"

// Combiner reduces the messages to a vertex to one. It is commutative and associative, and Identity is neutral. Package
// combiners has the usual ones; combiners.Func makes one of a function.
type Combiner[M any] interface {
	// String names the combiner in reports.
	String() string
	Identity() M
	Combine(a, b M) M
	// Kernel is for the engine: it makes the combiner's bulk loops for one partition, and fails when the combiner does not
	// fit the graph. Programs make combiners with package combiners, combiners.Func among them.
	Kernel(b kernel.Binding) (kernel.Kernel[M], error)
}
