//go:build race

package mesh

// raced says that the race detector watches, under which everything takes many times as long.
const raced = true
