//go:build !race

package engine_test

// raced tells whether the race detector is on, which makes everything many times slower.
const raced = false

// largeShape is the number of vertices of the largest random shapes.
const largeShape = 1000
