package resolve

import (
	"fmt"
	"testing"

	"github.com/superstep-go/superstep/internal/engine"
)

// adjusted is a struct with the parameters of a program.
type adjusted struct {
	Rate   float64 `param:"rate" default:"0.5"`
	Rounds int     `param:"rounds" default:"9"`
	Slack  float64 `param:"slack" default:"0.25" unless:"rounds"`
	Plain  int     `param:"plain"`
}

// TestDefaultsOfOmittedParameters: a given parameter has no default, and neither has one that
// another replaces.
func TestDefaultsOfOmittedParameters(t *testing.T) {
	defaults := Defaults(engine.Registry{{Name: "p", Parameters: engine.Parameters(adjusted{})}})
	for _, c := range []struct {
		program string
		given   map[string]string
		want    string
	}{
		{"p", nil, "map[rate:0.5 rounds:9 slack:0.25]"},
		{"p", map[string]string{"rounds": "3", "plain": "1"}, "map[rate:0.5]"},
		{"graph500", nil, "map[]"},
	} {
		if found := fmt.Sprint(defaults(c.program, c.given)); found != c.want {
			t.Errorf("%s %v: found %s, expected %s", c.program, c.given, found, c.want)
		}
	}
}
