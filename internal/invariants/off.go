//go:build !invariants

package invariants

// Enabled reports whether checks run. Without the build tag invariants they do not, and cost
// nothing.
const Enabled = false
