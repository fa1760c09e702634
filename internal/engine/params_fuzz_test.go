package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
)

// knobs has a parameter of every kind.
type knobs struct {
	Source pregel.VertexID `param:"source" help:"where to begin"`
	Near   pregel.VertexID `param:"near" default:"7"`
	Text   string          `param:"text" default:"plain"`
	On     bool            `param:"on"`
	Count  int8            `param:"count" default:"-3"`
	Size   uint16          `param:"size"`
	Share  float32         `param:"share" default:"0.5"`
	Own    int
	hidden int `param:"hidden"`
}

func find(label uint64) (pregel.VertexID, bool) { return pregel.VertexID(label + 100), label < 10 }

func TestParametersAreTaggedFieldsInTheirOrder(t *testing.T) {
	_ = knobs{}.hidden
	var names []string
	for _, p := range engine.Parameters(&knobs{}) {
		names = append(names, fmt.Sprintf("%s:%s:%t", p.Name, p.Type, p.Required))
	}
	want := "source:vertex:true near:vertex:false text:string:false on:bool:false count:int8:false size:uint16:false share:float32:false"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestFillSetsParametersAndDefaults(t *testing.T) {
	var k knobs
	check(t, engine.Fill(&k,
		map[string]string{"source": "3", "on": "true", "size": "65535", "share": "1e-3"}, find))
	if want := (knobs{Source: 103, Near: 107, Text: "plain", On: true, Count: -3, Size: 65535, Share: 1e-3}); k != want {
		t.Errorf("%+v, want %+v", k, want)
	}
	check(t, engine.Fill(&k, map[string]string{"source": "99"}, nil))
	if k.Source != pregel.None {
		t.Errorf("without a graph a vertex is %d", k.Source)
	}
	for text, values := range map[string]map[string]string{
		"parameter source: the graph has no vertex 10":                        {"source": "10"},
		"parameter near: found \"-1\", expected the id of a vertex":           {"near": "-1"},
		"parameter on: found \"maybe\", expected true or false":               {"on": "maybe"},
		"parameter count: found 200, expected -128 to 127":                    {"count": "200"},
		"parameter size: found \"-2\", expected a whole number, not negative": {"size": "-2"},
		"parameter share: found \"half\", expected a number":                  {"share": "half"},
	} {
		if err := engine.Fill(new(knobs), values, find); err == nil || err.Error() != text {
			t.Errorf("the error is %v, want %s", err, text)
		}
	}
}

// FuzzParameters checks and fills parameters with arbitrary text: Fill accepts what Check accepts,
// or returns an error.
func FuzzParameters(f *testing.F) {
	f.Add("source", "3")
	f.Add("count", "-128")
	f.Add("share", "NaN")
	f.Add("hidden", "1")
	f.Fuzz(func(t *testing.T, name, text string) {
		values := map[string]string{name: text}
		known := name == "source" || name == "near" || name == "text" || name == "on" ||
			name == "count" || name == "size" || name == "share"
		if err := engine.Check(engine.Parameters(knobs{}), values); err == nil && !known {
			t.Fatalf("%q is no parameter", name)
		}
		var k knobs
		if err := engine.Fill(&k, values, find); err == nil && name == "text" && k.Text != text {
			t.Fatalf("%q became %q", text, k.Text)
		}
	})
}

func TestNamesOfDeliveriesAndEncodings(t *testing.T) {
	for _, name := range []string{"auto", "push", "naive", "mirrored", "lalp", "pull", "beamer"} {
		if c, err := delivery.ParseChoice(name); err != nil || c.String() != name {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	for _, name := range []string{"auto", "all", "bitmap", "sparse"} {
		if e, err := delivery.ParseEncoding(name); err != nil || e.String() != name {
			t.Errorf("%s: %v, %v", name, e, err)
		}
	}
	for _, name := range []string{"", "pairs", "Pull", "auto "} {
		if _, err := delivery.ParseEncoding(name); err == nil {
			t.Errorf("%q is an encoding", name)
		}
		if _, err := delivery.ParseChoice(name); err == nil {
			t.Errorf("%q is a delivery", name)
		}
	}
}
