package engine

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

type mixed struct {
	Names map[string][]float64
	Next  *mixed
}

var wired = []pregel.Aggregate{
	pregel.SumOf[int]("int"), pregel.SumOf[float64]("float"), pregel.NewAggregator("list", nil, func(a, b []float64) []float64 { return append(a, b...) }),
	pregel.NewAggregator("mixed", nil, func(a, b mixed) mixed { return b }),
}

func cellsOf(exact bool) []pregel.Cell { return newCells(wired, exact) }

// TestAggregatesTravel takes cells of several types, one after another, from one process to another.
func TestAggregatesTravel(t *testing.T) {
	for _, exact := range []bool{false, true} {
		from, to := cellsOf(exact), cellsOf(exact)
		for round := range 3 {
			c := &pregel.Coordinator{Totals: from}
			wired[0].(pregel.Aggregator[int]).Replace(c, -3-round)
			wired[1].(pregel.Aggregator[float64]).Replace(c, 0.1)
			wired[2].(pregel.Aggregator[[]float64]).Replace(c, []float64{math.Inf(1), float64(round)})
			wired[3].(pregel.Aggregator[mixed]).Replace(c, mixed{map[string][]float64{"a": {1}}, &mixed{}})
			data, err := encodeCells(nil, wired, from)
			if err != nil {
				t.Fatal(err)
			}
			list := to[wired[2].Number()].Any()
			before, _ := list.([]float64)
			kept := append([]float64(nil), before...)
			if err := decodeCells(wired, data, to); err != nil {
				t.Fatal(err)
			}
			for _, a := range wired {
				if x, y := from[a.Number()].Any(), to[a.Number()].Any(); !reflect.DeepEqual(x, y) {
					t.Errorf("%s: %v became %v", a.Name(), x, y)
				}
			}
			if !reflect.DeepEqual(before, kept) && len(kept) > 0 {
				t.Errorf("what was read before changed from %v to %v", kept, before)
			}
		}
	}
}

// hiding aggregates what would not arrive.
type hiding struct{}

type hidden struct{ sum, n float64 }

var average = pregel.NewAggregator("average", nil, func(a, b hidden) hidden { return hidden{a.sum + b.sum, a.n + b.n} })

func (hiding) Combiner() pregel.Combiner[int64]            { return combiners.Sum[int64]() }
func (hiding) Aggregators() []pregel.Aggregate             { return []pregel.Aggregate{average} }
func (hiding) Compute(*pregel.Vertex[int64, int64], int64) {}

func TestAggregatesThatCannotTravelAreRefused(t *testing.T) {
	p, err := Erase[int64, int64](hiding{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Codec()
	if err == nil || !strings.Contains(err.Error(), "aggregator average: values of type engine.hidden cannot travel between processes: field sum") {
		t.Error(err)
	}
}

// FuzzDecodeCells brings aggregates of any content: they are refused, or can be encoded again.
func FuzzDecodeCells(f *testing.F) {
	for _, exact := range []bool{false, true} {
		data, err := encodeCells(nil, wired, cellsOf(exact))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, exact := range []bool{false, true} {
			cells := cellsOf(exact)
			if decodeCells(wired, data, cells) != nil {
				continue
			}
			if _, err := encodeCells(nil, wired, cells); err != nil {
				t.Error(err)
			}
		}
	})
}
