package engine_test

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
)

// tuned has a parameter of every kind.
type tuned struct {
	Source pregel.VertexID `param:"source" help:"where"`
	Goal   pregel.VertexID `param:"goal" default:"7"`
	Far    int8            `param:"far" default:"5"`
	Many   uint16          `param:"many"`
	Rate   float32         `param:"rate" default:"0.5"`
	Name   string          `param:"name" default:"x"`
	Loud   bool            `param:"loud"`
	List   []int           `param:"list"`
	Map    map[int]int     `param:"map"`
	Other  int
	hidden int
}

func (tuned) Combiner() pregel.Combiner[int64]            { return combiners.Sum[int64]() }
func (tuned) Compute(*pregel.Vertex[int64, int64], int64) {}

func (p tuned) Validate(*pregel.GraphInfo) error {
	if p.Far > 100 {
		return errors.New("too far")
	}
	return nil
}

func times10(label uint64) (pregel.VertexID, bool) {
	return pregel.VertexID(label * 10), label < 10
}

func TestParameters(t *testing.T) {
	var names, types []string
	for _, p := range engine.Parameters(&tuned{}) {
		names, types = append(names, p.Name), append(types, p.Type)
		if p.Required != (p.Name == "source") {
			t.Errorf("%s: required %t", p.Name, p.Required)
		}
	}
	if !slices.Equal(names,
		[]string{"source", "goal", "far", "many", "rate", "name", "loud", "list", "map"}) {
		t.Errorf("names %v", names)
	}
	if !slices.Equal(types,
		[]string{"vertex", "vertex", "int8", "uint16", "float32", "string", "bool", "[]int", "map[int]int"}) {
		t.Errorf("types %v", types)
	}
	if len(engine.Parameters(7)) != 0 || len(engine.Parameters(nil)) != 0 {
		t.Error("parameters of what is no struct")
	}
}

func TestFresh(t *testing.T) {
	values := map[string]string{"source": "3", "many": "65535", "rate": "1e-3", "name": "", "loud": "true", "list": "3,-1"}
	for _, p := range []pregel.Program[int64,
		int64]{tuned{Other: 4, hidden: 6}, &tuned{Other: 4, hidden: 6}} {
		fresh, err := engine.Fresh(pregel.Erase(p), values, times10)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := fresh.Program.(tuned)
		if pointer, isPointer := fresh.Program.(*tuned); isPointer {
			got, ok = *pointer, true
			if pointer == p {
				t.Error("the program itself was changed")
			}
		}
		if want := (tuned{30, 70, 5, 65535, 1e-3, "", true, []int{3, -1}, nil, 4, 6}); !ok ||
			!reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	fresh, err := engine.Fresh(pregel.Erase(pregel.Program[int64, int64](tuned{})),
		map[string]string{"source": "3"}, nil)
	if err != nil || fresh.Program.(tuned).Source != pregel.None {
		t.Errorf("without a graph: %+v, %v", fresh, err)
	}
}

func TestFreshRefuses(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"source", "x", `parameter source: found "x", expected the id of a vertex`},
		{"source", "10", "parameter source: the graph has no vertex 10"},
		{"far", "128", `parameter far: found 128, expected -128 to 127`},
		{"far", "101", "too far"},
		{"many", "65536", "parameter many: found 65536, expected 0 to 65535"},
		{"rate", "1e39", "parameter rate: found 1e39, expected a number that fits 32 bits"},
		{"many", "-1", `parameter many: found "-1", expected a whole number, not negative`},
		{"rate", "fast", `parameter rate: found "fast", expected a number`},
		{"loud", "very", `parameter loud: found "very", expected true or false`},
		{"list", "1,x,3", `parameter list: element 2 of 3: found "x", expected a whole number`},
		{"map", "1", "parameter map: a field of type map[int]int cannot be a parameter"},
	} {
		_, err := engine.Fresh(pregel.Erase(pregel.Program[int64, int64](tuned{})),
			map[string]string{test.name: test.text}, times10)
		if err == nil || err.Error() != test.want {
			t.Errorf("%s=%s: error %v, want %s", test.name, test.text, err, test.want)
		}
	}
}

func TestCheck(t *testing.T) {
	params := append(engine.Parameters(tuned{}),
		engine.Parameter{Name: "kind", Words: []string{"a", "b"}})
	for _, test := range []struct {
		values map[string]string
		want   string
	}{
		{map[string]string{"source": "1", "kind": "b"}, ""},
		{map[string]string{"kind": "b"}, "parameter source is missing: where"},
		{map[string]string{"source": "1", "kind": "c"}, `parameter kind: found "c", expected one of a, b`},
		{map[string]string{"source": "1", "sauce": "1"}, `parameter "sauce": expected one of source, goal, far, many, rate, name, loud, list, map, kind`},
	} {
		err := engine.Check(params, test.values)
		if test.want == "" && err != nil || test.want != "" &&
			(err == nil || err.Error() != test.want) {
			t.Errorf("%v: error %v, want %q", test.values, err, test.want)
		}
	}
	if err := engine.Check(nil, map[string]string{"x": "1"}); err == nil ||
		err.Error() != `parameter "x": there are no parameters` {
		t.Errorf("error %v", err)
	}
}

// signed has a Validate that would be ignored.
type signed struct{ tuned }

func (signed) Validate(*pregel.GraphInfo) bool { return true }

func TestValidateIsFound(t *testing.T) {
	_, err := engine.NewProgram(pregel.Erase(pregel.Program[int64, int64](signed{})))
	if err == nil ||
		err.Error() != "signed: method Validate is func(*pregel.GraphInfo) bool, want func(*pregel.GraphInfo) error" {
		t.Errorf("error %v", err)
	}
	if _, err := engine.NewProgram(pregel.Erase(pregel.Program[int64,
		int64](tuned{Far: math.MaxInt8}))); err != nil {
		t.Errorf("a program is validated before its parameters are known: %v", err)
	}
}

// TestEmptyDefaultOfVertices: a list of vertices with an empty default is optional; a vertex is
// required.
func TestEmptyDefaultOfVertices(t *testing.T) {
	type seeds struct {
		None []pregel.VertexID `param:"none" default:""`
		Some []pregel.VertexID `param:"some"`
		One  pregel.VertexID   `param:"one" default:""`
	}
	required := []bool{}
	for _, p := range engine.Parameters(seeds{}) {
		required = append(required, p.Required)
	}
	if !slices.Equal(required, []bool{false, true, true}) {
		t.Errorf("required are %v", required)
	}
	values := map[string]string{"some": "1,2", "one": "3"}
	if err := engine.Check(engine.Parameters(seeds{}), values); err != nil {
		t.Error(err)
	}
	var s seeds
	if err := engine.Fill(&s, values, times10); err != nil || len(s.None) != 0 || len(s.Some) != 2 {
		t.Errorf("found %v, %v", s, err)
	}
}
