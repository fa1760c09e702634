package mem

import (
	"runtime/debug"
	"testing"

	"github.com/superstep-go/superstep/internal/invariants"
)

// TestFreedArraysAreInaccessible writes into arrays after their arena was closed, when others have
// been made: built with -tags invariants each write faults, and nothing is written into another
// array.
func TestFreedArraysAreInaccessible(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("built without -tags invariants: what is freed may be another's at once")
	}
	for _, size := range []int{small, hugePage, 3*hugePage + 100} {
		var a, b Arena
		old := Make[byte](&a, size)
		a.Close()
		Make[byte](&b, size)
		for _, at := range []int{0, size / 2, size - 1} {
			if !faults(func() { old[at] = 1 }) {
				t.Errorf("byte %d of a freed array of %d bytes was written", at, size)
			}
		}
		b.Close()
	}
}

// faults reports whether a function touches memory that is not accessible.
func faults(touch func()) (fault bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { fault = recover() != nil }()
	touch()
	return false
}
