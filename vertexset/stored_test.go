package vertexset_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/klauspost/compress/s2"

	"github.com/superstep-go/superstep/internal/wire"
)

// BenchmarkStored compares forms in which a checkpoint may store the active or finished vertices of
// a partition: bitmaps, as it does, sorted lists and Roaring bitmaps, each compressed as a part of a
// checkpoint is. docs/performance.md has the figures.
func BenchmarkStored(b *testing.B) {
	rng := rand.New(rand.NewPCG(6, 7))
	for _, of := range []struct {
		name    string
		from    uint32 // all vertices before are in the set
		density float64
	}{
		{"none", 0, 0},
		{"0.0001 random", 0, 0.0001},
		{"0.01 random", 0, 0.01},
		{"0.1 random", 0, 0.1},
		{"half random", 0, 0.5},
		{"100,000 hubs", 100_000, 0},
		{"100,000 hubs and 0.01", 100_000, 0.01},
		{"all", figureVertices, 0},
	} {
		var list []uint32
		bits := make([]uint64, figureVertices/64)
		for v := range uint32(figureVertices) {
			if v < of.from || rng.Float64() < of.density {
				list = append(list, v)
				bits[v>>6] |= 1 << (v & 63)
			}
		}
		for _, form := range []struct {
			name string
			make func() []byte
		}{
			{"bitmap", func() []byte { return wire.Bytes(bits) }},
			{"list", func() []byte { return wire.Bytes(list) }},
			{"roaring", func() []byte {
				set := roaring.FromDense(bits, false)
				set.RunOptimize()
				data, err := set.ToBytes()
				if err != nil {
					b.Fatal(err)
				}
				return data
			}},
		} {
			b.Run(fmt.Sprintf("%s/%s", of.name, form.name), func(b *testing.B) {
				size := 0
				for b.Loop() {
					size = len(s2.Encode(nil, form.make()))
				}
				b.ReportMetric(float64(size), "bytes")
			})
		}
	}
}
