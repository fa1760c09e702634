package library_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

// tally has aggregators of many kinds. A vertex runs until superstep label mod 4. Coordinate may
// end the run earlier.
type tally struct {
	Until int `param:"until" default:"100"`
}

type span struct{ Low, High uint64 }

var (
	ran      = pregel.SumOf[int64]("ran")
	everRan  = pregel.SumOf[int64]("ever ran").Persistent()
	quarters = pregel.SumOf[float64]("quarters")
	nobody   = pregel.MinOf("nobody", math.Inf(1))
	highest  = pregel.NewAggregator("highest", nil,
		func(a, b pregel.VertexID) pregel.VertexID { return max(a, b) })
	odd    = pregel.AnyOf("odd")
	labels = pregel.NewAggregator("labels", nil, func(a, b []uint64) []uint64 {
		a = append(a, b...)
		slices.Sort(a)
		return a
	})
	spans = pregel.NewAggregator("span", func() span { return span{math.MaxUint64, 0} },
		func(a, b span) span {
			return span{min(a.Low, b.Low), max(a.High, b.High)}
		})
	said = pregel.NewAggregator("said", nil,
		func(a, b string) string { return max(a, b) }).Persistent()
	long = pregel.NewAggregator("long", nil, func(a, b string) string { return max(a, b) })
)

func (tally) Traits() pregel.Traits {
	return pregel.Traits{
		Aggregators: []pregel.Aggregate{ran, everRan, quarters, nobody, highest, odd, labels, spans, said, long},
	}
}

func (tally) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (p tally) Coordinate(c *pregel.Coordinator) {
	c.Logf("%d ran", ran.Value(c))
	said.Replace(c, strings.Repeat("so ", c.Superstep))
	if c.Superstep == p.Until {
		c.Halt()
	}
}

func (tally) Compute(v *pregel.Vertex[int64, int64], _ int64) {
	if v.Superstep() == 0 {
		nobody.Add(v, 1) // and in no later superstep
		long.Add(v, strings.Repeat("x", trace.MaxAggregate))
	}
	if v.Superstep() == int(v.Label()%4) {
		v.VoteToHalt()
	}
	ran.Add(v, 1)
	everRan.Add(v, 1)
	quarters.Add(v, 0.25)
	highest.Add(v, v.ID())
	odd.Add(v, v.Label()%2 == 1)
	labels.Add(v, []uint64{v.Label()})
	spans.Add(v, span{v.Label(), v.Label()})
	long.Add(v, "y")
}

// TestFinalAggregators compares the aggregators after a run with the results of a loop over all
// vertices.
func TestFinalAggregators(t *testing.T) {
	c, conn := connected(t)
	for _, options := range []superstep.LoadOptions{{}, {Partitions: 4}, {Grid: superstep.Grid{Rows: 2, Columns: 2}}} {
		here, err := superstep.Load(t.Context(), "grid:rows=5,columns=6", options)
		here = open(t, here, err)
		there, err := conn.Load(t.Context(), "grid:rows=5,columns=6", options)
		there = open(t, there, err)
		for _, g := range []*superstep.Graph{here, there} {
			for _, o := range []superstep.Options{{}, {Deterministic: here.Grid().Flat()}, {MaxSupersteps: 2}} {
				testTally(t, g, tally{Until: 100}, o)
				testTally(t, g, tally{Until: 3}, o)
			}
		}
	}
	if n := len(jobs(t, c)); n != 18 {
		t.Errorf("found %d jobs of the cluster, expected 18", n)
	}
}

func testTally(t *testing.T, g *superstep.Graph, p tally, o superstep.Options) {
	t.Helper()
	var out bytes.Buffer
	var lines []string
	o.Trace = &out
	// only Coordinate logs, from one goroutine
	o.Log = func(line string) { lines = append(lines, line) }
	res, err := superstep.Run(t.Context(), g, p, o)
	if err != nil {
		t.Fatal(err)
	}
	supersteps, coordinated := 4, 4
	if p.Until < supersteps {
		supersteps = p.Until
	}
	if o.MaxSupersteps > 0 && o.MaxSupersteps < supersteps {
		supersteps, coordinated = o.MaxSupersteps, o.MaxSupersteps
	}
	last := supersteps - 1
	want := map[string]any{"nobody": math.Inf(1), "long": "y", "said": strings.Repeat("so ",
		coordinated-1)}
	all, sum, most, isOdd := int64(0), int64(0), pregel.VertexID(0), false
	var there []uint64
	for label := range uint64(30) {
		all += int64(min(int(label%4), last)) + 1
		if int(label%4) < last {
			continue
		}
		sum++
		there = append(there, label)
		id, _ := g.Vertex(label)
		most, isOdd = max(most, id), isOdd || label%2 == 1
	}
	want["ran"], want["ever ran"], want["quarters"], want["highest"], want["odd"] = sum, all,
		float64(sum)/4, most, isOdd
	want["labels"], want["span"] = there, span{there[0], there[len(there)-1]}
	if res.Supersteps != supersteps {
		t.Errorf("%v: %d supersteps, expected %d", p, res.Supersteps, supersteps)
	}
	if !reflect.DeepEqual(res.Aggregates, want) {
		t.Errorf("%v in %v, %+v: found\n%v\nexpected\n%v", p, g.Grid(), o, res.Aggregates, want)
	}
	typed := []any{ran.Value(res), everRan.Value(res), spans.Value(res), highest.Value(res)}
	if !reflect.DeepEqual(typed, []any{sum, all, span{there[0], there[len(there)-1]}, most}) {
		t.Errorf("found %v", typed)
	}
	if len(lines) != coordinated || lines[0] != "coordinator, superstep 0: 0 ran" ||
		lines[1] != "coordinator, superstep 1: 30 ran" {
		t.Errorf("%v: the log has %q", p, lines)
	}
	text := out.String()
	end := text[strings.LastIndex(strings.TrimSpace(text), "\n")+1:]
	var told struct {
		Kind        string
		Aggregators map[string]any
	}
	if err := json.Unmarshal([]byte(end), &told); err != nil {
		t.Fatal(err)
	}
	if a := told.Aggregators; told.Kind != "end" || len(a) != len(want) ||
		a["ran"] != float64(sum) || a["nobody"] != "+Inf" ||
		a["highest"] != float64(g.Label(most)) || len(a["labels"].([]any)) != len(there) {
		t.Errorf("the trace ends with %s", end)
	}
}

// TestLargeAggregators: aggregators too large for reports are left out of them. Those too large for
// a message are left out of the result, too. The log has a line about each.
func TestLargeAggregators(t *testing.T) {
	_, conn := connected(t)
	for size, want := range map[int][]string{
		trace.MaxAggregate: {"aggregator long is left out of reports: it has 65538 bytes of text"},
		1 << 20:            {"aggregator long is left out of reports: it has 1048578 bytes of text", "aggregator long does not reach clients in Go: it has 1048"},
	} {
		for i, load := range []func() (*superstep.Graph, error){
			func() (*superstep.Graph, error) { return superstep.Load(t.Context(), "path:vertices=9") },
			func() (*superstep.Graph, error) { return conn.Load(t.Context(), "path:vertices=9") },
		} {
			g, err := load()
			g = open(t, g, err)
			var lines []string
			var out bytes.Buffer
			res, err := superstep.Run(t.Context(), g, lengthy{Size: size}, superstep.Options{Trace: &out, Log: func(line string) { lines = append(lines, line) }})
			if err != nil {
				t.Fatal(err)
			}
			travels := i == 0 || size < 1<<20
			expected := want
			if i == 0 {
				expected = want[:1]
			}
			if len(lines) != len(expected) {
				t.Fatalf("the log has %.200q", lines)
			}
			for i, line := range lines {
				if !strings.HasPrefix(line, expected[i]) {
					t.Errorf("the log has %.200q", line)
				}
			}
			if value, ok := res.Aggregates["long"].(string); ok != travels || ok &&
				value != long.Value(res) || ok && len(value) != size {
				t.Errorf("found a value of %d bytes, %t", len(value), ok)
			}
			if ran.Value(res) != 9 || !strings.Contains(out.String(), `"aggregators":{"ran":9}`) {
				t.Errorf("found %d, %.2000s", ran.Value(res), out.String())
			}
		}
	}
}

// lengthy has an aggregate with this number of bytes.
type lengthy struct {
	Size int `param:"size"`
}

func (lengthy) Traits() pregel.Traits {
	return pregel.Traits{Aggregators: []pregel.Aggregate{ran, long}}
}
func (lengthy) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }
func (p lengthy) Compute(v *pregel.Vertex[int64, int64], _ int64) {
	ran.Add(v, 1)
	if v.Label() == 0 {
		long.Add(v, strings.Repeat("x", p.Size))
	}
	v.VoteToHalt()
}
