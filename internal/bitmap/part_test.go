package bitmap

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// compareParts cuts a list into parts. It compares their intersections with a frontier with that of
// the whole list.
func compareParts(f *Frontier, l *List, rng *rand.Rand) (wrong string) {
	ranks := func(l *List, from uint32) (all []uint32) {
		l.Shared(f, func(_ int, word, mask uint64, rank uint32) {
			for ; word != 0; word &= word - 1 {
				all = append(all, from+rank+uint32(bits.OnesCount64(mask&(word&-word-1))))
			}
		})
		return all
	}
	n := l.Count()
	var members, got []uint32
	l.Each(func(i uint32) { members = append(members, i) })
	for rank, i := range members {
		if l.At(rank) != i {
			return fmt.Sprintf("the member of rank %d is %d, want %d", rank, l.At(rank), i)
		}
	}
	for from := 0; from < n; {
		to := min(n, from+1+rng.IntN(1+rng.IntN(300)))
		part := l.Part(from, to)
		if part.Count() != to-from {
			return fmt.Sprintf("part %d to %d counts %d", from, to, part.Count())
		}
		got = append(got, ranks(&part, uint32(from))...)
		from = to
	}
	if want := ranks(l, 0); !slices.Equal(got, want) {
		return fmt.Sprintf("parts share ranks %v, the list %v", got, want)
	}
	return ""
}
