package delivery

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/wire"
)

// Roaring bitmaps compared with our own: as the presence of a column on the network, and as a list
// that is asked for ranks. lab/results.md has the measurements and the decision.

// roaringPresence is Encode with a roaring bitmap of the positions. Like ours, its bits are packed
// to the list's length.
func roaringPresence(p *Presence, f *bitmap.Frontier, list *bitmap.List) (*roaring.Bitmap, []byte) {
	_, _, packed := p.Encode(f, list, Bitmap)
	set := roaring.FromDense(wire.Slice[uint64](packed), false)
	set.RunOptimize()
	data, err := set.ToBytes()
	if err != nil {
		panic(err)
	}
	return set, data
}

func roaringDecode(data []byte, words []uint64) error {
	var set roaring.Bitmap
	if _, err := set.FromBuffer(data); err != nil {
		return err
	}
	if err := set.Validate(); err != nil {
		return err
	}
	set.WriteDenseTo(words)
	return nil
}

const presenceWords = 1 << 14 // a list of half a million of a million vertices

var presenceDensities = []float64{0.0001, 0.001, 0.01, 0.03, 0.1, 0.5, 0.99}

func presenceCase(density float64) (*bitmap.Frontier, *bitmap.List) {
	rng := rand.New(rand.NewPCG(11, 12))
	f := bitmap.NewFrontier(randomSet(rng, presenceWords, density))
	f.Tighten()
	return f, newList(randomSet(rng, presenceWords, 0.5))
}

func TestRoaringPresenceIsTheSame(t *testing.T) {
	for _, density := range presenceDensities {
		f, list := presenceCase(density)
		var p Presence
		e, count, data := p.Encode(f, list, Auto)
		ours, theirs := make([]uint64, bitmap.Words(list.Count())),
			make([]uint64, bitmap.Words(list.Count())+1024)
		if err := Decode(e, count, list.Count(), data, ours); err != nil {
			t.Fatal(err)
		}
		_, data = roaringPresence(&p, f, list)
		if err := roaringDecode(data, theirs); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(ours, theirs[:len(ours)]) {
			t.Errorf("density %g: the sets differ", density)
		}
	}
}

// BenchmarkPresence encodes and decodes the presence of a column, by density of the frontier.
func BenchmarkPresence(b *testing.B) {
	for _, density := range presenceDensities {
		f, list := presenceCase(density)
		var p Presence
		words := make([]uint64, bitmap.Words(list.Count())+1024)
		e, count, data := p.Encode(f, list, Auto)
		ours := slices.Clone(data)
		_, theirs := roaringPresence(&p, f, list)
		name := func(what, how string) string { return fmt.Sprintf("%s/%g/%s", what, density, how) }
		b.Run(name("encode", "own"), func(b *testing.B) {
			for b.Loop() {
				p.Encode(f, list, Auto)
			}
			b.ReportMetric(float64(len(ours)), "bytes")
		})
		b.Run(name("encode", "roaring"), func(b *testing.B) {
			for b.Loop() {
				roaringPresence(&p, f, list)
			}
			b.ReportMetric(float64(len(theirs)), "bytes")
		})
		b.Run(name("decode", "own"), func(b *testing.B) {
			for b.Loop() {
				clear(words)
				if err := Decode(e, count, list.Count(), ours, words); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name("decode", "roaring"), func(b *testing.B) {
			for b.Loop() {
				clear(words)
				if err := roaringDecode(theirs, words); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRank asks a list for the ranks of random members.
func BenchmarkRank(b *testing.B) {
	for _, density := range []float64{0.01, 0.5} {
		rng := rand.New(rand.NewPCG(13, 14))
		own := bitmap.Rank(randomSet(rng, presenceWords, density), nil)
		set := roaring.FromDense(own.Bits, true)
		asked := make([]uint32, 1<<12)
		for i := range asked {
			asked[i] = rng.Uint32N(64 * presenceWords)
		}
		sum := uint64(0)
		b.Run(fmt.Sprintf("%g/own", density), func(b *testing.B) {
			for b.Loop() {
				for _, i := range asked {
					sum += uint64(own.Of(i))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(asked)),
				"ns/rank")
			b.ReportMetric(float64(8*len(own.Bits)+4*len(own.Rank)), "bytes")
		})
		b.Run(fmt.Sprintf("%g/roaring", density), func(b *testing.B) {
			for b.Loop() {
				for _, i := range asked {
					sum += set.Rank(i)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(asked)),
				"ns/rank")
			b.ReportMetric(float64(set.GetSizeInBytes()), "bytes")
		})
		_ = sum
	}
}
