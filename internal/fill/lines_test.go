package fill_test

import (
	"testing"

	"github.com/superstep-go/superstep/internal/fill"
	"github.com/superstep-go/superstep/internal/graphio"
)

// FuzzParseLine parses any bytes as a line of a column. A valid line is formatted to the same line.
func FuzzParseLine(f *testing.F) {
	f.Add("7:0:0 \"Rue de\" 0.5", false)
	f.Add("7:0:0 \"a\\tb\" ", false)
	f.Add("7:1:4 12 x y", false)
	f.Add("7:1:4 12 34 x y", true)
	f.Add("7:1:4 12  34\tx", true)
	f.Add("x", false)
	f.Fuzz(func(t *testing.T, text string, ofEdges bool) {
		v, err := fill.ParseLine([]byte(text), ofEdges)
		if err != nil {
			return
		}
		if len(v.Names[0]) == 0 && v.ID == graphio.NoNumber {
			t.Errorf("%q has no name", text)
		}
		again, err := fill.ParseLine(fill.AppendLine(nil, &v, ofEdges), ofEdges)
		if err != nil || again.ID != v.ID || again.To != v.To ||
			string(again.Names[0]) != string(v.Names[0]) || string(again.Text) != string(v.Text) ||
			again.Line != v.Line || again.At != v.At {
			t.Errorf("%q: found %+v again, %v, expected %+v", text, again, err, v)
		}
	})
}
