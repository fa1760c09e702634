//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package master

import (
	"os"
	"syscall"
)

// openLock opens a file that may be locked. What is there under its name may be anything: a pipe is not waited for, and a
// link not followed.
func openLock(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
}
