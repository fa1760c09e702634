package resolve

import (
	"testing"

	"github.com/superstep-go/superstep/internal/engine"
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
