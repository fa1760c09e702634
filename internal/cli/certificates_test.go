package cli

import (
	"maps"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/builtin"
)

// TestCertificates: every built-in program has a certificate, and no other program has one.
func TestCertificates(t *testing.T) {
	var want []string
	for _, p := range builtin.Programs() {
		want = append(want, p.Name)
	}
	if got := slices.Sorted(maps.Keys(certificates)); !slices.Equal(got, want) {
		t.Errorf("there are certificates for %v, want %v", got, want)
	}
}
