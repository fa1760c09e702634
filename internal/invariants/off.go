//go:build !invariants

package invariants

// Enabled says whether checks run: built without -tags invariants, they do not, and cost nothing.
const Enabled = false
