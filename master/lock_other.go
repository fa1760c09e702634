//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package master

import "os"

// openLock opens a file that may be locked.
func openLock(path string) (*os.File, error) { return os.Open(path) }
