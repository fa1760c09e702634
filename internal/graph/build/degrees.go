package build

import (
	"context"
	"fmt"
	"math"

	"github.com/superstep-go/superstep/internal/collective"
)

// checkDegrees returns an error if a vertex has more edges than a 32-bit counter can count: an
// overflow makes the sum of the counters smaller than the number of increments. here is the number
// of increments by this rank, of degree counters on all ranks. touched, if not nil, returns the
// number of tuples, without loops, that touch a vertex of this range. If a counter can count all
// tuples, there is nothing to check.
func (b *builder) checkDegrees(ctx context.Context, degrees *counters, here uint64, touched func(v uint32) uint32) error {
	if uint64(b.all.tuples) <= limits.sureTuples {
		return nil
	}
	sum, ends := uint64(0), uint64(0)
	for v := range uint32(len(degrees.out)) {
		sum += uint64(degrees.out[v])
		if degrees.in != nil {
			sum += uint64(degrees.in[v])
		}
		if touched != nil {
			ends += uint64(touched(v))
		}
	}
	all, err := collective.Combine(ctx, b.group, b.call(), collective.SumUint64, sum, here, ends,
		uint64(b.loops))
	if err != nil {
		return err
	}
	if all[0] != all[1] || touched != nil && all[2] != 2*(uint64(b.all.tuples)-all[3]) {
		return fmt.Errorf("a vertex has more than %d edges", uint32(math.MaxUint32))
	}
	return nil
}
