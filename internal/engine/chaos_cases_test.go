package engine_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
)

type (
	arrival = combiners.Arrival[float64]
	pair    struct{ a, b uint32 }
)

// number returns a case with numbers that are small enough to add without rounding.
func number[T pregel.Number](c pregel.Combiner[T], kind edges.Weights, tune func(*toy[uint64,
	T]),
) chaosCase {
	p := chaos[T]{
		combiner: c,
		to:       func(_ who, h uint64) T { return T(h % 100) },
		from:     func(x T) uint64 { return math.Float64bits(float64(x)) },
	}
	return chaosOf(c.String(), kind, p, tune)
}

// crossing makes a toy change messages on edges.
func crossing[M any](f func(m M, weight float64) M) func(*toy[uint64, M]) {
	return func(t *toy[uint64, M]) { t.cross = f }
}

// counting makes a toy treat every message as a 1.
func counting(t *toy[uint64, int64]) {
	t.cross, t.lift = func(int64, float64) int64 { return 1 }, func(int64) int64 { return 1 }
	t.apart = true
}

func chaosCases() []chaosCase {
	f32 := func(f func(m, w float32) float32) func(float32, float64) float32 {
		return func(m float32, w float64) float32 { return f(m, float32(w)) }
	}
	return []chaosCase{
		number(combiners.Sum[int64](), 0, nil),
		number(combiners.Sum[float64](), 0, nil),
		number(combiners.Sum[uint8](), edges.Float64, nil),
		number(combiners.Min[int32](), 0, nil),
		number(combiners.Max[uint16](), 0, nil),
		number(combiners.Max[float32](), edges.Float32, nil),
		number(combiners.Count[int64](), 0, counting),
		number(combiners.MinPlus[float64](), edges.Float64,
			crossing(func(m, w float64) float64 { return m + w })),
		number(combiners.MaxMin[float32](), edges.Float32,
			crossing(f32(func(m, w float32) float32 { return min(m, w) }))),
		number(combiners.SumTimes[float64](), edges.Float64,
			crossing(func(m, w float64) float64 { return m * w })),
		chaosOf("Or", 0, chaos[bool]{combiner: combiners.Or(), to: sometimes, from: flag}, nil),
		chaosOf("And", 0, chaos[bool]{combiner: combiners.And(), to: sometimes, from: flag}, nil),
		chaosOf("OrBits", 0, chaos[uint64]{combiner: combiners.OrBits[uint64](), to: same, from: func(x uint64) uint64 { return x }}, nil),
		chaosOf("AndBits", 0, chaos[uint64]{combiner: combiners.AndBits[uint64](), to: same, from: func(x uint64) uint64 { return x }}, nil),
		chaosOf("First", 0, chaos[int64]{
			combiner: combiners.First[int64](), // all messages of a superstep are equal
			to:       func(v who, _ uint64) int64 { return int64(v.Superstep()) },
			from:     func(x int64) uint64 { return uint64(x) },
		}, nil),
		chaosOf("Func of a struct", 0, chaos[pair]{
			combiner: combiners.Func(pair{}, larger),
			to:       func(_ who, h uint64) pair { return pair{uint32(h % 8), uint32(h >> 8)} },
			from:     func(p pair) uint64 { return mix(uint64(p.a), uint64(p.b)) },
		}, nil),
		chaosOf("Func of a string", 0, chaos[string]{
			combiner: combiners.Func("", merge),
			to:       func(_ who, h uint64) string { return fmt.Sprint(h % 10) },
			from:     text,
		}, nil),
		chaosOf("Func of nothing", 0, chaos[struct{}]{
			combiner: combiners.Func(struct{}{}, func(a, _ struct{}) struct{} { return a }),
			to:       func(who, uint64) struct{} { return struct{}{} },
			from:     func(struct{}) uint64 { return 1 },
		}, nil),
		chaosOf("MinPlusSender", edges.Float64, chaos[arrival]{
			combiner: combiners.MinPlusSender[float64](),
			to:       func(v who, h uint64) arrival { return arrival{Dist: float64(h % 64), From: v.ID()} },
			from:     func(a arrival) uint64 { return mix(math.Float64bits(a.Dist), uint64(a.From)) },
		}, crossing(
			func(a arrival, w float64) arrival { return arrival{Dist: a.Dist + w, From: a.From} })),
		{"Sender, deterministic", leastSender},
	}
}

func sometimes(_ who, h uint64) bool { return h%3 == 0 }
func same(_ who, h uint64) uint64    { return h }

func larger(a, b pair) pair {
	if cmp.Or(cmp.Compare(a.a, b.a), cmp.Compare(a.b, b.b)) < 0 {
		return b
	}
	return a
}

// merge is a combiner of sorted strings.
func merge(a, b string) string {
	all := []byte(a + b)
	slices.Sort(all)
	return string(all)
}

func text(s string) uint64 {
	h := uint64(len(s))
	for _, r := range s {
		h = mix(h, uint64(r))
	}
	return h
}

// leastSender is chaos under Sender in deterministic runs, which always take the sender with the
// lowest id, whatever the delivery.
func leastSender(t *testing.T, rng *rand.Rand) {
	p := chaos[pregel.VertexID]{
		seed: rng.Uint64(), direction: pregel.Direction(rng.IntN(4)), combiner: combiners.Sender(),
		blind: rng.IntN(2) == 0,
		to:    func(v who, _ uint64) pregel.VertexID { return v.ID() },
		from:  func(id pregel.VertexID) uint64 { return uint64(id) },
	}
	ways := deterministic(delivery.ChooseAuto, delivery.ChooseNaive, delivery.ChooseMirrored,
		delivery.ChoosePull)
	if p.blind {
		for _, s := range grids() {
			s.o.Deterministic, s.o.Uncombined = true, false
			ways = append(ways, s)
		}
	}
	compareWithToy(t, rng, "Sender", 0, pregel.Program[uint64, pregel.VertexID](p), nil, ways)
}

// deterministic returns the settings of deterministic runs.
func deterministic(choices ...delivery.Choice) []setting {
	var all []setting
	for _, parts := range []int{1, 2, 3, 4, 7} {
		for _, choice := range choices {
			for _, threads := range []int{1, 3} {
				all = append(all,
					setting{parts: parts, threads: threads, o: engine.Options{Delivery: choice, Deterministic: true}})
			}
		}
	}
	if raced {
		return part(0, 3, all)
	}
	return all
}
