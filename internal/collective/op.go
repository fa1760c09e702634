package collective

import (
	"encoding/binary"
	"math"
)

// Op combines data element by element.
type Op struct {
	// Size is how many bytes an element has; data is cut only between elements.
	Size int
	// Combine puts dst combined with src into dst. Both are whole elements, equally many. It must be associative and
	// commutative. Rounding may differ between algorithms, but all ranks get the same bits if the result for (a, b) has the
	// bits of that for (b, a).
	Combine func(dst, src []byte)
}

// Operators on little-endian elements of 8 bytes.
var (
	SumUint64  = Op{8, func(dst, src []byte) { uint64s(dst, src, func(a, b uint64) uint64 { return a + b }) }}
	MinUint64  = Op{8, func(dst, src []byte) { uint64s(dst, src, func(a, b uint64) uint64 { return min(a, b) }) }}
	MaxUint64  = Op{8, func(dst, src []byte) { uint64s(dst, src, func(a, b uint64) uint64 { return max(a, b) }) }}
	Or         = Op{8, func(dst, src []byte) { uint64s(dst, src, func(a, b uint64) uint64 { return a | b }) }}
	SumFloat64 = Op{8, func(dst, src []byte) { float64s(dst, src, func(a, b float64) float64 { return a + b }) }}
	MinFloat64 = Op{8, func(dst, src []byte) { float64s(dst, src, func(a, b float64) float64 { return min(a, b) }) }}
	MaxFloat64 = Op{8, func(dst, src []byte) { float64s(dst, src, func(a, b float64) float64 { return max(a, b) }) }}
)

func uint64s(dst, src []byte, f func(a, b uint64) uint64) {
	for i := 0; i+8 <= len(dst) && i+8 <= len(src); i += 8 {
		binary.LittleEndian.PutUint64(dst[i:], f(binary.LittleEndian.Uint64(dst[i:]), binary.LittleEndian.Uint64(src[i:])))
	}
}

func float64s(dst, src []byte, f func(a, b float64) float64) {
	uint64s(dst, src, func(a, b uint64) uint64 {
		return math.Float64bits(f(math.Float64frombits(a), math.Float64frombits(b)))
	})
}
