package graphio

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/parallel"
)

// sortIDs numbers ids by sorting. First each batch is sorted. Then the ids are cut into ranges of
// about equal size, and each worker merges ranges.
func sortIDs(ctx context.Context, team *parallel.Team, t *table) (*numbering, error) {
	const what = "sorting the ids of its vertices"
	if err := t.slabs.admission.admit(8*int64(t.n*t.columns), what); err != nil {
		return nil, err
	}
	runs := make([][]uint64, len(t.batches))
	team.For(len(runs), 1, func(_, lo, hi int) {
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			runs[i] = sortedIDs(t, i)
		}
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	cuts := cutRanges(runs, 4*team.Size())
	ranges := make([][]uint64, len(cuts)+1)
	var mu sync.Mutex
	var refused error
	team.For(len(ranges), 1, func(_, lo, hi int) {
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			lists := cutRuns(runs, cuts, i)
			bytes := 0
			for _, list := range lists {
				bytes += 8 * len(list)
			}
			if err := t.slabs.admission.admit(int64(bytes), what); err != nil {
				mu.Lock()
				refused = err
				mu.Unlock()
				return
			}
			ranges[i] = mergeAll(lists)
		}
	})
	if err := cmp.Or(ctx.Err(), refused); err != nil {
		return nil, err
	}
	n := 0
	for _, some := range ranges {
		n += len(some)
	}
	if uint64(n) > maxVertices {
		return nil, tooMany(uint64(n))
	}
	if err := t.slabs.admission.admit(8*int64(n), "the list of its vertices"); err != nil {
		return nil, err
	}
	ids := slices.Concat(ranges...)
	return &numbering{n: len(ids), ids: ids, index: edges.NewIndex(nil, ids)}, nil
}

// sortedIDs returns the sorted distinct ids of a batch.
func sortedIDs(t *table, i int) []uint64 {
	ids := make([]uint64, 0, t.batches[i].n*t.columns)
	t.each(i, func(some []uint64) { ids = append(ids, some...) })
	slices.Sort(ids)
	return slices.Clip(slices.Compact(ids))
}

// cutRanges returns sorted ids that cut all runs together into about n equal parts. They are
// quantiles of a sample.
func cutRanges(runs [][]uint64, n int) []uint64 {
	const samples = 64 // per run: parts differ by a few percent
	var sample []uint64
	for _, run := range runs {
		for i := range min(samples, len(run)) {
			sample = append(sample, run[i*len(run)/min(samples, len(run))])
		}
	}
	slices.Sort(sample)
	var cuts []uint64
	for i := 1; i < n && len(sample) > 0; i++ {
		cuts = append(cuts, sample[i*len(sample)/n])
	}
	return slices.Compact(cuts)
}

// cutRuns returns the non-empty parts of the runs in range i: the ids in [cuts[i-1], cuts[i]).
func cutRuns(runs [][]uint64, cuts []uint64, i int) [][]uint64 {
	lists := make([][]uint64, 0, len(runs))
	for _, run := range runs {
		if i < len(cuts) {
			end, _ := slices.BinarySearch(run, cuts[i])
			run = run[:end]
		}
		if i > 0 {
			begin, _ := slices.BinarySearch(run, cuts[i-1])
			run = run[begin:]
		}
		if len(run) > 0 {
			lists = append(lists, run)
		}
	}
	return lists
}

// mergeAll merges sorted lists.
func mergeAll(lists [][]uint64) []uint64 {
	for len(lists) > 1 {
		half := lists[:0]
		for j := 0; j < len(lists); j += 2 {
			if j+1 == len(lists) {
				half = append(half, lists[j])
			} else {
				half = append(half, merge(lists[j], lists[j+1]))
			}
		}
		lists = half
	}
	if len(lists) == 0 {
		return nil
	}
	return lists[0]
}

// merge returns the union of two sorted lists.
func merge(a, b []uint64) []uint64 {
	union := make([]uint64, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			union = append(union, a[0])
			a = a[1:]
		case a[0] > b[0]:
			union = append(union, b[0])
			b = b[1:]
		default:
			union = append(union, a[0])
			a, b = a[1:], b[1:]
		}
	}
	return append(append(union, a...), b...)
}
