package collective

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"github.com/superstep-go/superstep/internal/wire"
)

// Op is an operator that combines data element by element.
type Op struct {
	// Size is the size of an element in bytes. Data is cut only between elements.
	Size int
	// Combine stores the combination of dst and src in dst. Both have the same number of whole
	// elements. It must be associative and commutative. Algorithms may round differently, but all
	// ranks get the same bits if the results for (a, b) and (b, a) have the same bits.
	Combine func(dst, src []byte)
}

// Operators on little-endian elements of 8 bytes.
var (
	SumUint64  = uint64Op(func(a, b uint64) uint64 { return a + b })
	MinUint64  = uint64Op(func(a, b uint64) uint64 { return min(a, b) })
	MaxUint64  = uint64Op(func(a, b uint64) uint64 { return max(a, b) })
	Or         = uint64Op(func(a, b uint64) uint64 { return a | b })
	SumFloat64 = float64Op(func(a, b float64) float64 { return a + b })
	MinFloat64 = float64Op(func(a, b float64) float64 { return min(a, b) })
	MaxFloat64 = float64Op(func(a, b float64) float64 { return max(a, b) })
)

func uint64Op(f func(a, b uint64) uint64) Op {
	return Op{8, func(dst, src []byte) {
		for i := 0; i+8 <= len(dst) && i+8 <= len(src); i += 8 {
			binary.LittleEndian.PutUint64(dst[i:],
				f(binary.LittleEndian.Uint64(dst[i:]), binary.LittleEndian.Uint64(src[i:])))
		}
	}}
}

func float64Op(f func(a, b float64) float64) Op {
	return uint64Op(func(a, b uint64) uint64 {
		return math.Float64bits(f(math.Float64frombits(a), math.Float64frombits(b)))
	})
}

// AlltoallOf is Alltoall for values without pointers, which it sends as they are in memory. It
// drops an incomplete value at the end of a damaged message.
func AlltoallOf[T any](ctx context.Context, g *Group, call Call, out [][]T) ([][]T, error) {
	data := make([][]byte, len(out))
	for q, values := range out {
		data[q] = wire.Bytes(values)
	}
	in, err := g.Alltoall(ctx, call, data)
	if err != nil {
		return nil, err
	}
	values := make([][]T, len(in))
	for q, data := range in {
		values[q] = wire.Slice[T](data)
	}
	return values, nil
}

// Combine combines the numbers of all ranks by an operator on elements of 8 bytes. All ranks must
// have the same number of them.
func Combine(ctx context.Context, g *Group, call Call, op Op, numbers ...uint64) ([]uint64, error) {
	err := g.Allreduce(ctx, call, wire.Bytes(numbers), op)
	return numbers, err
}

// Gather returns the values of all ranks, by rank. They are sent as JSON.
func Gather[T any](ctx context.Context, g *Group, call Call, own *T) ([]T, error) {
	data, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	all, err := g.Allgather(ctx, call, data)
	if err != nil {
		return nil, err
	}
	values := make([]T, len(all))
	for rank, data := range all {
		if err := json.Unmarshal(data, &values[rank]); err != nil {
			return nil, fmt.Errorf("from rank %d: %w: %w", rank, ErrMessage, err)
		}
		// missing or unknown fields would otherwise be ignored
		if again, err := json.Marshal(&values[rank]); err != nil || !bytes.Equal(again, data) {
			return nil, fmt.Errorf("from rank %d: %w: %.100s", rank, ErrMessage, data)
		}
	}
	return values, nil
}

// CombineOne is Combine for one number.
func CombineOne(ctx context.Context, g *Group, call Call, op Op, number uint64) (uint64, error) {
	all, err := Combine(ctx, g, call, op, number)
	return all[0], err
}
