package graph

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/bitmap"
)

// TestSets: a set is decoded as it was encoded, in either form.
func TestSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	ways := map[byte]int{}
	for range 500 {
		n := rng.IntN(3000)
		set := make([]uint64, bitmap.Words(n))
		for range rng.IntN(1 + n>>rng.IntN(9)) {
			bitmap.Set(set, uint32(rng.IntN(n)))
		}
		data := appendSet(nil, set)
		ways[data[0]]++
		got := make([]uint64, len(set))
		if err := readSet(data, got, n); err != nil || !slices.Equal(got, set) {
			t.Fatalf("%d of %d are read as %d: %v", bitmap.Count(set), n, bitmap.Count(got), err)
		}
		if len(data) > 1+8*len(set) {
			t.Errorf("%d of %d take %d bytes", bitmap.Count(set), n, len(data))
		}
	}
	if ways[0] == 0 || ways[1] == 0 {
		t.Errorf("only one way was tried: %v", ways)
	}
}

func FuzzReadSet(f *testing.F) {
	f.Add([]byte{0, 1, 0, 0, 0, 0, 0, 0, 0}, uint16(64))
	f.Add([]byte{1, 0, 0, 5, 0x80, 1}, uint16(200))
	f.Fuzz(func(t *testing.T, data []byte, n uint16) {
		set := make([]uint64, bitmap.Words(int(n)))
		if readSet(data, set, int(n)) != nil {
			return
		}
		bitmap.Each(set, func(i uint32) {
			if i >= uint32(n) {
				t.Fatalf("%d is not below %d", i, n)
			}
		})
		again := make([]uint64, len(set))
		if err := readSet(appendSet(nil, set), again, int(n)); err != nil ||
			!slices.Equal(set, again) {
			t.Fatalf("%x: %v", data, err)
		}
	})
}

func FuzzReadCounts(f *testing.F) {
	f.Add(AppendCounts(nil, []uint32{1, 0, 0, 300, 0}), uint16(5))
	f.Add([]byte{0, 0}, uint16(2))
	f.Add([]byte{0, 9}, uint16(2))
	f.Fuzz(func(t *testing.T, data []byte, n uint16) {
		counts := make([]uint32, n)
		rest, err := ReadCounts(data, int(n), func(i int, c uint32) { counts[i] = c })
		if err != nil {
			if !errors.Is(err, errMessage) {
				t.Error(err)
			}
			return
		}
		again := make([]uint32, n)
		left, err := ReadCounts(append(AppendCounts(nil, counts), rest...), int(n),
			func(i int, c uint32) { again[i] = c })
		if err != nil || !slices.Equal(counts, again) || !slices.Equal(left, rest) {
			t.Fatalf("%x of %d: %v", data, n, err)
		}
	})
}
