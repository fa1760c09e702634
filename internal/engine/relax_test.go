package engine_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/pregel"
)

// relax is a monotone program: a vertex keeps its best message, and sends it on now or, if a hash
// decides so, later. It sends separate messages to some vertices. The final values do not depend on
// the order of messages.
type relax[M comparable] struct {
	seed      uint64
	direction pregel.Direction
	combiner  pregel.Combiner[M]
	start     func(v *pregel.Vertex[M, M]) M
	next      func(v *pregel.Vertex[M, M], m M) M // makes the message about a value
	neighbors bool                                // sends only to neighbours
}

// relaxMonotone is relax with the trait Monotone.
type relaxMonotone[M comparable] struct{ relax[M] }

func (p relaxMonotone[M]) Traits() pregel.Traits {
	return pregel.Traits{Direction: p.direction, Monotone: true}
}

func (p relax[M]) Combiner() pregel.Combiner[M] { return p.combiner }
func (p relax[M]) Traits() pregel.Traits        { return pregel.Traits{Direction: p.direction} }

func (p relax[M]) Init(v *pregel.Vertex[M, M]) {
	v.Set(p.combiner.Identity())
	if mix(p.seed, uint64(v.ID()))%8 == 0 || v.ID() == 0 {
		v.Set(p.start(v))
		return // awake: it sends in superstep 1
	}
	v.VoteToHalt()
}

func (p relax[M]) Compute(v *pregel.Vertex[M, M], m M) {
	news := !v.Woken()
	if best := p.combiner.Combine(v.Value(), m); v.HasMessage() && best != v.Value() {
		v.Set(best)
		news = true
	}
	h := mix(p.seed, uint64(v.ID()), uint64(v.Superstep()))
	switch {
	case news && h%3 == 0 && v.Superstep() < 20: // wait
	case news:
		v.SendToAllNeighbors(p.next(v, v.Value()))
		if to := h % (16 * v.NumVertices()); to < v.NumVertices() && v.Superstep() < 5 &&
			!p.neighbors {
			v.Send(pregel.VertexID(v.ID()+1)%pregel.VertexID(v.NumVertices()), p.next(v, v.Value()))
		}
		v.VoteToHalt()
	default:
		v.VoteToHalt()
	}
}

// relaxOf compares the monotone run with one that is not, over all settings of one shape.
func relaxOf[M comparable](
	t *testing.T, name string, kind edges.Weights, p relax[M], tune func(*toy[M, M]),
) {
	t.Run(name, func(t *testing.T) {
		seeds := uint64(6)
		if raced {
			seeds = 2
		}
		for seed := range seeds {
			rng := rand.New(rand.NewPCG(seed, 77))
			all := shapes(seed)
			shape := all[rng.IntN(len(all))]
			p.seed, p.direction = rng.Uint64(), pregel.Direction(seed%3)
			ways := inGrids()
			rng.Shuffle(len(ways), func(i, j int) { ways[i], ways[j] = ways[j], ways[i] })
			var want *toy[M, M]
			for _, s := range ways[:10] {
				g := shape.loadAs(t, s, kind)
				if want == nil {
					want = newToy(shape, g.IDs, pregel.Program[M, M](p))
					tune(want)
					want.run()
				}
				for _, program := range []pregel.Program[M, M]{p, relaxMonotone[M]{p}} {
					got, _ := run(t, g, program, s)
					for v := range got {
						if w := want.values[g.IDs[v]]; got[v] != w {
							t.Fatalf("%T, %s, %v: vertex %d is %v, want %v", program, shape.name, s,
								v, got[v], w)
						}
					}
				}
				g.Close()
			}
		}
	})
}

func TestMonotoneRunsEndWhereOthersDo(t *testing.T) {
	none := func(*toy[uint32, uint32]) {}
	relaxOf(t, "Min", 0, relax[uint32]{
		combiner: combiners.Min[uint32](),
		start:    func(v *pregel.Vertex[uint32, uint32]) uint32 { return uint32(v.ID()) * 7 % 31 },
		next:     func(_ *pregel.Vertex[uint32, uint32], m uint32) uint32 { return m + 1 },
	}, none)
	relaxOf(t, "Max", 0, relax[uint32]{
		combiner: combiners.Max[uint32](),
		start:    func(v *pregel.Vertex[uint32, uint32]) uint32 { return uint32(v.ID()) * 7 % 31 },
		next:     func(_ *pregel.Vertex[uint32, uint32], m uint32) uint32 { return max(m, 1) - 1 },
	}, none)
	relaxOf(t, "MinPlus", edges.Float64, relax[float64]{
		combiner: combiners.MinPlus[float64](),
		start:    func(v *pregel.Vertex[float64, float64]) float64 { return float64(v.ID() % 5) },
		next:     func(_ *pregel.Vertex[float64, float64], m float64) float64 { return m },
	}, crossing1(func(m, w float64) float64 { return m + w }))
	relaxOf(t, "MaxMin", edges.Float64, relax[float64]{
		combiner: combiners.MaxMin[float64](),
		start:    func(v *pregel.Vertex[float64, float64]) float64 { return float64(v.ID()%5) / 4 },
		next:     func(_ *pregel.Vertex[float64, float64], m float64) float64 { return m },
	}, crossing1(func(m, w float64) float64 { return math.Min(m, w) }))
}

func crossing1(f func(m, w float64) float64) func(*toy[float64, float64]) {
	return func(t *toy[float64, float64]) { t.cross = f }
}

// With senders, distances are those of MinPlus, and no distance is less than that of its sender.
func TestMonotoneTreesAreTrees(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 78))
		all := shapes(seed)
		shape := all[rng.IntN(len(all))]
		distance := relax[float64]{
			seed: rng.Uint64(), neighbors: true, combiner: combiners.MinPlus[float64](),
			start: func(v *pregel.Vertex[float64, float64]) float64 { return float64(v.ID() % 5) },
			next:  func(_ *pregel.Vertex[float64, float64], m float64) float64 { return m },
		}
		tree := relaxMonotone[arrival]{relax[arrival]{
			seed: distance.seed, neighbors: true, combiner: combiners.MinPlusSender[float64](),
			start: func(v *pregel.Vertex[arrival, arrival]) arrival {
				return arrival{Dist: float64(v.ID() % 5), From: v.ID()}
			},
			next: func(v *pregel.Vertex[arrival, arrival], a arrival) arrival {
				return arrival{Dist: a.Dist, From: v.ID()}
			},
		}}
		ways := inGrids()
		rng.Shuffle(len(ways), func(i, j int) { ways[i], ways[j] = ways[j], ways[i] })
		for _, s := range ways[:10] {
			g := shape.loadAs(t, s, edges.Float64)
			dist, _ := run(t, g, pregel.Program[float64, float64](distance), s)
			got, _ := run(t, g, pregel.Program[arrival, arrival](tree), s)
			for v, a := range got {
				if a.Dist != dist[v] {
					t.Fatalf("%s, %v: vertex %d is at %g, want %g", shape.name, s, v, a.Dist,
						dist[v])
				}
				if a.From == pregel.None {
					continue
				}
				if from := got[g.Order[a.From]].Dist; from > a.Dist {
					t.Fatalf("%s, %v: vertex %d at %g was told by one at %g", shape.name, s, v,
						a.Dist, from)
				}
			}
			g.Close()
		}
	}
}

func TestAMonotoneProgramWantsACombinerThatKeepsTheBetter(t *testing.T) {
	w := on(t, "0>1")
	p := relaxMonotone[uint32]{relax[uint32]{combiner: combiners.Sum[uint32]()}}
	wantError(t, w, pregel.Program[uint32, uint32](p), 1,
		"a monotone program needs a combiner that keeps the better message, such as Min or MinPlus: not Sum[uint32]")
}
