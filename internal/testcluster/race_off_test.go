//go:build !race

package testcluster

// raceEnabled reports whether the race detector is on. It uses more memory.
const raceEnabled = false
