package combiners_test

import (
	"math"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/laws"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/pregel/pregeltest"
)

// combine checks the laws of a combiner, using only Combine.
func combine[M any](t testing.TB, c pregel.Combiner[M], values ...M) {
	t.Helper()
	if err := laws.Check(c, values, laws.Same[M]); err != nil {
		t.Errorf("%s: %v", c, err)
	}
}

// numberLaws checks the combiners of one number type. The values add without rounding; least and
// greatest are the type's bounds, which are terminal. try is combine, or CheckCombiner, which also
// runs the engine.
func numberLaws[T pregel.Number](t *testing.T, try func(testing.TB, pregel.Combiner[T],
	...T), least, greatest T, values ...T,
) {
	try(t, combiners.Sum[T](), values...)
	try(t, combiners.Count[T](), values...)
	extremes := append(values, least, greatest)
	low, high := combiners.Min[T](), combiners.Max[T]()
	try(t, low, extremes...)
	try(t, high, extremes...)
	if low.Identity() != greatest || high.Identity() != least {
		t.Errorf("%v begins at %v, %v at %v", low, low.Identity(), high, high.Identity())
	}
	for _, x := range extremes {
		terminal(t, low, least, x)
		terminal(t, high, greatest, x)
	}
}

// terminal checks that no message changes a combiner's terminal value, at which its loops stop.
func terminal[M comparable](t *testing.T, c pregel.Combiner[M], end, x M) {
	t.Helper()
	if c.Combine(end, x) != end || c.Combine(x, end) != end {
		t.Errorf("%v is not terminal for %v: %v with it is %v", end, c, x, c.Combine(end, x))
	}
}

func bitLaws[T combiners.Bits](t *testing.T, try func(testing.TB, pregel.Combiner[T], ...T)) {
	values := []T{0, 1, 2, 3, 0x55, ^T(0), ^T(1)}
	try(t, combiners.OrBits[T](), values...)
	try(t, combiners.AndBits[T](), values...)
	for _, x := range values {
		terminal(t, combiners.OrBits[T](), ^T(0), x)
		terminal(t, combiners.AndBits[T](), 0, x)
	}
}

func semiringLaws[W combiners.Weight](t *testing.T) {
	values := []W{1, 0.5, -2, 8}
	pregeltest.CheckCombiner(t, combiners.MinPlus[W](), values...)
	pregeltest.CheckCombiner(t, combiners.MaxMin[W](), values...)
	pregeltest.CheckCombiner(t, combiners.SumTimes[W](), values...)
	type arrival = combiners.Arrival[W]
	pregeltest.CheckCombiner(t, combiners.MinPlusSender[W](), arrival{1, 7}, arrival{1, 3},
		arrival{0, 9},
		arrival{W(math.Inf(1)), 0}, arrival{W(math.NaN()), 2}, arrival{W(math.Copysign(0, -1)), 4})
}

// TestLawsOfNumbers runs one type of each kind of number through the engine. All types use the same
// source code of loops.
func TestLawsOfNumbers(t *testing.T) {
	numberLaws(t, combine, math.MinInt, math.MaxInt, 0, 1, -1, 12)
	numberLaws(t, combine[int8], math.MinInt8, math.MaxInt8, 0, 1, -1, 100)
	numberLaws(t, combine[int16], math.MinInt16, math.MaxInt16, 0, 1, -1)
	numberLaws(t, combine[int32], math.MinInt32, math.MaxInt32, 0, 1, -1)
	numberLaws(t, pregeltest.CheckCombiner[int64], math.MinInt64, math.MaxInt64, 0, 1, -1)
	numberLaws(t, combine[uint], 0, math.MaxUint, 1, 2, 77)
	numberLaws(t, pregeltest.CheckCombiner[uint8], 0, math.MaxUint8, 1, 2, 77)
	numberLaws(t, combine[uint16], 0, math.MaxUint16, 1, 2, 77)
	numberLaws(t, combine[uint32], 0, math.MaxUint32, 1, 2, 77)
	numberLaws(t, combine[uint64], 0, math.MaxUint64, 1, 2, 77)
	numberLaws(t, combine[uintptr], 0, math.MaxUint64, 1, 2, 77)
	numberLaws(t, pregeltest.CheckCombiner, float32(math.Inf(-1)), float32(math.Inf(1)), 0, 1, -0.5,
		64)
	numberLaws(t, pregeltest.CheckCombiner, math.Inf(-1), math.Inf(1), 0, 1, -0.5, 64)
	type grade int16 // a user's own type
	numberLaws(t, combine[grade], math.MinInt16, math.MaxInt16, 0, 1, -1)
	numberLaws(t, combine[pregel.VertexID], 0, pregel.None, 1, 2, 77)
}

func TestLawsOfBits(t *testing.T) {
	bitLaws(t, combine[uint])
	bitLaws(t, pregeltest.CheckCombiner[uint8])
	bitLaws(t, combine[uint16])
	bitLaws(t, combine[uint32])
	bitLaws(t, combine[uint64])
}

func TestLawsOfTruth(t *testing.T) {
	combine(t, combiners.Or(), true, false, true)
	combine(t, combiners.And(), true, false, true)
	for _, x := range []bool{false, true} {
		terminal(t, combiners.Or(), true, x)
		terminal(t, combiners.And(), false, x)
	}
}

func TestLawsOfSemirings(t *testing.T) {
	semiringLaws[float32](t)
	semiringLaws[float64](t)
}

func TestLawsOfSender(t *testing.T) {
	combine(t, combiners.Sender(), 0, 5, 7, 1<<40)
}

// First has no identity and does not commute: any message is correct. It is associative, and
// returns one of the two messages.
func TestLawsOfFirst(t *testing.T) {
	c := combiners.First[int]()
	for _, a := range []int{0, 1, 2} {
		for _, b := range []int{0, 1, 2} {
			for _, d := range []int{0, 1, 2} {
				if x := c.Combine(a, b); x != a && x != b ||
					c.Combine(x, d) != c.Combine(a, c.Combine(b, d)) {
					t.Errorf("%d, %d, %d", a, b, d)
				}
			}
		}
	}
}

func TestCombinersSayTheirNames(t *testing.T) {
	type id = pregel.VertexID
	for want, c := range map[string]interface{ String() string }{
		"Sum[int32]": combiners.Sum[int32](), "Or": combiners.Or(), "Sender": combiners.Sender(),
		"First[pregel.VertexID]": combiners.First[id](),
		"MinPlusSender[float32]": combiners.MinPlusSender[float32](),
		"Func[string]":           combiners.Func("", func(a, _ string) string { return a }),
	} {
		if c.String() != want {
			t.Errorf("%s, want %s", c, want)
		}
	}
}
