package build

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestRanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for range 500 {
		end := max(rng.Uint64()>>rng.IntN(64), 1)
		n := 1 + rng.IntN(9)
		sample := make([]point, rng.IntN(50))
		for i := range sample {
			sample[i] = point{rng.Uint64N(end), rng.Uint64N(1 << 20)}
		}
		each := uint64(0)
		if end < 1<<32 {
			each = rng.Uint64N(20)
		}
		starts := cut(sample, end, each, n)
		r := newRanges(starts, end)
		sum := 0
		for d, size := range r.sizes() {
			if size < 0 || d > 0 && starts[d] < starts[d-1] {
				t.Fatalf("starts %v do not rise", starts)
			}
			sum += size
		}
		if uint64(sum) != end || len(starts) != n || starts[0] != 0 {
			t.Fatalf("%d runs %v cover %d of %d", n, starts, sum, end)
		}
		try := []uint64{0, end - 1, rng.Uint64N(end)}
		for _, s := range starts {
			try = append(try, s, max(s, 1)-1)
		}
		for _, id := range try {
			want := 0
			for d, s := range starts {
				if s <= id {
					want = d
				}
			}
			if got := r.of(id); got != want {
				t.Fatalf("id %d of %v: range %d, want %d", id, starts, got, want)
			}
		}
	}
}

// TestCutBalances: no range costs more than its share plus half of the most expensive point at
// either end.
func TestCutBalances(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 300 {
		end := 1 + rng.Uint64N(1<<32)
		each := rng.Uint64N(3)
		sample := make([]point, 1+rng.IntN(300))
		most, total := uint64(0), each*end
		for i := range sample {
			id := rng.Uint64N(end)
			if rng.IntN(2) == 0 {
				id >>= rng.IntN(32) // many small ids, as if they were hubs
			}
			sample[i] = point{id, 1 + rng.Uint64N(1000)}
			total += sample[i].Cost
		}
		n := 1 + rng.IntN(8)
		r := newRanges(cut(sample, end, each, n), end)
		byID, work := map[uint64]uint64{}, make([]uint64, n)
		for _, p := range sample {
			byID[p.ID] += p.Cost
			most = max(most, byID[p.ID])
			work[r.of(p.ID)] += p.Cost
		}
		for d, size := range r.sizes() {
			if got, limit := work[d]+each*uint64(size), total/uint64(n)+most+2*each+1; got > limit {
				t.Fatalf("run %d of %d costs %d of %d, at most %d", d, n, got, total, limit)
			}
		}
	}
	if got := cut(nil, math.MaxUint64, 0, 3); got[2] != 0 {
		t.Error("nothing to cut by:", got)
	}
}
