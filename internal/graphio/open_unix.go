//go:build unix

package graphio

import (
	"os"

	"golang.org/x/sys/unix"
)

// openInput opens a file to read it. A pipe that nobody has opened to write to is not waited for; that is awaitWriter's.
func openInput(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
}

// awaitWriter waits until a pipe that was opened has something in it, or had a writer that is gone, or its deadline is over:
// to read from one that nobody writes to yet gives its end.
func awaitWriter(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Read(func(fd uintptr) bool {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, 0)
		if err == unix.EINTR {
			return false
		}
		failed = err
		return err != nil || n > 0
	})
	if err != nil {
		return err
	}
	return failed
}
