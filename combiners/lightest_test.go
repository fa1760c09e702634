package combiners_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// lightestArcs returns the lightest arcs of each row, sorted by weight: a few, or all.
func lightestArcs(rng *rand.Rand, l *kernel.Lists) *kernel.Lists {
	light := &kernel.Lists{Bits: l.Bits, Rank: l.Rank, Starts: []uint32{0}}
	weight := func(i uint32) float64 {
		if l.Weights32 != nil {
			return float64(l.Weights32[i])
		}
		return l.Weights64[i]
	}
	for r := range len(l.Starts) - 1 {
		var places []uint32
		for i := l.Starts[r]; i < l.Starts[r+1]; i++ {
			places = append(places, i)
		}
		rng.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
		slices.SortStableFunc(places,
			func(i, j uint32) int { return cmp.Compare(weight(i), weight(j)) })
		for _, i := range places[:min(len(places), 1+rng.IntN(6))] {
			light.Adj = append(light.Adj, l.Adj[i])
			if l.Weights32 != nil {
				light.Weights32 = append(light.Weights32, l.Weights32[i])
			} else {
				light.Weights64 = append(light.Weights64, l.Weights64[i])
			}
		}
		light.Starts = append(light.Starts, uint32(len(light.Adj)))
	}
	return light
}

// lightestLike compares two pulls of a monotone kernel over several rounds: by the lightest arcs,
// and by whole lists. The inbox has some messages.
func lightestLike[M any](
	t *testing.T, c pregel.Combiner[M], single bool,
	message func(rng *rand.Rand, id pregel.VertexID) M, distance func(m M) float64,
) {
	t.Run(c.String(), func(t *testing.T) {
		for seed := range uint64(40) {
			rng := rand.New(rand.NewPCG(seed, 5))
			b := newBlock(rng, 1+2*int(seed%2), 1+rng.IntN(12))
			whole := weightedBy(b.pull, single)
			light := lightestArcs(rng, whole)
			binding := kernel.Binding{Sources: &b.ids, Capacity: b.slots, Lists: []*kernel.Lists{whole}, Monotone: true}
			var k [2]kernel.Kernel[M]
			for i := range k {
				var err error
				if k[i], err = c.Kernel(binding); err != nil {
					t.Fatal(err)
				}
				k[i].Reset()
			}
			bounded := k[1].(kernel.Bounded)
			for round := range 5 {
				density, draw := []float64{0.02, 0.3, 1}[rng.IntN(3)], rng.Uint64()
				var s sent[M]
				var box [2]*kernel.Inbox[M]
				var to []uint32
				var msg []M
				for range rng.IntN(50) {
					to = append(to, uint32(rng.IntN(b.owned)))
					msg = append(msg, message(rng, pregel.VertexID(rng.IntN(1000))))
				}
				for i := range k {
					again := rand.New(rand.NewPCG(draw, 1))
					s = send(again, b, c, k[i], binding, density,
						func(id pregel.VertexID) M { return message(again, id) })
					box[i] = &kernel.Inbox[M]{Msg: make([]M,
						b.owned), Has: bitmap.NewFrontier(make([]uint64, b.owned/64))}
					k[i].Fold(to, msg, box[i])
				}
				least := math.Inf(1)
				bitmap.Each(s.present,
					func(i uint32) { least = min(least, distance(s.message[i])) })
				half := len(s.present) / 2
				if got := min(bounded.Least(s.present, 0, half, false),
					bounded.Least(s.present, half, len(s.present), false)); got != least {
					t.Fatalf("seed %d: the least distance is %v, expected %v", seed, got, least)
				}
				bounded.Bound(least)
				p := [2]kernel.Pull{{Lists: whole, Present: s.present}, {Lists: whole, Present: s.present, Lightest: light}}
				p[1].All = bitmap.Count(s.present) == 64*len(s.present)
				thinnedLike(t, k[1], &p[1], b.owned, least)
				for w := range b.owned / 64 {
					need := rng.Uint64() | rng.Uint64()
					near := bounded.CountPull(&p[1], w, need)
					var in [2][64]M
					var found [2]uint64
					for i := range k {
						in[i] = [64]M(box[i].Msg[w<<6:])
						var walked int
						found[i], walked = k[i].Pull(&p[i], w, need, box[i].Has.Words[w], &in[i])
						if i == 1 && walked > near {
							t.Fatalf("seed %d, round %d, word %d: %d arcs looked at, %d expected at the most", seed, round, w, walked, near)
						}
					}
					if found[0] != found[1] {
						t.Fatalf("seed %d, round %d, word %d: %x have a message, expected %x", seed,
							round, w, found[1], found[0])
					}
					bitmap.Each(found[:1], func(i uint32) {
						if any(in[0][i]) != any(in[1][i]) {
							t.Fatalf("seed %d, round %d, vertex %d: %v, expected %v", seed, round,
								uint32(w)<<6+i, in[1][i], in[0][i])
						}
					})
				}
				whole, light := k[0].(kernel.Remembering).Best(), k[1].(kernel.Remembering).Best()
				if !reflect.DeepEqual(whole, light) {
					t.Fatalf("seed %d, round %d: the best messages differ", seed, round)
				}
			}
		}
	})
}

// thinnedLike checks that exactly the arcs over which a message could matter are kept.
func thinnedLike[M any](
	t *testing.T, k kernel.Kernel[M], p *kernel.Pull, owned int, least float64,
) {
	t.Helper()
	best := bestOf(k)
	bins := &kernel.ArcBins{Shift: 7, Arcs: make([][]kernel.Arc, (64*len(p.Present)-1)>>7+1)}
	for w := range owned / 64 {
		k.(kernel.Bounded).Thin(p, w, ^uint64(0), bins)
	}
	got := map[kernel.Arc]int{}
	for shifted, arcs := range bins.Arcs {
		for _, a := range arcs {
			if int(a.From>>7) != shifted {
				t.Fatalf("arc %v lies in bin %d", a, shifted)
			}
			got[a]++
		}
	}
	// A receiver drops the least message over an arc that was left out.
	for v := range uint32(owned) {
		lo, hi := p.Row(v)
		for i := lo; i < hi; i++ {
			a := kernel.Arc{From: p.Adj[i], To: v}
			if p.Weights32 != nil {
				a.Weight = float64(p.Weights32[i])
			} else {
				a.Weight = p.Weights64[i]
			}
			if got[a]--; got[a] >= 0 {
				continue
			}
			got[a] = 0
			if least+a.Weight <= best(v) {
				t.Fatalf("arc %v was left out", a)
			}
		}
	}
	for a, n := range got {
		if n > 0 {
			t.Fatalf("arc %v is kept %d times too often", a, n)
		}
	}
}

// bestOf returns a function for the best distance that each vertex has received. Distances are
// float32 or float64.
func bestOf[M any](k kernel.Kernel[M]) func(v uint32) float64 {
	switch best := k.(kernel.Remembering).Best().Slice().(type) {
	case []float32:
		return func(v uint32) float64 { return float64(best[v]) }
	case []float64:
		return func(v uint32) float64 { return best[v] }
	default:
		panic("distances of another type")
	}
}

func TestPullsByTheLightestArcs(t *testing.T) {
	near := func(rng *rand.Rand, id pregel.VertexID) float32 { return float32(rng.IntN(40)) / 8 }
	lightestLike(t, combiners.MinPlus[float32](), true, near,
		func(m float32) float64 { return float64(m) })
	lightestLike(t, combiners.MinPlus[float64](), false, func(rng *rand.Rand, _ pregel.VertexID) float64 { return rng.Float64() * 4 }, func(m float64) float64 { return m })
	lightestLike(t, combiners.MinPlusSender[float32](), true,
		func(rng *rand.Rand, id pregel.VertexID) arrival { return arrival{near(rng, id), id} },
		func(m arrival) float64 { return float64(m.Dist) })
}
