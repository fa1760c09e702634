package mesh

import (
	"math/rand/v2"
	"testing"

	"github.com/zeebo/xxh3"
)

// TestSumsAsTheyCome: the receiver's sum equals the sender's, however the payload arrives and
// wherever its values begin. A simple function that hashes block by block gets the same sum.
func TestSumsAsTheyCome(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		size := r.IntN(4 * sumBlock)
		if r.IntN(3) == 0 {
			size = r.IntN(3) * sumBlock
		}
		payload := make([]byte, size)
		for i := 0; i < size; i += 1 + r.IntN(1000) {
			payload[i] = byte(r.Uint32())
		}
		split := r.IntN(size + 1)
		want := sumOf(payload[:split], payload[split:])
		s := summing{split: split, size: size}
		for have := 0; ; {
			s.upTo(payload, have)
			if have == size {
				break
			}
			have += 1 + r.IntN(size-have)
		}
		twin := uint64(0)
		for i := 0; i < size; {
			end := i + sumBlock
			if i < split {
				end = min(end, split)
			}
			end = min(end, size)
			twin = xxh3.HashSeed(payload[i:end], twin)
			i = end
		}
		if s.sum != want || twin != want {
			t.Fatalf("%d bytes, the first %d of presence: sum %x, incremental %x, by blocks %x",
				size, split, want, s.sum, twin)
		}
	}
}

// TestSumsNoticeSwappedBlocks: the sum depends on the order of blocks.
func TestSumsNoticeSwappedBlocks(t *testing.T) {
	payload := make([]byte, 2*sumBlock)
	payload[0], payload[sumBlock] = 1, 2
	before := sumOf(nil, payload)
	payload[0], payload[sumBlock] = 2, 1
	if sumOf(nil, payload) == before {
		t.Error("two blocks changed places unnoticed")
	}
}
