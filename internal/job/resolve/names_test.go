package resolve

import (
	"errors"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/pregel"
)

// TestVertexParameters: names in a list are separated by commas. A comma after a backslash belongs
// to the name.
func TestVertexParameters(t *testing.T) {
	labels := map[string]uint64{"Aix, TGV": 7, "Paris": 3, `a\b`: 9}
	find := func(name string) (uint64, bool) { id, ok := labels[name]; return id, ok }
	parameters := []engine.Parameter{{Name: "source", Type: "vertex"}, {Name: "stations", Type: "list of vertex", List: true}, {Name: "damping", Type: "number"}}
	for _, c := range []struct{ name, text, want string }{
		{"source", "Aix, TGV", "7"},
		{"stations", `Aix\, TGV,Paris`, "7,3"},
		{"stations", `a\\b`, "9"},
		{"stations", `a\b`, "9"},
		{"damping", "0.5", "0.5"},
	} {
		got, err := VertexParameters(parameters, map[string]string{c.name: c.text}, find)
		if err != nil || got[c.name] != c.want {
			t.Errorf("%s=%s is %q, %v; want %q", c.name, c.text, got[c.name], err, c.want)
		}
	}
	if _, err := VertexParameters(parameters, map[string]string{"stations": "Paris,Rome"},
		find); err == nil {
		t.Error("Rome is found")
	}
}

// TestSetsInJobs: set:FILE is a vertex before loading, in a list too, and other vertices stay to be
// checked. A cluster refuses it. In other parameters it is a text.
func TestSetsInJobs(t *testing.T) {
	parameters := []engine.Parameter{{Name: "source", Type: "vertex"}, {Name: "stations", Type: "list of vertex", List: true}, {Name: "label", Type: "text"}}
	for _, c := range []struct{ name, text, before, here string }{
		{"source", "set:a.vset", "0", "set:/"},
		{"source", "x", "x", "x"},
		{"stations", "10,set:a.vset,x", "10,0,x", "10,set:/"},
		{"stations", `1\,2`, `1\,2`, `1\,2`},
		{"stations", "7,7", "7,7", "7,7"},
		{"label", "set:a.vset", "set:a.vset", "set:a.vset"},
	} {
		values := map[string]string{c.name: c.text}
		source := &job.Source{Input: "g.el"}
		if got := BeforeLoading(parameters, values, source); got[c.name] != c.before {
			t.Errorf("%s=%s is %q before loading, want %q", c.name, c.text, got[c.name], c.before)
		}
		err := WithoutSets(parameters, values)
		if refused := errors.Is(err, ErrElsewhere); refused != strings.Contains(c.here, "set:/") {
			t.Errorf("%s=%s on a cluster: %v", c.name, c.text, err)
		}
		data, err := Later(&job.Spec{Program: "p", Parameters: values, Source: source}, true,
			parameters)
		if err != nil {
			t.Fatal(err)
		}
		if spec, err := Earlier(data); err != nil ||
			!strings.HasPrefix(spec.Parameters[c.name], c.here) || values[c.name] != c.text {
			t.Errorf("%s=%s is stored as %v, %v", c.name, c.text, spec.Parameters, err)
		}
	}
}

// TestCheckThere: a master refuses a job with a set, also one that no client has checked.
func TestCheckThere(t *testing.T) {
	spec := &job.Spec{Program: "bfs", Graph: "g", Parameters: map[string]string{"source": "set:a.vset"}}
	programs := engine.Registry{engine.Register("bfs", pregel.Erase(algorithms.BFS{}))}
	if err := CheckProgram(programs, spec, graph.Of(1)); err != nil {
		t.Error(err)
	}
	if err := CheckThere(programs, spec, graph.Of(1)); !errors.Is(err, ErrElsewhere) {
		t.Error(err)
	}
}
