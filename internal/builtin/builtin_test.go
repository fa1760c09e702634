package builtin_test

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/builtin"
	"github.com/superstep-go/superstep/internal/engine"
)

// TestTable: programs are sorted, valid, and described.
func TestTable(t *testing.T) {
	all := builtin.Programs()
	if !slices.IsSortedFunc(all,
		func(a, b engine.Registered) int { return cmp.Compare(a.Name, b.Name) }) {
		t.Error("the programs are not in alphabetical order")
	}
	for _, p := range all {
		if err := errors.Join(p.Check()...); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		if p.Help == "" || strings.Contains(p.Help, "\n") {
			t.Errorf("%s: the help is %q, want one line", p.Name, p.Help)
		}
		for _, q := range p.Parameters {
			if q.Help == "" {
				t.Errorf("%s: parameter %s has no help", p.Name, q.Name)
			}
		}
	}
}
