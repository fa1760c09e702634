//go:build race

package mesh

// raced is true under the race detector, which makes everything many times slower.
const raced = true
