// Package invariants has the checks of what must hold inside the engine. They are compiled in by
// -tags invariants, for tests: what they cost would show in a run.
package invariants

import "fmt"

// Check panics with the text if ok is false. Callers guard it, and what it takes to compute ok,
// with Enabled.
func Check(ok bool, format string, args ...any) {
	if !ok {
		panic("invariant broken: " + fmt.Sprintf(format, args...))
	}
}
