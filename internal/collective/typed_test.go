package collective

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/superstep-go/superstep/internal/testcluster/memlink"
)

func TestTyped(t *testing.T) {
	type pair struct{ a, b uint32 }
	for ranks := 1; ranks <= 4; ranks++ {
		memory := memlink.New(ranks, nil)
		var all sync.WaitGroup
		for rank := range ranks {
			all.Go(func() {
				g, err := NewGroup(memory.Link(rank), nil, nil)
				if err != nil {
					t.Error(err)
					return
				}
				out := make([][]pair, ranks)
				for to := range out {
					for i := range to {
						out[to] = append(out[to], pair{uint32(rank), uint32(i)})
					}
				}
				in, err := AlltoallOf(t.Context(), g, Call{Tag: 1}, out)
				for from, got := range in {
					if len(got) != rank || slices.Contains(got, pair{uint32(from), uint32(rank)}) ||
						rank > 0 && got[0] != (pair{uint32(from), 0}) {
						t.Errorf("rank %d of %d has %v from rank %d", rank, ranks, got, from)
					}
				}
				if err != nil {
					t.Error(err)
				}
				sums, err := Combine(t.Context(), g, Call{Tag: 1}, SumUint64, uint64(rank), 1)
				if fmt.Sprint(sums) != fmt.Sprint([]int{ranks * (ranks - 1) / 2, ranks}) ||
					err != nil {
					t.Errorf("%d ranks add up to %v, %v", ranks, sums, err)
				}
				if most, err := CombineOne(t.Context(), g, Call{Tag: 1}, MaxUint64,
					uint64(rank)); most != uint64(ranks-1) || err != nil {
					t.Errorf("the greatest of %d ranks is %d, %v", ranks, most, err)
				}
			})
		}
		all.Wait()
	}
}
