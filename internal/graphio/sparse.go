package graphio

import (
	"context"
	"math"
	"slices"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/parallel"
)

// sortIDs numbers ids by sorting them. It divides them into ranges with about equal numbers of ids,
// and one worker sorts a range. The worker searches the whole table for the ids of its range. With
// few workers this takes little time in comparison with sorting the ids.
func sortIDs(ctx context.Context, team *parallel.Team, t *table) (*numbering, error) {
	t.slabs.admission.admit(8*int64(t.n*t.columns), "sorting the ids of its vertices")
	cuts := t.cuts(max(4, team.Size()))
	ranges := make([][]uint64, len(cuts)-1)
	team.For(len(ranges), 1, func(_, i, _ int) {
		if ctx.Err() == nil {
			ranges[i] = t.between(ctx, cuts[i], cuts[i+1], t.n*t.columns/len(ranges))
		}
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	n := 0
	for _, ids := range ranges {
		n += len(ids)
	}
	if uint64(n) > maxVertices {
		return nil, tooMany(uint64(n))
	}
	t.slabs.admission.admit(8*int64(n), "the list of its vertices")
	ids := slices.Concat(ranges...)
	return &numbering{n: n, ids: ids, index: edges.NewIndex(nil, ids)}, nil
}

// cuts returns rising ids that divide the ids of the table into about n equal ranges: quantiles of
// a sample. The first is 0, and the last is above all ids.
func (t *table) cuts(n int) []uint64 {
	const every = 1021 // odd, so that the sample has sources and targets
	var sample []uint64
	next := 0
	for i := range t.batches {
		t.each(i, func(ids []uint64) {
			for ; next < len(ids); next += every {
				sample = append(sample, ids[next])
			}
			next -= len(ids)
		})
	}
	slices.Sort(sample)
	cuts := []uint64{0}
	for i := 1; i < n; i++ {
		cuts = append(cuts, sample[i*len(sample)/n])
	}
	return append(slices.Compact(cuts), math.MaxUint64)
}

// between returns the distinct ids of the table in [low, high), in rising order. about is the
// expected number of ids, including repeated ones.
func (t *table) between(ctx context.Context, low, high uint64, about int) []uint64 {
	found := make([]uint64, 0, about+about/8)
	for i := range t.batches {
		if t.batches[i].max < low || ctx.Err() != nil {
			continue
		}
		t.each(i, func(ids []uint64) {
			for _, id := range ids {
				if id-low < high-low {
					found = append(found, id)
				}
			}
		})
	}
	slices.Sort(found)
	return slices.Clone(slices.Compact(found))
}
