package engine

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/pregel"
)

type told struct {
	Source pregel.VertexID `param:"source"`
	Text   string          `param:"text" default:"x"`
	Wide   float64         `param:"wide"`
	Narrow float32         `param:"narrow" default:"2"`
	Count  int8            `param:"count"`
	Size   uint            `param:"size"`
	On     bool            `param:"on" default:"true"`
	Rate   float64         `param:"rate" default:"0.5" zero:"refused"`
	Extra  []int
	hidden map[string]int
}

// TestGiven finds the parameters from which Fill makes the same program.
func TestGiven(t *testing.T) {
	label := func(id pregel.VertexID) (uint64, bool) { return uint64(id) + 100, id < 9 }
	find := func(label uint64) (pregel.VertexID, bool) { return pregel.VertexID(label - 100), true }
	sample := told{Extra: []int{1}, hidden: nil}
	for _, p := range []told{
		{Extra: []int{1}},
		{Source: 8, Text: "a b=\"", Wide: math.Pi, Narrow: 0.1, Count: -128, Size: math.MaxUint, Rate: 1e-300, Extra: []int{1}},
		{Wide: math.Inf(-1), Narrow: math.MaxFloat32, On: true, Extra: []int{1}},
	} {
		values, err := given(&sample, p, label)
		if err != nil {
			t.Fatal(err)
		}
		made := sample
		if err := Fill(&made, values, find); err != nil {
			t.Fatal(err)
		}
		if p.Rate == 0 {
			p.Rate = 0.5 // 0 stands for the default
		}
		if !reflect.DeepEqual(made, p) {
			t.Errorf("found %+v, expected %+v", made, p)
		}
	}
	for want, p := range map[string]any{
		"field Extra is no parameter":                             told{Extra: []int{2}},
		"field hidden is no parameter":                            told{Extra: []int{1}, hidden: map[string]int{"a": 1}},
		"parameter source: the graph has no vertex with handle 9": told{Source: 9, Extra: []int{1}},
		"told: the program is nil":                                (*told)(nil),
	} {
		if _, err := given(sample, p, label); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("found %v, expected %q", err, want)
		}
	}
}
