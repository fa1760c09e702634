package jobspec

import (
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/graph"
)

// TestKernel3IsLookedAtWhereItRuns: what only kernel 2 can do is refused with kernel 3, and not without.
func TestKernel3IsLookedAtWhereItRuns(t *testing.T) {
	for _, sssp := range []bool{false, true} {
		err := CheckGraph500(nil, &control.JobSpec{
			Program: control.Graph500Program, Graph500: &control.Graph500{Scale: 10, EdgeFactor: 16, Roots: 1, Sssp: sssp}, Options: &control.RunOptions{Delivery: "ring"},
		}, graph.Grid{Rows: 2, Columns: 2})
		if refused := err != nil && strings.HasPrefix(err.Error(), "SSSPTree[float32]: ") && strings.Contains(err.Error(), "use delivery pull"); refused != sssp || err != nil && !refused {
			t.Errorf("with kernel 3 %t: found %v", sssp, err)
		}
	}
}
