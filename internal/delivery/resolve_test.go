package delivery

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/superstep-go/superstep/internal/bitmap"
)

// resolving is a pull of sums over lists of ghosts. Some of the ghosts have sent; packed has their
// values.
type resolving struct {
	present bitmap.Ranked
	packed  []float64
	slots   []float64
	lists   []uint32 // 16 neighbours each
}

func newResolving(ghosts, lists int, density float64) *resolving {
	rng := rand.New(rand.NewPCG(21, 22))
	r := &resolving{present: bitmap.Rank(randomSet(rng, ghosts/64, density),
		nil), slots: make([]float64, ghosts)}
	for range r.present.Count() {
		r.packed = append(r.packed, rng.Float64())
	}
	for range 16 * lists {
		u := rng.Float64()
		r.lists = append(r.lists, uint32(u*u*u*float64(ghosts))) // hubs first
	}
	return r
}

// byRank finds each value by the rank of its bit (RO), as in Ueno13.
func (r *resolving) byRank() (total float64) {
	for i := 0; i < len(r.lists); i += 16 {
		sum := 0.0
		for _, s := range r.lists[i : i+16] {
			if word := r.present.Bits[s>>6]; word>>(s&63)&1 != 0 {
				sum += r.packed[r.present.Rank[s>>6]+uint32(bits.OnesCount64(word&(1<<(s&63)-1)))]
			}
		}
		total += sum
	}
	return total
}

// bySlot first writes every value to its slot.
func (r *resolving) bySlot() (total float64) {
	k := 0
	for w, word := range r.present.Bits {
		for ; word != 0; word &= word - 1 {
			r.slots[w<<6+bits.TrailingZeros64(word)] = r.packed[k]
			k++
		}
	}
	for i := 0; i < len(r.lists); i += 16 {
		sum := 0.0
		for _, s := range r.lists[i : i+16] {
			if r.present.Bits[s>>6]>>(s&63)&1 != 0 {
				sum += r.slots[s]
			}
		}
		total += sum
	}
	return total
}

func TestResolvingIsTheSame(t *testing.T) {
	for _, density := range []float64{0, 0.1, 1} {
		r := newResolving(1<<12, 1000, density)
		if a, b := r.byRank(), r.bySlot(); a != b {
			t.Errorf("density %g: %g by rank, %g by slot", density, a, b)
		}
	}
}

// BenchmarkResolve compares these two methods of resolving a message in a pull
// (docs/design/resolving-messages.md).
func BenchmarkResolve(b *testing.B) {
	for _, ghosts := range []int{1 << 16, 1 << 20} {
		for _, density := range []float64{0.01, 0.1, 0.5, 0.95} {
			r := newResolving(ghosts, ghosts/2, density)
			for _, way := range []struct {
				name string
				f    func() float64
			}{{"rank", r.byRank}, {"slot", r.bySlot}} {
				b.Run(fmt.Sprintf("ghosts=%d/%g/%s", ghosts, density, way.name),
					func(b *testing.B) {
						for b.Loop() {
							way.f()
						}
						b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(
							len(r.lists)), "ns/edge")
					})
			}
		}
	}
}
