//go:build !invariants

package mem

import "golang.org/x/sys/unix"

func unmap(data []byte) { _ = unix.Munmap(data) }
