package vertexset_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/vertexset"
)

const figureVertices = 1 << 20

// figure is a kind of set, as two sets of vertices in ascending order.
type figure struct {
	name string
	most int // bytes of an encoded set
	two  [2][]uint32
}

func figures() []figure {
	all := []figure{{name: "1,000 random", most: 2500}, {name: "100,000 in a row", most: 1000}}
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 2 {
		for range 1000 {
			all[0].two[i] = append(all[0].two[i], rng.Uint32N(figureVertices))
		}
		slices.Sort(all[0].two[i])
		all[0].two[i] = slices.Compact(all[0].two[i])
		for v := range uint32(100_000) {
			all[1].two[i] = append(all[1].two[i], v+50_000*uint32(i))
		}
	}
	return all
}

// unions returns the union of a figure's sets as vertex sets, as sorted lists and as bitmaps.
func (f figure) unions(t testing.TB) map[string]func() int {
	var sets [2]vertexset.Set
	var bits [2][]uint64
	for i, list := range f.two {
		sets[i] = must(vertexset.Of(numbered{1, figureVertices}, func(yield func(pregel.VertexID) bool) {
			for _, v := range list {
				yield(pregel.VertexID(v))
			}
		}))(t)
		bits[i] = make([]uint64, figureVertices/64)
		for _, v := range list {
			bits[i][v>>6] |= 1 << (v & 63)
		}
	}
	return map[string]func() int{
		"set": func() int {
			both, _ := sets[0].Union(sets[1])
			return both.Len()
		},
		"list": func() int { return len(merged(f.two[0], f.two[1])) },
		"bitmap": func() int {
			both := slices.Clone(bits[0])
			for i, word := range bits[1] {
				both[i] |= word
			}
			return len(both)
		},
	}
}

func merged(a, b []uint32) []uint32 {
	all := make([]uint32, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			all, a = append(all, a[0]), a[1:]
		case a[0] > b[0]:
			all, b = append(all, b[0]), b[1:]
		default:
			all, a, b = append(all, a[0]), a[1:], b[1:]
		}
	}
	return append(append(all, a...), b...)
}

// TestFigures: sets are small, and their union takes at most 1.5 times as long as that of the
// faster one of sorted lists and bitmaps.
func TestFigures(t *testing.T) {
	for _, f := range figures() {
		s := must(vertexset.Of(numbered{1, figureVertices}, func(yield func(pregel.VertexID) bool) {
			for _, v := range f.two[0] {
				yield(pregel.VertexID(v))
			}
		}))(t)
		data, err := s.MarshalBinary()
		if err != nil || len(data) > f.most {
			t.Errorf("%s: %d bytes, expected at most %d: %v", f.name, len(data), f.most, err)
		}
		least := map[string]time.Duration{}
		for range 40 { // in turns, as other processes may slow the machine down
			for name, union := range f.unions(t) {
				began := time.Now()
				for range 10 {
					union()
				}
				if d := time.Since(began) / 10; least[name] == 0 || d < least[name] {
					least[name] = d
				}
			}
		}
		t.Logf("%s: %d bytes, %v", f.name, len(data), least)
		if best := min(least["list"], least["bitmap"]); 2*least["set"] > 3*best {
			t.Errorf("%s: a union takes %v, of lists %v, of bitmaps %v", f.name, least["set"],
				least["list"], least["bitmap"])
		}
	}
}

// BenchmarkUnion compares vertex sets with sorted lists and bitmaps.
func BenchmarkUnion(b *testing.B) {
	for _, f := range figures() {
		for name, union := range f.unions(b) {
			b.Run(f.name+"/"+name, func(b *testing.B) {
				for b.Loop() {
					union()
				}
			})
		}
	}
}
