package bitmap

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// falling returns a set of the given number of words. Its density falls from 1 to about 1/rare.
func falling(rng *rand.Rand, words int, rare float64) []uint64 {
	set := make([]uint64, words)
	for i := range uint32(64 * words) {
		if float64(i+1)*rng.Float64()*rare < float64(64*words) {
			Set(set, i)
		}
	}
	return set
}

func TestListAgainstItsMembers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	sets := [][]uint64{nil, make([]uint64,
		3), {^uint64(0), ^uint64(0)}, {0, 0, 1 << 63}, random(rng, 40)}
	tails := 0
	for _, words := range []int{1, 20, 1023, 1025, 4100} {
		for _, rare := range []float64{2, 50, 5000} {
			sets = append(sets, falling(rng, words, rare))
		}
	}
	far := make([]uint64, 5000) // words without members are before, between and after the others
	for _, i := range []uint32{70_000, 70_001, 70_100, 200_000} {
		Set(far, i)
	}
	late := make([]uint64, 200) // few members first, then many
	for w := range late {
		late[w] = 1
		if w > 150 {
			late[w] = ^uint64(0)
		}
	}
	sets = append(sets, far, late)
	for k, set := range sets {
		l := newList(set)
		tails += len(l.Tail)
		var members, got []uint32
		Each(set, func(i uint32) { members = append(members, i) })
		l.Each(func(i uint32) { got = append(got, i) })
		if !slices.Equal(members, got) || l.Count() != len(members) {
			t.Fatalf("set %d: members %v, count %d, want %v", k, got, l.Count(), members)
		}
		for _, density := range []float64{0, 0.0005, 0.05, 0.6, 1} {
			f := NewFrontier(make([]uint64, len(set)+3)) // slots continue after the owned ones
			for i := range uint32(64 * len(f.Words)) {
				if rng.Float64() < density {
					f.Add(i)
				}
			}
			f.All = rng.IntN(2) == 0
			if err := compareShared(f, set, l); err != "" {
				t.Fatalf("set %d, density %g: %s", k, density, err)
			}
			if err := compareParts(f, l, rng); err != "" {
				t.Fatalf("set %d, density %g: %s", k, density, err)
			}
			places := make([]uint64, Words(len(members))+1)
			var ranks, want []uint32
			for p, i := range members {
				if rng.Float64() < density {
					Set(places, uint32(p))
					ranks, want = append(ranks, uint32(p)), append(want, i)
				}
			}
			if got := l.Members(places, nil); !slices.Equal(got, want) {
				t.Fatalf("set %d, density %g: members at places %v, want %v", k, density, got, want)
			}
			if l.Replace(ranks); !slices.Equal(ranks, want) {
				t.Fatalf("set %d, density %g: members of ranks %v, want %v", k, density, ranks, want)
			}
		}
	}
	if tails < 1000 {
		t.Errorf("only %d members in tails", tails)
	}
}

// compareShared compares Shared with the set, and checks that it goes in rising order.
func compareShared(f *Frontier, set []uint64, l *List) (wrong string) {
	ranks, shared, last := Rank(set, nil), make([]uint64, len(set)), -1
	l.Shared(f, func(w int, word, mask uint64, rank uint32) {
		first := w<<6 + bits.TrailingZeros64(mask)
		if word == 0 || word != f.Words[w]&mask || mask&^set[w] != 0 || first <= last ||
			rank != ranks.Of(uint32(first)) {
			wrong = "a word is wrong"
		}
		last = w<<6 + 63 - bits.LeadingZeros64(mask)
		shared[w] |= word
	})
	for w, word := range set {
		if f.Words[w]&word != shared[w] {
			wrong = "a word is left out"
		}
	}
	return wrong
}

// TestCut: no other cut saves more than that of Cut. A cut saves two units for each word after it,
// and costs one for each member after it.
func TestCut(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		set := random(rng, rng.IntN(30))
		for w := range set {
			for range w / 4 { // falling density
				set[w] &= rng.Uint64()
			}
		}
		words, tail := Cut(set)
		saved := func(k int) int { return 2*(len(set)-k) - Count(set[k:]) }
		if tail != Count(set[words:]) {
			t.Fatalf("%d members behind word %d, want %d", tail, words, Count(set[words:]))
		}
		for k := range len(set) + 1 {
			if saved(k) > saved(words) {
				t.Fatalf("cut at %d of %d saves %d, at %d %d", words, len(set), saved(words), k,
					saved(k))
			}
		}
	}
}

// BenchmarkList intersects a frontier with lists of a million vertices, in both forms and with
// different numbers of members per word.
func BenchmarkList(b *testing.B) {
	for _, members := range []float64{0.1, 1, 3, 6, 20} {
		set := dense(members / 64)
		flat := List{Head: Rank(set, nil)}
		tail := List{Head: Rank(nil, nil), Tail: make([]uint32, Count(set))}
		tail.Fill(set)
		for _, density := range []float64{0.0001, 0.01, 0.5} {
			f := NewFrontier(dense(density))
			f.Tighten()
			for _, form := range []struct {
				name string
				list List
			}{{"head", flat}, {"tail", tail}} {
				perWord(b, fmt.Sprintf("%g/%g/%s", members, density, form.name), func() {
					sum := 0
					form.list.Shared(f,
						func(_ int, word, _ uint64, _ uint32) { sum += bits.OnesCount64(word) })
				})
			}
		}
	}
}

// newList makes a list of set.
func newList(set []uint64) *List {
	words, tail := Cut(set)
	l := &List{Tail: make([]uint32, tail)}
	l.Head.Bits, l.Head.Rank = make([]uint64, words), make([]uint32, words+1)
	l.Fill(set)
	return l
}
