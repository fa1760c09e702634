// Package invariants has checks of invariants inside the engine. The build tag invariants compiles
// them in, for tests only, because they would slow down runs.
package invariants

import "fmt"

// Check panics with the text if ok is false. Callers test Enabled first, so that a normal build
// does not compute ok.
func Check(ok bool, format string, args ...any) {
	if !ok {
		panic("invariant broken: " + fmt.Sprintf(format, args...))
	}
}
