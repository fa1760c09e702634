package engine_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
)

var (
	total    = pregel.SumOf[int64]("total")
	kept     = pregel.SumOf[int64]("kept").Persistent()
	least    = pregel.MinOf[int64]("least", 1000)
	most     = pregel.MaxOf("most", -5.0)
	some     = pregel.AnyOf("some")
	every    = pregel.AllOf("every")
	unlisted = pregel.SumOf[int64]("unlisted")
	labels   = pregel.NewAggregator("labels", nil,
		func(a, b set) set { return set{a[0] | b[0], a[1] | b[1]} })
)

// set is too large for a register.
type set [2]uint64

// sums is a script with aggregators and a Coordinate.
type sums struct {
	script
	coordinate func(c *pregel.Coordinator)
}

func (sums) Traits() pregel.Traits {
	return pregel.Traits{
		Aggregators: []pregel.Aggregate{total, kept, least, most, some, every, labels},
	}
}

func (p sums) Coordinate(c *pregel.Coordinator) {
	if p.coordinate != nil {
		p.coordinate(c)
	}
}

// until makes a program from a function that is called in each superstep up to superstep last.
func until(last int, f func(v talker)) sums {
	return sums{script: script{func(v talker, _ int64) {
		if f(v); v.Superstep() >= last {
			v.VoteToHalt()
		}
	}}}
}

func TestAggregatesOfSAreReadInSPlus1(t *testing.T) {
	w := on(t, "0>1 2")
	w.expect(t, until(2, func(v talker) {
		say(v, "%d", total.Value(v))
		total.Add(v, int64(1+v.Superstep()))
		total.Add(v, 10)
		if v.Superstep() == 0 && total.Value(v) != 0 {
			say(v, "too early")
		}
	}), "0 33 36", "0 33 36", "0 33 36")
}

func TestARegularAggregatorStartsEachSuperstepAtItsIdentity(t *testing.T) {
	w := on(t, "0>1 2")
	w.expect(t, until(2, func(v talker) {
		say(v, "%d/%d", total.Value(v), least.Value(v))
		if v.Superstep() == 0 {
			total.Add(v, 5)
			least.Add(v, 7)
		}
	}), "0/1000 15/7 0/1000", "0/1000 15/7 0/1000", "0/1000 15/7 0/1000")
}

func TestAPersistentAggregatorGoesOnFromItsLastValue(t *testing.T) {
	w := on(t, "0>1 2")
	w.expect(t, until(3, func(v talker) {
		say(v, "%d", kept.Value(v))
		if v.Superstep() != 1 {
			kept.Add(v, 1)
		}
	}), "0 3 3 6", "0 3 3 6", "0 3 3 6")
}

func TestMinMaxAnyAllAndOnesOwn(t *testing.T) {
	w := on(t, "0>1 2")
	all := "1000/-5/false/true/[0 0] 3/0.5/true/false/[7 2] 1000/-5/false/true/[0 0]"
	w.expect(t, until(2, func(v talker) {
		say(v, "%d/%g/%t/%t/%v", least.Value(v), most.Value(v), some.Value(v), every.Value(v),
			labels.Value(v))
		switch v.Superstep() {
		case 0:
			least.Add(v, int64(3+v.Label()))
			most.Add(v, float64(v.Label())/4)
			some.Add(v, v.Label() == 1)
			every.Add(v, v.Label() == 1)
			labels.Add(v, set{1 << v.Label(), 0})
			labels.Cell(v)[1] |= v.Label() &^ 1
		case 1:
			some.Add(v, false)
			every.Add(v, true)
		}
	}), all, all, all)
}

func TestAnAggregatorThatIsNotListedFailsTheJobByName(t *testing.T) {
	w := on(t, "0>1")
	const text = "aggregator unlisted is not listed by the program's Traits"
	for _, p := range []pregel.Program[string, int64]{
		until(1, func(v talker) { unlisted.Add(v, 1) }),
		until(1, func(v talker) { unlisted.Value(v) }),
		sums{script{func(talker, int64) {}}, func(c *pregel.Coordinator) { unlisted.Replace(c, 1) }},
	} {
		wantError(t, w, p, 1, text)
		wantError(t, w, p, 3, text)
	}
}

// degreeCounts counts vertices by degree, in a map that its reduce changes in place.
var degreeCounts = pregel.NewAggregator("degree counts",
	func() map[int]int { return map[int]int{} }, func(a, b map[int]int) map[int]int {
		for d, n := range b {
			a[d] += n
		}
		return a
	})

type degreeCounter struct{ script }

func (degreeCounter) Traits() pregel.Traits {
	return pregel.Traits{Aggregators: []pregel.Aggregate{degreeCounts}}
}

// TestAnIdentityIsNotShared: an aggregator whose reduce changes a map in place counts correctly in
// every setting, in all supersteps and runs.
func TestAnIdentityIsNotShared(t *testing.T) {
	w := on(t, "0>1 0>2 1>2 3 70")
	p := pregel.Program[string, int64](degreeCounter{script{func(v talker, _ int64) {
		if v.Superstep() > 0 {
			say(v, "%v", degreeCounts.Value(v))
		}
		degreeCounts.Add(v, map[int]int{v.OutDegree(): 1})
		if v.Superstep() == 2 {
			v.VoteToHalt()
		}
	}}})
	want := slices.Repeat([]string{"map[0:69 1:1 2:1] map[0:69 1:1 2:1]"}, 71)
	w.expect(t, p, want...)
	g := w.load(t, 4, edges.Unweighted)
	for range 2 {
		values, _ := runApart(t, g, p, engine.Options{}, [][]int{{0, 1}, {2, 3}})
		for v, said := range values {
			if strings.TrimSpace(said) != want[0] {
				t.Fatalf("over processes, vertex %d said %q, want %q", v, said, want[0])
			}
		}
	}
}

// twins lists an aggregator twice, or two with the same name.
type twins struct {
	script
	list []pregel.Aggregate
}

func (p twins) Traits() pregel.Traits { return pregel.Traits{Aggregators: p.list} }

func TestTwoAggregatorsOfANameAreRefused(t *testing.T) {
	w := on(t, "0>1")
	for _, list := range [][]pregel.Aggregate{{total, total}, {total, pregel.MinOf[int32]("total",
		0)}} {
		wantError(t, w, pregel.Program[string, int64](twins{script{}, list}), 1,
			"twins: two aggregators are named total")
	}
}

func TestCoordinateRunsBeforeEverySuperstep0IncludedAndSeesTheAggregatesOfTheLast(t *testing.T) {
	w := on(t, "0>1 2")
	var log []string
	p := until(2, func(v talker) {
		total.Add(v, int64(v.Superstep()+1))
		if v.Superstep() < 3 {
			v.SendToAllNeighbors(1)
		}
	})
	p.coordinate = func(c *pregel.Coordinator) {
		log = append(log, fmt.Sprintf("%d: %d, %d of %d awake, %d edges, %d messages", c.Superstep,
			total.Value(c), c.Active, c.NumVertices, c.NumEdges, c.Messages))
	}
	w.expectWith(t, p, func(*setting) { log = nil }, "", "", "")
	want := []string{
		"0: 0, 3 of 3 awake, 1 edges, 0 messages", "1: 3, 3 of 3 awake, 1 edges, 1 messages",
		"2: 6, 3 of 3 awake, 1 edges, 1 messages", "3: 9, 0 of 3 awake, 1 edges, 1 messages",
	}
	if !slices.Equal(log, want) {
		t.Fatalf("%q", log)
	}
}

func TestWhatCoordinateReplacesIsReadInTheComingSuperstep(t *testing.T) {
	w := on(t, "0>1 2")
	p := until(3, func(v talker) {
		say(v, "%d/%d", total.Value(v), kept.Value(v))
		total.Add(v, 1)
		kept.Add(v, 1)
	})
	p.coordinate = func(c *pregel.Coordinator) {
		switch c.Superstep {
		case 0:
			total.Replace(c, 100)
			kept.Replace(c, 100)
		case 2:
			total.Replace(c, -1)
			kept.Replace(c, -1)
		}
	}
	all := "100/100 3/103 -1/-1 3/2"
	w.expect(t, p, all, all, all)
}

func TestCoordinateHaltsBeforeTheSuperstepRuns(t *testing.T) {
	w := on(t, "0>1 2")
	for _, last := range []int{0, 1, 3} {
		p := until(100, func(v talker) { say(v, "%d", v.Superstep()) })
		p.coordinate = func(c *pregel.Coordinator) {
			if c.Superstep == last {
				c.Halt()
			}
		}
		said := []string{"", "0", "", "0 1 2"}[last]
		o := w.expect(t, p, said, said, said)
		w.expectSupersteps(t, o, last, 0)
	}
}

func TestPhasesThatCannotTravelAreRefused(t *testing.T) {
	w := on(t, "0>1 2")
	for phase, text := range map[int]string{
		-1:      "program sums, superstep 1: Coordinate: SetPhase(-1): a phase is a number from 0 to 4294967295",
		1 << 32: "program sums, superstep 1: Coordinate: SetPhase(4294967296): a phase is a number from 0 to 4294967295",
	} {
		p := until(2, func(talker) {})
		p.coordinate = func(c *pregel.Coordinator) {
			if c.Superstep == 1 {
				c.SetPhase(phase)
			}
		}
		wantError(t, w, pregel.Program[string, int64](p), 1, text)
		wantError(t, w, pregel.Program[string, int64](p), 3, text)
	}
}

func TestCoordinateSwitchesPhases(t *testing.T) {
	w := on(t, "0>1 2")
	p := until(4, func(v talker) { say(v, "%d", v.Phase()) })
	p.coordinate = func(c *pregel.Coordinator) {
		if c.Superstep == 1 || c.Superstep == 3 {
			c.SetPhase(c.Phase + 7)
		}
	}
	all := "0 7 7 14 14"
	w.expect(t, p, all, all, all)
}

// floats sums numbers whose sum depends on the order, among them large and small ones.
type floats struct{ script }

var (
	wide   = pregel.SumOf[float64]("wide").Persistent()
	narrow = pregel.SumOf[float32]("narrow")
	direct = pregel.SumOf[float64]("direct")

	namedWide   = pregel.SumOf[rank]("named wide").Persistent()
	namedNarrow = pregel.SumOf[share]("named narrow")
)

// rank and share are named float types.
type (
	rank  float64
	share float32
)

func (floats) Traits() pregel.Traits {
	return pregel.Traits{
		Aggregators: []pregel.Aggregate{wide, narrow, direct, namedWide, namedNarrow},
	}
}

func TestFloatSumsOfDeterministicRunsAreBitIdentical(t *testing.T) {
	shape := shapes(8)[10]
	program := pregel.Program[string, int64](floats{script{func(v talker, _ int64) {
		say(v, "%x/%x/%x", math.Float64bits(wide.Value(v)), math.Float32bits(narrow.Value(v)),
			math.Float64bits(direct.Value(v)))
		x := float64(v.Label())
		wide.Add(v, math.Sin(x)*math.Exp2(math.Mod(x*7, 120)-60))
		narrow.Add(v, float32(math.Cos(x)*1e6))
		namedWide.Add(v, rank(math.Sin(x)*math.Exp2(math.Mod(x*7, 120)-60)))
		namedNarrow.Add(v, share(math.Cos(x)*1e6))
		if float64(namedWide.Value(v)) != wide.Value(v) ||
			float32(namedNarrow.Value(v)) != narrow.Value(v) {
			// a sum does not depend on its type's name
			say(v, "%x", math.Float64bits(float64(namedWide.Value(v))))
		}
		*direct.Cell(v) += math.Trunc(math.Sin(x) * 1e6) // in place; these sums are exact
		if v.Superstep() == 3 {
			v.VoteToHalt()
		}
	}}})
	var want []string
	for _, s := range deterministic(0) {
		g := shape.loadAs(t, s, edges.Unweighted)
		got, _ := run(t, g, program, s)
		if want == nil {
			want = got
		}
		if n := len(strings.Fields(got[0])); n != 4 {
			t.Fatalf("%v: sums of named floats are others: %q", s, got[0])
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v: %q, want %q", s, got[0], want[0])
		}
		g.Close()
	}
	if last := strings.Fields(want[0])[3]; strings.HasPrefix(last, "0/") ||
		strings.Contains(last, "/0") {
		t.Fatalf("nothing was added: %q", want[0])
	}
}

func TestLogfNamesTheVertexAndTheSuperstep(t *testing.T) {
	w := on(t, "0>1 2 5>0")
	for _, s := range aFew(2, inGrids()) {
		var mu sync.Mutex
		var lines []string
		s.o.Log = func(line string) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, line)
		}
		p := script{func(v talker, _ int64) {
			if v.Label() == 5 || v.Label() == 2 && v.Superstep() == 1 {
				v.Logf("said %d", v.Superstep()+40)
			}
			if v.Superstep() == 1 {
				v.VoteToHalt()
			}
		}}
		g := w.loadAs(t, s, 0)
		run(t, g, pregel.Program[string, int64](p), s)
		slices.Sort(lines)
		want := []string{"vertex 2, superstep 1: said 41", "vertex 5, superstep 0: said 40", "vertex 5, superstep 1: said 41"}
		if !slices.Equal(lines, want) {
			t.Fatalf("%v: %q", s, lines)
		}
		g.Close()
	}
}

// written has an Output.
type written struct{ script }

func (written) Output(dst []byte, v string) []byte { return append(append(dst, "said"...), v...) }

func TestOutputWritesValues(t *testing.T) {
	w := on(t, "0>1")
	e, err := engine.NewProgram(pregel.Erase(pregel.Program[string, int64](written{script{func(v talker, _ int64) {
		say(v, "%d", v.Label())
		v.VoteToHalt()
	}}})))
	check(t, err)
	j, err := e.Bind(t.Context(), w.load(t, 2, 0), engine.Options{})
	check(t, err)
	defer j.Close()
	_, err = j.Run(t.Context())
	check(t, err)
	if got := string(j.Append([]byte("1: "), w.id(1))); got != "1: said 1" ||
		j.Any(w.id(0)) != " 0" {
		t.Fatalf("%q, %q", got, j.Any(w.id(0)))
	}
}
