package mem

import (
	"runtime/debug"
	"testing"

	"github.com/superstep-go/superstep/internal/invariants"
)

// TestFreedArraysAreInaccessible writes to arrays of a closed arena after other arrays have been
// made. With -tags invariants each write faults, so no other array changes.
func TestFreedArraysAreInaccessible(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("built without -tags invariants: what is freed may be another's at once")
	}
	for _, size := range []int{minMap, hugePage, 3*hugePage + 100} {
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

// faults reports whether a function accesses inaccessible memory.
func faults(touch func()) (fault bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { fault = recover() != nil }()
	touch()
	return false
}
