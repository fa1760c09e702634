package collective

import (
	"context"

	"github.com/superstep-go/superstep/internal/wire"
)

// AlltoallOf is Alltoall of values that hold no pointers, as they lie in memory. What a damaged message would leave of a
// value is cut off.
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

// Combine returns the numbers of all ranks combined by an operator on elements of 8 bytes. All have as many.
func Combine(ctx context.Context, g *Group, call Call, op Op, numbers ...uint64) ([]uint64, error) {
	err := g.Allreduce(ctx, call, wire.Bytes(numbers), op)
	return numbers, err
}

// CombineOne is Combine for one number.
func CombineOne(ctx context.Context, g *Group, call Call, op Op, number uint64) (uint64, error) {
	all, err := Combine(ctx, g, call, op, number)
	return all[0], err
}
