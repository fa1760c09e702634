//go:build invariants

package invariants

// Enabled says whether checks run: built with -tags invariants, they do.
const Enabled = true
