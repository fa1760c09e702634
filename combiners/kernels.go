package combiners

import (
	"fmt"
	"math/bits"

	// so that the compiler can inline its methods in the loops of the kernels
	_ "github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

//go:generate go run ./internal/gen

// plain is the common part of the kernels whose column holds unchanged messages.
type plain[M any] struct {
	kernel.MessageColumn[M]
	identity M
	traits   kernel.Traits
	best     []M // the best message that each slot has had, in a monotone program; else nil
	// normalize is the result of Normalizer; see newOrdered.
	normalize func(sent uint64, out *[64]M) uint64
}

func newPlain[M any](b kernel.Binding, identity M, traits kernel.Traits) plain[M] {
	c := kernel.NewMessageColumn[M](b)
	traits.Bytes, traits.Raw = c.Bytes(), c.Raw
	k := plain[M]{MessageColumn: c, identity: identity, traits: traits}
	if b.Monotone && traits.Monotone {
		k.best = mem.Make[M](b.Arena, b.Capacity)
	}
	return k
}

// Reset resets the best messages to the identity.
func (k *plain[M]) Reset() {
	for i := range k.best {
		k.best[i] = k.identity
	}
}

// Best returns the column of the best messages, or nil.
func (k *plain[M]) Best() kernel.Column {
	if k.best == nil {
		return nil
	}
	return &kernel.Vec[M]{Data: k.best}
}

// Normalizer returns the function that normalizes messages when they are sent, or nil.
func (k *plain[M]) Normalizer() func(sent uint64, out *[64]M) uint64 { return k.normalize }

// newOrdered is newPlain for a combiner that keeps the least or the greatest of numbers. Its loops
// never compare NaN, which is dropped when it is sent, or -0, which is sent as 0.
func newOrdered[T pregel.Number](b kernel.Binding, identity T, traits kernel.Traits) plain[T] {
	k := newPlain(b, identity, traits)
	if isFloat[T]() {
		k.normalize = normalize[T]
	}
	return k
}

// normalize replaces -0 by 0 in the messages of the vertices sent. It returns the vertices of sent
// whose message is not NaN.
func normalize[T pregel.Number](sent uint64, out *[64]T) uint64 {
	for rest := sent; rest != 0; rest &= rest - 1 {
		x := &out[bits.TrailingZeros64(rest)&63]
		if *x += 0; *x != *x {
			sent &^= rest & -rest
		}
	}
	return sent
}

// heard reports whether any vertex of a list sent.
func heard(list []uint32, present []uint64) bool {
	for _, s := range list {
		if present[s>>6]>>(s&63)&1 != 0 {
			return true
		}
	}
	return false
}

func (k *plain[M]) Traits() kernel.Traits { return k.traits }

func (k *plain[M]) Emit(p *kernel.Push, rows []kernel.Row, bins *kernel.Bins[M]) {
	kernel.Emit(p, rows, k.Read, bins)
}

type (
	sumKernel[T pregel.Number] struct {
		plain[T]
		ordered bool // add in the order of the list
	}
	minKernel[T pregel.Number] struct {
		plain[T]
		terminal T
	}
	maxKernel[T pregel.Number] struct {
		plain[T]
		terminal T
	}
	orKernel             struct{ plain[bool] }
	andKernel            struct{ plain[bool] }
	orBitsKernel[T Bits] struct {
		plain[T]
		terminal T
	}
	firstKernel[T any] struct{ plain[T] }
	funcKernel[T any]  struct {
		plain[T]
		combine func(a, b T) T
	}
)

// Weight is a type of edge weight: float64, or float32 in graphs that ask for it, which halves the
// memory of weights. Graph500 asks for float32, because its validation is exact in float32.
type Weight interface{ float32 | float64 }

// weightsOf returns the weights of lists. The kernel was bound to these lists, so their weights
// have its type.
func weightsOf[W Weight](l *kernel.Lists) []W {
	if w, ok := any(l.Weights32).([]W); ok {
		return w
	}
	w, _ := any(l.Weights64).([]W)
	return w
}

// checkWeights returns an error if lists lack weights of type W.
func checkWeights[W Weight](b kernel.Binding, name string) error {
	for _, l := range b.Lists {
		if len(l.Adj) == 0 || len(weightsOf[W](l)) == len(l.Adj) {
			continue
		}
		var want W
		have := "no weights"
		switch {
		case l.Weights32 != nil:
			have = "float32 weights"
		case l.Weights64 != nil:
			have = "float64 weights"
		}
		return fmt.Errorf("combiner %s wants edge weights of type %T: the graph has %s", name, want,
			have)
	}
	return nil
}

type (
	minPlusKernel[W Weight]  struct{ distances[W] }
	maxMinKernel[W Weight]   struct{ plain[W] }
	sumTimesKernel[W Weight] struct{ plain[W] }
)
