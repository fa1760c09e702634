package bsp

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/record"
)

type mixed struct {
	Names map[string][]float64
	Next  *mixed
}

var wired = []pregel.Aggregate{
	pregel.SumOf[int]("int"), pregel.SumOf[float64]("float"), pregel.NewAggregator("list", nil,
		func(a, b []float64) []float64 { return append(a, b...) }),
	pregel.NewAggregator("mixed", nil, func(a, b mixed) mixed { return b }),
}

var wires = func() (all []kernel.Aggregate) {
	for _, a := range wired {
		all = append(all, kernel.Pregel.Aggregate(a))
	}
	return all
}()

// TestAggregatesTravel encodes cells of several types and decodes them, as between processes.
func TestAggregatesTravel(t *testing.T) {
	for _, exact := range []bool{false, true} {
		a := Aggregates{wires, exact}
		from, to := a.Cells(), a.Cells()
		for round := range 3 {
			c := kernel.Pregel.Coordinator(0, 0, from, nil).(*pregel.Coordinator)
			wired[0].(pregel.Aggregator[int]).Replace(c, -3-round)
			wired[1].(pregel.Aggregator[float64]).Replace(c, 0.1)
			wired[2].(pregel.Aggregator[[]float64]).Replace(c,
				[]float64{math.Inf(1), float64(round)})
			wired[3].(pregel.Aggregator[mixed]).Replace(c,
				mixed{map[string][]float64{"a": {1}}, &mixed{}})
			data, err := a.Encode(nil, from)
			if err != nil {
				t.Fatal(err)
			}
			list := to[wires[2].Number].Any()
			before, _ := list.([]float64)
			kept := append([]float64(nil), before...)
			if err := a.Decode(data, to); err != nil {
				t.Fatal(err)
			}
			for _, a := range wires {
				if x, y := from[a.Number].Any(), to[a.Number].Any(); !reflect.DeepEqual(x, y) {
					t.Errorf("%s: %v became %v", a.Name, x, y)
				}
			}
			if !reflect.DeepEqual(before, kept) && len(kept) > 0 {
				t.Errorf("what was read before changed from %v to %v", kept, before)
			}
		}
	}
}

type ratio float64

// TestAggregatesInRecords: records have the first eight numbers, without those that are not finite,
// have a long name, or are not reported.
func TestAggregatesInRecords(t *testing.T) {
	numbers := []pregel.Aggregate{
		pregel.SumOf[float64]("sum"), pregel.MinOf("none", math.Inf(1)), pregel.MaxOf("max", int32(7)),
		pregel.AnyOf("any"), pregel.SumOf[int64]("hidden").Unreported(),
		pregel.MaxOf("named", ratio(1)), pregel.SumOf[int64](strings.Repeat("x", 65)),
		pregel.SumOf[int64]("\xff"),
		pregel.MinOf("nan", math.NaN()), pregel.MaxOf("a", 1), pregel.MaxOf("b", 2.),
		pregel.MaxOf("c", int64(3)), pregel.MaxOf("d", 4), pregel.MaxOf("e", 5.),
		pregel.MaxOf("f", 6.), pregel.MaxOf("too many", 1.),
	}
	var a Aggregates
	for _, one := range numbers {
		a.All = append(a.All, kernel.Pregel.Aggregate(one))
	}
	before := record.Aggregator{Name: "of an earlier superstep"}
	found := a.Record([]record.Aggregator{before}, a.Cells())
	want := []record.Aggregator{
		before,
		{Name: "sum"},
		{Name: "max", Value: 7},
		{Name: "a", Value: 1},
		{Name: "b", Value: 2},
		{Name: "c", Value: 3},
		{Name: "d", Value: 4},
		{Name: "e", Value: 5},
		{Name: "f", Value: 6},
	}
	if !slices.Equal(found, want) {
		t.Errorf("found %v, expected %v", found, want)
	}
	cells, reused := a.Cells(), make([]record.Aggregator, 0, 8)
	if n := testing.AllocsPerRun(100, func() { a.Record(reused, cells) }); n > 0 {
		t.Errorf("%g allocations", n)
	}
}

// FuzzDecodeCells decodes arbitrary bytes: Decode returns an error, or the result can be encoded
// again.
func FuzzDecodeCells(f *testing.F) {
	for _, exact := range []bool{false, true} {
		a := Aggregates{wires, exact}
		data, err := a.Encode(nil, a.Cells())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, exact := range []bool{false, true} {
			a := Aggregates{wires, exact}
			cells := a.Cells()
			if a.Decode(data, cells) != nil {
				continue
			}
			if _, err := a.Encode(nil, cells); err != nil {
				t.Error(err)
			}
		}
	})
}
