//go:build race

package testcluster

// raceEnabled reports whether the race detector is on: its own memory grows with what a process
// touches.
const raceEnabled = true
