package edges

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestConsecutive(t *testing.T) {
	l := Consecutive(10)
	if l.Identity() || l.Of(2) != 12 {
		t.Error("vertex 2 is", l.Of(2))
	}
	for id, want := range map[uint64]bool{9: false, 10: true, 14: true, 15: false, 0: false, math.MaxUint64: false} {
		if v, ok := l.Find(id, 5); ok != want || ok && v != id-10 {
			t.Errorf("Find(%d) = %d, %t", id, v, ok)
		}
	}
	if first, ok := l.First(); first != 10 || !ok {
		t.Error(first, ok)
	}
	if _, ok := NewLabels([]uint64{1, 3}).First(); ok {
		t.Error("ids that do not follow one another")
	}
}

// TestIndex compares Index with binary search, for ids of different distributions.
func TestIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		ids := make([]uint64, rng.IntN(200))
		shift, base := rng.IntN(64), rng.Uint64()>>rng.IntN(64)
		for i := range ids {
			ids[i] = base + rng.Uint64()>>shift>>1
		}
		if rng.IntN(3) == 0 {
			ids = append(ids, 0, math.MaxUint64)
		}
		slices.Sort(ids)
		ids = slices.Compact(ids)
		x := NewIndex(nil, ids)
		try := []uint64{0, 1, base, base - 1, math.MaxUint64, rng.Uint64()}
		for _, id := range ids {
			try = append(try, id, id+1, id-1)
		}
		for _, id := range try {
			want, there := slices.BinarySearch(ids, id)
			if got, ok := x.Find(id); ok != there || ok && int(got) != want {
				t.Fatalf("Find(%d) = %d, %t in %v", id, got, ok, ids)
			}
		}
	}
}

func TestPart(t *testing.T) {
	for _, n := range []int{0, 1, 7, 64, 1 << 50} {
		for ranks := 1; ranks < 9; ranks++ {
			at := 0
			for rank := range ranks {
				from, to := Part(n, rank, ranks)
				if from != at || to-from < n/ranks || to-from > n/ranks+1 {
					t.Errorf("part %d of %d of %d: %d..%d after %d", rank, ranks, n, from, to, at)
				}
				at = to
			}
			if at != n {
				t.Errorf("%d parts of %d end at %d", ranks, n, at)
			}
		}
	}
}
