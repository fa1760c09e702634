package master

import (
	"bytes"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
)

// TestUnnumbered: a line without a number is an error.
func TestUnnumbered(t *testing.T) {
	var b bytes.Buffer
	u := &unnumbered{to: &b}
	if _, err := u.Write([]byte("0 1\t7\n5 2\t-\n")); err != nil || b.String() != "0 1\n5 2\n" {
		t.Errorf("found %q, %v", b.String(), err)
	}
	if _, err := u.Write([]byte("6 1\n")); err == nil ||
		!strings.Contains(err.Error(), `found the line "6 1"`) {
		t.Errorf("found %v", err)
	}
}

// TestLoadsDiffer: workers must have loaded graphs with the same fingerprint.
func TestLoadsDiffer(t *testing.T) {
	team := []*control.Placement{{Worker: "a"}, {Worker: "b"}}
	share := func(fingerprint, ids uint64) *control.LoadReport {
		return &control.LoadReport{Vertices: 3, Edges: 2, Fingerprint: fingerprint, Ids: ids}
	}
	for _, c := range []struct {
		other *control.LoadReport
		want  string
	}{
		{share(10, 3), ""},
		{share(11, 3), "worker b has a graph with fingerprint b of 3 ids"},
		{share(10, 4), "worker a one with a of 3"},
	} {
		sum, err := sumLoads("g", team, []*control.LoadReport{share(10, 3), c.other})
		if c.want == "" && (err != nil || sum.Fingerprint != 10) ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("found %v, %v, expected %q", sum, err, c.want)
		}
	}
}
