package fill_test

import (
	"testing"

	"github.com/superstep-go/superstep/internal/fill"
)

// FuzzParseNamedLine reads anything as a line of a column by names.
func FuzzParseNamedLine(f *testing.F) {
	f.Add("7 \"Rue de\"\t0.5")
	f.Add("7 \"a\\tb\"\t")
	f.Add("x")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := fill.ParseNamedLine([]byte(text))
		if err == nil && len(v.Names[0]) == 0 {
			t.Errorf("%q has no name", text)
		}
	})
}
