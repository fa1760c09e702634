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

// TestVertices: names in a list are separated by commas. A comma after a backslash belongs
// to the name.
func TestVertices(t *testing.T) {
	labels := map[string]uint64{"Aix, TGV": 7, "Paris": 3, `a\b`: 9}
	find := func(name string) (uint64, bool) { id, ok := labels[name]; return id, ok }
	sets := map[string][]uint64{"two": {3, 5}, "none": nil}
	set := func(file string) ([]uint64, error) {
		if ids, ok := sets[file]; ok {
			return ids, nil
		}
		return nil, errors.New("no file")
	}
	parameters := []engine.Parameter{{Name: "source", Type: "vertex"}, {Name: "stations", Type: "list of vertex", List: true}, {Name: "damping", Type: "number"}}
	for _, c := range []struct{ name, text, want string }{
		{"source", "Aix, TGV", "7"},
		{"stations", `Aix\, TGV,Paris`, "7,3"},
		{"stations", `a\\b`, "9"},
		{"stations", `a\b`, "9"},
		{"stations", `set:two,Paris,Aix\, TGV`, "3,5,7"},
		{"damping", "0.5", "0.5"},
	} {
		got, err := engine.Vertices(parameters, map[string]string{c.name: c.text}, set, find)
		if err != nil || got[c.name] != c.want {
			t.Errorf("%s=%s is %q, %v; want %q", c.name, c.text, got[c.name], err, c.want)
		}
	}
	for _, text := range []string{"Paris,Rome", "set:none", "set:other"} {
		if got, err := engine.Vertices(parameters, map[string]string{"stations": text}, set,
			find); err == nil {
			t.Errorf("%s is %v", text, got)
		}
	}
}

// TestSetsInJobs: set:FILE is a vertex before loading, in a list too, and other vertices stay to be
// checked. In other parameters it is a text.
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
		if files := Sets(parameters, values); (len(files) > 0) != strings.Contains(c.here, "set:/") {
			t.Errorf("%s=%s has sets %q", c.name, c.text, files)
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

// TestCheckThere: a master refuses a job with a set that was not sent, and one that is not named.
func TestCheckThere(t *testing.T) {
	spec := &job.Spec{Program: "bfs", Graph: "g", Parameters: map[string]string{"source": "set:a.vset"}}
	programs := engine.Registry{engine.Register("bfs", pregel.Erase(algorithms.BFS{}))}
	if err := CheckProgram(programs, spec, graph.Of(1)); err != nil {
		t.Error(err)
	}
	refused := func(want string) {
		t.Helper()
		if err := CheckThere(programs, spec, graph.Of(1)); err == nil || err.Error() != want {
			t.Errorf("found %v, expected %s", err, want)
		}
	}
	refused(`vertex set "a.vset": nothing was sent`)
	spec.Sets = map[string]*job.ColumnData{"a.vset": {}}
	if err := CheckThere(programs, spec, graph.Of(1)); err != nil {
		t.Error(err)
	}
	spec.Numbered = true
	refused("numbers are for results of lines")
	spec.Numbered, spec.Sets["b.vset"] = false, &job.ColumnData{}
	refused(`vertex set "b.vset": it was sent, but the job does not name it`)
	spec.Graph, spec.Source = "", &job.Source{Input: "path:vertices=3", Within: "c.vset"}
	refused(`vertex set "c.vset": nothing was sent`)
}
