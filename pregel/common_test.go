package pregel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/kernel"
)

// row makes the lists of partition 1 of 3 with one row, for vertex 2. ids are sorted and below 300.
// Ids of the form 3n+1 are owned, others are ghosts.
func row(ids []VertexID) *kernel.EdgeLists {
	l := &kernel.EdgeLists{Slots: kernel.Slots{First: 1, Stride: 3, Ghost: 128}}
	for id := range uint64(300) {
		if id%3 != 1 {
			l.Ghosts = append(l.Ghosts, id)
		}
	}
	for _, id := range ids {
		slot := uint32(id / 3)
		if id%3 != 1 {
			slot = l.Ghost + uint32(slices.Index(l.Ghosts, uint64(id)))
		}
		l.Adj = append(l.Adj, slot)
	}
	if len(ids) > 0 {
		l.Bits, l.Rank, l.Starts = []uint64{1 << 2}, []uint32{0, 1}, []uint32{0, uint32(len(ids))}
	}
	return l
}

// checkCommon compares both methods of intersection with a comparison of all pairs.
func checkCommon(t *testing.T, ids, list []VertexID) {
	t.Helper()
	var want, got []string
	for j, id := range ids {
		if i := slices.Index(list, id); i >= 0 {
			want = append(want, fmt.Sprintf("%d:%d at %d", i, id, j))
		}
	}
	l := row(ids)
	next, _ := eachCommon(l, 2, 70, list, func(i int, e Edge) bool {
		got = append(got, fmt.Sprintf("%d:%d at %d", i, e.To, uint32(e.place)))
		if e.Index() != 70+int(uint32(e.place)) {
			t.Fatalf("the index of edge %d is %d, the first one's is 70", uint32(e.place),
				e.Index())
		}
		return true
	})
	if int(next) != 70+len(ids) {
		t.Fatalf("the next index is %d, after %d edges from 70 on", next, len(ids))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("of %v in %v there are\n%v, expected\n%v", ids, list, got, want)
	}
	if n := countCommon(l, 2, list); n != len(want) {
		t.Fatalf("of %v in %v there are %d, expected %d", ids, list, n, len(want))
	}
	seen := 0
	eachCommon(l, 2, 0, list, func(int, Edge) bool { seen++; return seen < 2 })
	if seen != min(2, len(want)) {
		t.Fatalf("of %v in %v: %d after an end at 2", ids, list, seen)
	}
}

func rising(rng *rand.Rand, n int) []VertexID {
	ids := make([]VertexID, n)
	for i := range ids {
		ids[i] = VertexID(rng.IntN(300))
	}
	slices.Sort(ids)
	return ids
}

func TestCommonIsWhatEveryPairSays(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 1, 2, 5, 17, 40, 290, 700} {
		for _, m := range []int{0, 1, 2, 5, 17, 40, 290, 700} {
			for range 10 {
				checkCommon(t, rising(rng, n), rising(rng, m))
			}
		}
	}
}

// FuzzCommon derives a row and a list from differences of ids.
func FuzzCommon(f *testing.F) {
	f.Add([]byte{1, 2, 3}, []byte{3, 0, 3})
	f.Add([]byte{9}, slices.Repeat([]byte{1}, 90))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		sums := func(steps []byte) (ids []VertexID) {
			id := VertexID(0)
			for _, step := range steps {
				if id += VertexID(step); id >= 300 {
					break
				}
				ids = append(ids, id)
			}
			return ids
		}
		checkCommon(t, sums(a), sums(b))
	})
}

// BenchmarkCommon intersects rows of 1,000 with lists of the same length and shorter. It reports
// the time per element of both, for Common, for CountCommon, and for a search of each list element
// in the row.
func BenchmarkCommon(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	draw := func(n int) []VertexID {
		ids := make([]VertexID, n)
		for i := range ids {
			ids[i] = VertexID(rng.IntN(5000))
		}
		slices.Sort(ids)
		return ids
	}
	ids := draw(1000)
	l := &kernel.EdgeLists{Slots: kernel.Slots{Stride: 1, Ghost: 5056}}
	for _, id := range ids {
		l.Adj = append(l.Adj, uint32(id))
	}
	l.Bits, l.Rank, l.Starts = []uint64{1}, []uint32{0, 1}, []uint32{0, 1000}
	for _, n := range []int{1000, 100, 10} {
		var lists [256][]VertexID // many lists, so that the processor cannot learn the branches
		for i := range lists {
			lists[i] = draw(n)
		}
		list := lists[0]
		for name, run := range map[string]func() int{
			"count": func() int { return countCommon(l, 0, list) },
			"each": func() (sum int) {
				eachCommon(l, 0, 0, list, func(i int, _ Edge) bool { sum += i; return true })
				return sum
			},
			"search": func() (sum int) {
				for _, id := range list {
					if _, ok := slices.BinarySearch(ids, id); ok {
						sum++
					}
				}
				return sum
			},
		} {
			b.Run(fmt.Sprintf("list=%d/%s", n, name), func(b *testing.B) {
				sum, i := 0, 0
				for b.Loop() {
					list = lists[i%len(lists)]
					i++
					sum += run()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*(1000+n)),
					"ns/element")
				_ = sum
			})
		}
	}
}
