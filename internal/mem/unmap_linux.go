//go:build !invariants

package mem

import "golang.org/x/sys/unix"

// poisons says that MakeAny overwrites its arrays.
const poisons = false

func unmap(data []byte) { _ = unix.Munmap(data) }
