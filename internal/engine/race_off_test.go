//go:build !race

package engine_test

// raced says that the race detector watches, under which everything takes many times as long.
const raced = false
