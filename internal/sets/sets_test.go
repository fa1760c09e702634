package sets

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/vertexset"
)

// TestSaveNumbered: only - is a vertex that the run added, and other lines without a number are
// refused.
func TestSaveNumbered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.vset")
	for _, c := range []struct{ lines, want string }{
		{"5 x\t0\n7 y\t3\n9 z\t-\n", ""},
		{"5 x\t0\n7 3\n", `found the line "7 3", expected a tab and a number at its end`},
		{"5 x\t0\n7 x\ty\n", "expected the number of a vertex at its end"},
		{"5 x\t0\n7 x\t\n", "expected the number of a vertex at its end"},
		{"5 x\t4\n", "vertex 4: the graph has 4"},
	} {
		added, err := SaveNumbered(t.Context(), path, Numbering{Fingerprint: 1, IDs: 4},
			func(_ context.Context, w io.Writer) error {
				_, err := io.WriteString(w, c.lines)
				return err
			})
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: found %v, expected %s", c.lines, err, c.want)
			}
			continue
		}
		set, wrong := vertexset.ReadFile(t.Context(), path)
		if err != nil || wrong != nil || added != 1 || set.Len() != 2 || !set.Contains(3) {
			t.Errorf("%q: found %v, %d added: %v, %v", c.lines, set, added, err, wrong)
		}
	}
}
