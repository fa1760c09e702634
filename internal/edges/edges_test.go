package edges

import (
	"math/rand/v2"
	"testing"
)

func TestPackedRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 1023, 1024, 1025, 5000} {
		for width := uint(1); width <= 64; width++ {
			rng := rand.New(rand.NewPCG(uint64(n), uint64(width)))
			limit := ^uint64(0) >> (64 - width)
			kind := Weights(width % 3)
			// one vertex less than 2^width needs the same number of bits, except for width 1
			p := NewPacked(limit, n, kind)
			if int(width) != p.Bits() && width > 1 {
				t.Fatalf("%d bits for endpoints below %d, want %d", p.Bits(), limit, width)
			}
			want := make([]Block, Blocks(p))
			for i := range want {
				b := &want[i]
				b.N = min(BlockSize, n-i*BlockSize)
				for j := range b.N {
					b.U[j], b.V[j] = rng.Uint64()&limit, rng.Uint64()&limit
					if kind != Unweighted {
						b.W[j] = float64(float32(rng.Float64()))
					}
				}
				p.Write(i, b)
			}
			var got Block
			for i := range want {
				got.W = [BlockSize]float64{}
				if err := p.Read(i, &got); err != nil {
					t.Fatal(err)
				}
				for j := range want[i].N {
					if got.U[j] != want[i].U[j] || got.V[j] != want[i].V[j] ||
						got.W[j] != want[i].W[j] {
						t.Fatalf("n %d, width %d, block %d, tuple %d: got %d-%d %g, want %d-%d %g",
							n, width, i, j,
							got.U[j], got.V[j], got.W[j], want[i].U[j], want[i].V[j], want[i].W[j])
					}
				}
			}
			p.Close()
		}
	}
}

func TestLabels(t *testing.T) {
	l := NewLabels([]uint64{3, 7, 1 << 40})
	for i, id := range []uint64{3, 7, 1 << 40} {
		if got, ok := l.Find(id, 3); !ok || got != uint64(i) || l.Of(got) != id {
			t.Errorf("Find(%d) = %d, %t", id, got, ok)
		}
	}
	for _, id := range []uint64{0, 4, 1 << 50} {
		if _, ok := l.Find(id, 3); ok {
			t.Errorf("Find(%d) found it", id)
		}
	}
	var same Labels
	if _, ok := same.Find(5, 5); ok {
		t.Error("vertex 5 of 5 found")
	}
	if got, ok := same.Find(4, 5); !ok || got != 4 || same.Of(4) != 4 {
		t.Error("identity labels")
	}
}

func BenchmarkReadPacked(b *testing.B) {
	p := NewPacked(1<<22, 1<<20, Unweighted)
	defer p.Close()
	var block Block
	for b.Loop() {
		for i := range Blocks(p) {
			_ = p.Read(i, &block)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(p.Len()), "ns/tuple")
}
