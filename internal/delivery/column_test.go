package delivery

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/transport"
)

// slowColumn returns the positions in list of the vertices in set.
func slowColumn(set, list []uint64) (positions []uint32) {
	k := uint32(0)
	for v := range uint32(64 * len(list)) {
		if bitmap.Get(list, v) {
			if bitmap.Get(set, v) {
				positions = append(positions, k)
			}
			k++
		}
	}
	return positions
}

func randomSet(rng *rand.Rand, words int, density float64) []uint64 {
	set := make([]uint64, words)
	for i := range uint32(64 * words) {
		if rng.Float64() < density {
			bitmap.Set(set, i)
		}
	}
	return set
}

func TestColumnsAgainstSlowTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	var p Presence
	for _, words := range []int{0, 1, 2, 65, 2100} {
		for _, listed := range []float64{0, 0.01, 0.5, 1} {
			for _, density := range []float64{0, 0.001, 0.03, 0.5, 1} {
				// with a head and a tail
				members := append(randomSet(rng, words/2, listed),
					randomSet(rng, words-words/2, listed/50)...)
				set, list := randomSet(rng, words, density), newList(members)
				f := bitmap.NewFrontier(set)
				f.Tighten()
				want := slowColumn(set, members)
				for _, force := range []Encoding{Auto, All, Bitmap, Sparse} {
					e, count, data := p.Encode(f, list, force)
					got := make([]uint64, bitmap.Words(list.Count()))
					if err := Decode(e, count, list.Count(), data, got); err != nil {
						t.Fatalf("%d words, list %g, density %g, %v: %v", words, listed, density,
							force, err)
					}
					var back []uint32
					bitmap.Each(got, func(i uint32) { back = append(back, i) })
					if !slices.Equal(back, want) || count != len(want) {
						t.Fatalf("%d words, list %g, density %g, %v as %v: %d present, want %d",
							words, listed, density, force, e, len(back), len(want))
					}
					// a fold names the receivers
					x := Exchange{probe: func(Work, int) {}}
					var receivers []uint32
					bitmap.Each(members, func(i uint32) {
						if bitmap.Get(set, i) {
							receivers = append(receivers, i)
						}
					})
					in := &transport.Frame{Encoding: uint8(e), Count: count, Presence: data}
					if to, err := x.receivers(in, *list); err != nil || !slices.Equal(to, receivers) {
						t.Fatalf("%d words, list %g, density %g, %v: %v, to %d, want %d", words,
							listed, density, force, err, len(to), len(receivers))
					}
					in.Count++
					if _, err := x.receivers(in, *list); err == nil {
						t.Fatalf("%d words, %v: a count of one too many is accepted", words, e)
					}
				}
				n := 64 * words
				for _, force := range []Encoding{Auto, Bitmap, Sparse} {
					e, count, data := p.EncodeRun(set, f.Spans(0, words, nil), n, force)
					got := make([]uint64, words)
					if err := Decode(e, count, n, data, got); err != nil ||
						!slices.Equal(got, set) {
						t.Fatalf("run of %d, density %g, %v as %v: %v", n, density, force, e, err)
					}
				}
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(uint8(Sparse), 2, 100, []byte{0, 0, 1, 0, 3, 0, 7, 0})
	f.Add(uint8(Bitmap), 1, 64, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	f.Add(uint8(All), 5, 5, []byte{})
	f.Fuzz(func(t *testing.T, e uint8, count, n int, data []byte) {
		if n < 0 || n > 1<<20 {
			return
		}
		words := make([]uint64, bitmap.Words(n))
		if Decode(Encoding(e), count, n, data, words) != nil {
			return
		}
		// Decode accepts exactly the bytes that Encode writes for the same set.
		var p Presence
		if got, c, again := p.EncodeRun(words, []bitmap.Span{{To: len(words)}}, n, Encoding(e)); got == Encoding(e) &&
			(c != count || !slices.Equal(again, data)) && Encoding(e) != Sparse {
			t.Fatalf("%v of %d: %x became %x", got, n, data, again)
		}
		if bitmap.Count(words) != count {
			t.Fatalf("%d present, %d said", bitmap.Count(words), count)
		}
	})
}

// newList makes a list of set.
func newList(set []uint64) *bitmap.List {
	words, tail := bitmap.Cut(set)
	l := &bitmap.List{Tail: make([]uint32, tail)}
	l.Head.Bits, l.Head.Rank = make([]uint64, words), make([]uint32, words+1)
	l.Fill(set)
	return l
}
