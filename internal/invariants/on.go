//go:build invariants

package invariants

// Enabled reports whether checks run. With the build tag invariants they do.
const Enabled = true
