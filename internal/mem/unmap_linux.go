//go:build !invariants

package mem

import "golang.org/x/sys/unix"

// poisons tells whether MakeAny fills its arrays with a pattern.
const poisons = false

func unmap(data []byte) { _ = unix.Munmap(data) }
