package engine_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/pregel"
)

// oddValues has special floats, and some usual ones, whose sums are exact.
var oddValues = []float64{math.NaN(), 0, math.Copysign(0,
	-1), math.Inf(1), math.Inf(-1), 1, -2, 0.5}

// odd sends special values in superstep 0, and stores the received messages.
type odd[M any] struct {
	combiner pregel.Combiner[M]
	message  func(v pregel.VertexID, value float64) M
	// values has what a vertex sends to all neighbours, or to each of its receivers if it has any.
	values    map[uint64][]float64
	receivers map[uint64][]pregel.VertexID
}

// came is the message that a vertex received.
type came[M any] struct {
	Any     bool
	Message M
}

func (p odd[M]) Combiner() pregel.Combiner[M] { return p.combiner }

func (p odd[M]) Compute(v *pregel.Vertex[came[M], M], m M) {
	defer v.VoteToHalt()
	if v.Superstep() > 0 {
		v.Set(came[M]{v.HasMessage(), m})
		return
	}
	for _, x := range p.values[v.Label()] {
		if to := p.receivers[v.Label()]; len(to) == 0 {
			v.SendToAllNeighbors(p.message(v.ID(), x))
		} else {
			for _, u := range to {
				v.Send(u, p.message(v.ID(), x))
			}
		}
	}
}

// oddMonotone is odd for combiners that drop messages that are not better.
type oddMonotone[M any] struct{ odd[M] }

func (oddMonotone[M]) Traits() pregel.Traits { return pregel.Traits{Monotone: true} }

// oddRule is a combiner as documented.
type oddRule[M any] struct {
	combiner pregel.Combiner[M]
	weights  edges.Weights
	message  func(v pregel.VertexID, value float64) M
	value    func(m M) float64
	drops    bool // drops NaN
	given    bool // messages are not changed
	combine  func(a, b float64) float64
	cross    func(x, weight float64) float64
	monotone bool
}

// of combines the messages to a vertex, in any order.
func (r oddRule[M]) of(values []float64) (x float64, any bool) {
	for _, y := range values {
		if y == 0 && !r.given {
			y = 0 // and not -0
		}
		switch {
		case r.drops && math.IsNaN(y):
		case any:
			x = r.combine(x, y)
		default:
			x, any = y, true
		}
	}
	return x, any
}

// check runs the program in all ways on a graph, and compares the received messages with the rule.
func (r oddRule[M]) check(t *testing.T, number int) {
	for variant := range 3 {
		rng := rand.New(rand.NewPCG(uint64(number), uint64(variant)))
		s := oddShape(rng, variant)
		p := odd[M]{combiner: r.combiner, message: r.message, values: map[uint64][]float64{}}
		for v := range uint64(s.n) {
			choose := oddValues
			if variant == 0 {
				choose = choose[1:] // all send
			}
			p.values[v] = []float64{choose[rng.IntN(len(choose))]}
			if rng.IntN(4) == 0 {
				p.values[v] = append(p.values[v], choose[rng.IntN(len(choose))])
			}
		}
		list := make([][]float64, s.n)
		direct := map[uint64]bool{}
		for i, e := range s.tuples {
			from := p.values[e[0]]
			if direct[e[0]] = variant == 2 && e[0]%3 == 0; direct[e[0]] {
				list[e[1]] = append(list[e[1]], from...)
			} else if x, any := r.of(from); any {
				list[e[1]] = append(list[e[1]], r.cross(x, s.weights[i]))
			}
		}
		graphs := s.partitioned(r.weights)
		for _, way := range part(number+variant, 17, inGrids()) {
			g := graphs.in(t, way)
			p.receivers = map[uint64][]pregel.VertexID{}
			for _, e := range s.tuples {
				if direct[e[0]] {
					p.receivers[e[0]] = append(p.receivers[e[0]], pregel.VertexID(g.IDs[e[1]]))
				}
			}
			got, _ := run(t, g, pregel.Program[came[M], M](p), way)
			r.compare(t, fmt.Sprintf("%s, variant %d, %v", r.combiner, variant, way), list, got,
				false)
			if r.monotone && variant < 2 {
				got, _ = run(t, g, pregel.Program[came[M], M](oddMonotone[M]{p}), way)
				r.compare(t, fmt.Sprintf("%s, variant %d, monotone, %v", r.combiner, variant, way),
					list, got, true)
			}
		}
	}
}

// compare compares the received messages with the rule. A monotone program need not get messages
// that are not better than the identity.
func (r oddRule[M]) compare(
	t *testing.T, where string, list [][]float64, got []came[M], monotone bool,
) {
	t.Helper()
	for v, values := range list {
		want, any := r.of(values)
		x := r.value(got[v].Message)
		if any == got[v].Any && (!any || sameBits(x, want)) || monotone && !got[v].Any &&
			want == r.value(r.combiner.Identity()) {
			continue
		}
		t.Fatalf("%s: vertex %d has (%t, %v), want (%t, %v), of %v", where, v, got[v].Any, x, any,
			want, values)
	}
}

// sameBits reports whether two floats are equal, including the signs of zeros, or both NaN.
func sameBits(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}

// oddShape returns a directed graph in which some vertices have one in-edge, and some a hundred.
func oddShape(rng *rand.Rand, variant int) shape {
	s := shape{name: fmt.Sprint("odd ", variant), n: 150, directed: true}
	for v := range uint64(s.n) {
		for range 1 + rng.IntN(1+rng.IntN(9)) {
			to := uint64(rng.IntN(1 + rng.IntN(s.n)))
			if rng.IntN(8) == 0 {
				to = 3
			}
			s.tuples = append(s.tuples, [2]uint64{v, to})
			s.weights = append(s.weights, []float64{0, math.Copysign(0, -1), 1, 2, -1}[rng.IntN(5)])
		}
	}
	return s
}

// oddNumbers checks the rules in a seventeenth of the settings, beginning with number first.
func oddNumbers[T float32 | float64](t *testing.T, first int, weights edges.Weights) {
	plain := func(x, _ float64) float64 { return x }
	sum := func(a, b float64) float64 { return a + b }
	low := func(a, b float64) float64 { return min(a, b) }
	high := func(a, b float64) float64 { return max(a, b) }
	of := oddRule[T]{
		weights: edges.Unweighted, cross: plain,
		message: func(_ pregel.VertexID, x float64) T { return T(x) },
		value:   func(m T) float64 { return float64(m) },
	}
	for i, with := range []func(r *oddRule[T]){
		func(r *oddRule[T]) { r.combiner, r.combine = combiners.Sum[T](), sum },
		func(r *oddRule[T]) {
			r.combiner, r.combine, r.given = combiners.Func(0, func(a, b T) T { return max(a, b) }),
				high, true
		},
		func(r *oddRule[T]) { r.combiner, r.combine, r.drops, r.monotone = combiners.Min[T](), low, true, true },
		func(r *oddRule[T]) {
			r.combiner, r.combine, r.drops, r.monotone = combiners.Max[T](), high, true, true
		},
		func(r *oddRule[T]) {
			r.combiner, r.combine, r.cross, r.weights = combiners.SumTimes[T](), sum,
				func(x, w float64) float64 { return x * w }, weights
		},
		func(r *oddRule[T]) {
			r.combiner, r.combine, r.cross, r.weights = combiners.MinPlus[T](), low, sum, weights
			r.drops, r.monotone = true, true
		},
		func(r *oddRule[T]) {
			r.combiner, r.combine, r.cross, r.weights = combiners.MaxMin[T](), high, low, weights
			r.drops, r.monotone = true, true
		},
	} {
		r := of
		with(&r)
		t.Run(r.combiner.String(), func(t *testing.T) { r.check(t, first+i) })
	}
	type arrival = combiners.Arrival[T]
	r := oddRule[arrival]{
		combiner: combiners.MinPlusSender[T](), combine: low, cross: sum, weights: weights,
		drops: true, monotone: true,
		message: func(v pregel.VertexID, x float64) arrival { return arrival{Dist: T(x), From: v} },
		value:   func(m arrival) float64 { return float64(m.Dist) },
	}
	t.Run(r.combiner.String(), func(t *testing.T) { r.check(t, first+7) })
}

// TestOddFloats sends NaN, infinities and both zeros in all ways. Every delivery has the result
// that the combiner's documentation describes.
func TestOddFloats(t *testing.T) {
	oddNumbers[float64](t, 0, edges.Float64)
	oddNumbers[float32](t, 3, edges.Float32)
}

// TestNaNIsNoMessage: 0, 1 and 2 send 9, NaN and 2 to 3. A vertex that only got NaN is not woken.
func TestNaNIsNoMessage(t *testing.T) {
	s := shape{name: "nan-min", n: 5, directed: true, tuples: [][2]uint64{{0, 3}, {1, 3}, {2, 3}, {1, 4}}}
	p := odd[float64]{
		combiner: combiners.Min[float64](),
		message:  func(_ pregel.VertexID, x float64) float64 { return x },
		values:   map[uint64][]float64{0: {9}, 1: {math.NaN()}, 2: {2}},
	}
	graphs := s.partitioned(edges.Unweighted)
	for _, way := range aFew(0, inGrids()) {
		got, o := run(t, graphs.in(t, way), pregel.Program[came[float64], float64](p), way)
		if want := []came[float64]{3: {true, 2}, 4: {}}; !reflect.DeepEqual(got, want) ||
			o.Messages != 2 {
			t.Fatalf("%v: %v after %d messages, want %v after 2", way, got, o.Messages, want)
		}
	}
}
