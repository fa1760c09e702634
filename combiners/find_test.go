package combiners_test

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// dense is the number of needed rows from which a pull processes all 64 rows of a full word.
const dense = 20

// findTwin scans every list from its beginning.
func findTwin(
	p *kernel.Pull, w int, need uint64,
) (hit uint64, walked int, slots [64]pregel.VertexID) {
	for i := range 64 {
		if need>>i&1 == 0 {
			continue
		}
		lo, hi := p.Row(uint32(w<<6 + i))
		for _, s := range p.Adj[lo:hi] {
			walked++
			if p.Present[s>>6]>>(s&63)&1 != 0 {
				hit |= 1 << i
				slots[i] = pregel.VertexID(s)
				break
			}
		}
	}
	return hit, walked, slots
}

// wordsOf makes lists of several words. length returns the length of each row.
func wordsOf(
	rng *rand.Rand, words, sources int, rows func(w int) uint64, length func(w int) int,
) *kernel.Lists {
	l := &kernel.Lists{Rank: []uint32{0}, Starts: []uint32{0}}
	for w := range words {
		l.Bits = append(l.Bits, rows(w))
		same, first := uint32(0), true
		for range bits.OnesCount64(l.Bits[w]) {
			n := length(w)
			list := make([]uint32, n)
			for j := range list {
				list[j] = uint32(rng.IntN(sources))
			}
			l.Adj = append(l.Adj, list...)
			l.Heads, l.Seconds = append(l.Heads, list[0]), append(l.Seconds, list[min(1, n-1)])
			if first {
				same, first = uint32(n), false
			} else if same != uint32(n) {
				same = 0
			}
			l.Starts = append(l.Starts, uint32(len(l.Adj)))
		}
		l.Rank = append(l.Rank, uint32(len(l.Heads)))
		l.Same = append(l.Same, same)
	}
	return l
}

// TestFind compares the search in Sender's pulls with a scan of every list. The cases are: slots of
// one partition and of two; full and sparse words; rows of one length, of two, of more and of
// several; many needed rows and few; rare and common senders; with and without the information that
// rows have one length.
func TestFind(t *testing.T) {
	const words, sources = 24, 700
	rng := rand.New(rand.NewPCG(7, 11))
	masks := map[string]func(int) uint64{
		"full":   func(int) uint64 { return ^uint64(0) },
		"half":   func(int) uint64 { return rng.Uint64() },
		"sparse": func(int) uint64 { return rng.Uint64() & rng.Uint64() & rng.Uint64() & rng.Uint64() },
		"none":   func(int) uint64 { return 0 },
	}
	lengths := map[string]func(int) int{
		"1": func(int) int { return 1 }, "2": func(int) int { return 2 },
		"3": func(int) int { return 3 }, "40": func(int) int { return 40 },
		"by word": func(w int) int { return 1 + w%5 },
		"mixed":   func(int) int { return 1 + rng.IntN(9) },
	}
	// the vertex of a slot is the slot, or twice the slot
	var kernels [2]kernel.Kernel[pregel.VertexID]
	for i := range kernels {
		ids := &kernel.Slots{Stride: uint64(1 + i), Ghost: 1 << 20}
		var err error
		if kernels[i], err = combiners.Sender().Kernel(kernel.Binding{Sources: ids, Capacity: 1 << 20}); err != nil {
			t.Fatal(err)
		}
	}
	cases, hits, dense64 := 0, 0, 0
	for rowsName, rows := range masks {
		for lengthName, length := range lengths {
			l := wordsOf(rng, words, sources, rows, length)
			for needName, need := range masks {
				for _, shift := range []int{0, 1, 3, 6} { // senders: all, a half, an eighth, a 64th
					present := make([]uint64, (sources+63)/64)
					for i := range present {
						present[i] = ^uint64(0)
						for range shift {
							present[i] &= rng.Uint64()
						}
					}
					for _, same := range [][]uint32{l.Same, nil} {
						p := &kernel.Pull{Lists: &kernel.Lists{Bits: l.Bits, Rank: l.Rank, Starts: l.Starts, Adj: l.Adj, Heads: l.Heads, Seconds: l.Seconds, Same: same}, Present: present}
						for w := range words {
							wanted := need(w)
							wantHit, wantWalked, wantSlots := findTwin(p, w, wanted)
							where := fmt.Sprintf("rows %s of length %s, need %s, senders 1/%d, word %d", rowsName, lengthName, needName, 1<<shift, w)
							for stride, k := range kernels {
								var slots [64]pregel.VertexID
								hit, walked := k.Pull(p, w, wanted, 0, &slots)
								for i := range slots {
									slots[i] /= pregel.VertexID(1 + stride)
									if hit>>i&1 == 0 {
										slots[i] = 0 // without meaning
									}
								}
								if hit != wantHit || walked != wantWalked {
									t.Fatalf("%s: found %x after %d edges, expected %x after %d",
										where, hit, walked, wantHit, wantWalked)
								}
								if slots != wantSlots {
									t.Fatalf("%s: found senders %d, expected %d", where, slots,
										wantSlots)
								}
							}
							cases, hits = cases+1, hits+bits.OnesCount64(wantHit)
							if rows, n := p.Bits[w],
								bits.OnesCount64(wanted&p.Bits[w]); rows == ^uint64(0) &&
								n > dense && n < 64 {
								dense64++
							}
						}
					}
				}
			}
		}
	}
	if hits == 0 || dense64 == 0 {
		t.Errorf("%d words, %d hits, %d of them full with many but not all needed: the test tests too little", cases, hits, dense64)
	}
}
