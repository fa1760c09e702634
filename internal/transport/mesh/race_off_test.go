//go:build !race

package mesh

const raced = false
