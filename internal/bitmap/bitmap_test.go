package bitmap

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

func random(rng *rand.Rand, words int) []uint64 {
	set := make([]uint64, words)
	for i := range set {
		switch rng.IntN(4) {
		case 0:
			set[i] = rng.Uint64()
		case 1:
			set[i] = rng.Uint64() & rng.Uint64() & rng.Uint64()
		case 2:
			set[i] = ^uint64(0)
		}
	}
	return set
}

func TestRankedAgainstCounting(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	set := random(rng, 20)
	r := Rank(set, nil)
	n := uint32(0)
	for i := range uint32(20 * 64) {
		if r.Of(i) != n {
			t.Fatalf("rank of %d is %d, want %d", i, r.Of(i), n)
		}
		if Get(set, i) {
			n++
		}
	}
	if r.Count() != int(n) || Count(set) != int(n) {
		t.Fatalf("counts %d and %d, want %d", r.Count(), Count(set), n)
	}
}

func TestCompressAndExpandAreInverse(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	slow := func(word, mask uint64) (packed uint64) {
		for i, k := 0, 0; i < 64; i++ {
			if mask>>i&1 != 0 {
				packed |= word >> i & 1 << k
				k++
			}
		}
		return packed
	}
	for range 5000 {
		words := random(rng, 2)
		word, mask := words[0], words[1]
		got := Compress(word, mask)
		if want := slow(word, mask); got != want {
			t.Fatalf("Compress(%x, %x) = %x, want %x", word, mask, got, want)
		}
		if back := Expand(got, mask); back != word&mask {
			t.Fatalf("Expand(%x, %x) = %x, want %x", got, mask, back, word&mask)
		}
	}
}

func TestFillAndEach(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 128, 200} {
		set := make([]uint64, Words(n))
		Fill(set, n)
		next := uint32(0)
		Each(set, func(i uint32) {
			if i != next {
				t.Fatalf("n %d: got %d, want %d", n, i, next)
			}
			next++
		})
		if int(next) != n || Count(set) != n {
			t.Fatalf("n %d: %d ones", n, next)
		}
	}
}

func TestFrontier(t *testing.T) {
	f := NewFrontier(make([]uint64, 130))
	f.Add(5)
	f.Add(64 * 129)
	if !f.AddShared(70) || f.AddShared(70) {
		t.Fatal("AddShared must tell the first from the second")
	}
	if Count(f.Words) != 3 || bits.OnesCount64(f.Summary(0)) != 2 || f.Summary(2) != 2 {
		t.Fatalf("count %d, summary %x %x %x", Count(f.Words), f.Summary(0), f.Summary(1),
			f.Summary(2))
	}
	f.All = true
	if f.Summary(2) != 3 || Count(f.Words) != 3 {
		t.Fatalf("summary of the last words %x", f.Summary(2))
	}
	f.Tighten()
	if f.Summary(0) != 3 || f.Summary(1) != 0 || f.Summary(2) != 2 {
		t.Fatalf("tightened %x %x %x", f.Summary(0), f.Summary(1), f.Summary(2))
	}
	f.Clear()
	if Count(f.Words) != 0 || Count(f.Top) != 0 {
		t.Fatal("not clear")
	}
}

// TestSpans: spans have the marked words of a range, and neighbouring spans are one.
func TestSpans(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 300 {
		f := NewFrontier(make([]uint64, 1+rng.IntN(300)))
		for w := range f.Words {
			if rng.IntN(1+rng.IntN(9)) == 0 {
				f.Mark(w)
			}
		}
		f.All = rng.IntN(5) == 0
		hi := rng.IntN(len(f.Words) + 1)
		lo := rng.IntN(hi + 1)
		var want []Span
		for w := lo; w < hi; w++ {
			switch n := len(want); {
			case !f.All && f.Top[w>>6]>>(w&63)&1 == 0:
			case n > 0 && want[n-1].To == w-lo:
				want[n-1].To++
			default:
				want = append(want, Span{w - lo, w - lo + 1})
			}
		}
		if got := f.Spans(lo, hi, nil); !slices.Equal(got, want) {
			t.Fatalf("words %d to %d of %x: %v, want %v", lo, hi, f.Top, got, want)
		}
	}
}

// TestSetShared: goroutines that set bits of the same word lose none.
func TestSetShared(t *testing.T) {
	const goroutines = 4
	for range 2000 {
		set := make([]uint64, 1)
		var all sync.WaitGroup
		for first := range uint32(goroutines) {
			all.Go(func() {
				for i := first; i < 64; i += goroutines {
					SetShared(set, i)
				}
			})
		}
		all.Wait()
		if Count(set) < 64 {
			t.Fatalf("found the bits %#x, expected all", set[0])
		}
	}
}
