//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package master

import (
	"os"
	"syscall"
)

// tryLock locks a file until it is closed, and reports whether nobody else had.
func tryLock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
