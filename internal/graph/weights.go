package graph

import (
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/wire"
)

// WeightColumn has weights of the type that a graph stores, or none.
type WeightColumn struct {
	Single []float32
	Double []float64
}

// MakeWeights allocates n weights.
func MakeWeights(arena *mem.Arena, kind edges.Weights, n int) (c WeightColumn) {
	switch kind {
	case edges.Float32:
		c.Single = mem.Make[float32](arena, n)
	case edges.Float64:
		c.Double = mem.Make[float64](arena, n)
	}
	return c
}

// weightsOf returns the weights of lists.
func weightsOf(l *kernel.Lists) WeightColumn { return WeightColumn{l.Weights32, l.Weights64} }

// makeWeights allocates the weights of l's edges.
func makeWeights(arena *mem.Arena, l *kernel.Lists, kind edges.Weights) {
	c := MakeWeights(arena, kind, len(l.Adj))
	l.Weights32, l.Weights64 = c.Single, c.Double
}

// Slice returns weights lo to hi-1, if there are any.
func (c WeightColumn) Slice(lo, hi int) WeightColumn {
	switch {
	case c.Single != nil:
		return WeightColumn{Single: c.Single[lo:hi:hi]}
	case c.Double != nil:
		return WeightColumn{Double: c.Double[lo:hi:hi]}
	}
	return WeightColumn{}
}

// At returns weight i, or 1 if there are none.
func (c WeightColumn) At(i int) float64 {
	switch {
	case c.Single != nil:
		return float64(c.Single[i])
	case c.Double != nil:
		return c.Double[i]
	}
	return 1
}

// Set sets weight i, if there are weights.
func (c WeightColumn) Set(i int, w float64) {
	switch {
	case c.Single != nil:
		c.Single[i] = float32(w)
	case c.Double != nil:
		c.Double[i] = w
	}
}

// Put sets weight to to weight i of a column of the same type.
func (c WeightColumn) Put(to int, from WeightColumn, i int) {
	switch {
	case c.Single != nil:
		c.Single[to] = from.Single[i]
	case c.Double != nil:
		c.Double[to] = from.Double[i]
	}
}

// Copy copies all weights of a column of the same type to positions from at on.
func (c WeightColumn) Copy(at int, from WeightColumn) {
	switch {
	case c.Single != nil:
		copy(c.Single[at:], from.Single)
	case c.Double != nil:
		copy(c.Double[at:], from.Double)
	}
}

// Append appends a weight of a type.
func (c *WeightColumn) Append(kind edges.Weights, w float64) {
	switch kind {
	case edges.Float32:
		c.Single = append(c.Single, float32(w))
	case edges.Float64:
		c.Double = append(c.Double, w)
	}
}

// Reset removes all weights but keeps their memory.
func (c *WeightColumn) Reset() { c.Single, c.Double = c.Single[:0], c.Double[:0] }

// WeightBytes returns the size of a weight in bytes.
func WeightBytes(kind edges.Weights) int {
	return [...]int{edges.Unweighted: 0, edges.Float32: 4, edges.Float64: 8}[kind]
}

// Encode appends all weights, little-endian.
func (c WeightColumn) Encode(dst []byte) []byte {
	return append(append(dst, wire.Bytes(c.Single)...), wire.Bytes(c.Double)...)
}

// DecodeWeights converts the bytes of Encode to weights, without a copy.
func DecodeWeights(kind edges.Weights, data []byte) (c WeightColumn) {
	switch kind {
	case edges.Float32:
		c.Single = wire.Slice[float32](data)
	case edges.Float64:
		c.Double = wire.Slice[float64](data)
	}
	return c
}
