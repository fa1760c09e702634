//go:build unix

package graphio

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// toRead is the flag to open a file for reading. With O_NONBLOCK, opening a pipe does not wait for
// a writer; awaitWriter does.
const toRead = os.O_RDONLY | unix.O_NONBLOCK

// readerPace is the time between two attempts to open a pipe without a reader.
const readerPace = 20 * time.Millisecond

// openPipe opens a pipe for writing. It waits for a reader until ctx ends.
func openPipe(ctx context.Context, path string) (*os.File, error) {
	t := time.NewTicker(readerPace)
	defer t.Stop()
	for {
		f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0)
		if !errors.Is(err, unix.ENXIO) {
			return f, err
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// awaitWriter waits until an open pipe has data, or had a writer that closed it, or its deadline
// expires. Without waiting, reading a pipe without a writer would return the end of file.
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
	return cmp.Or(err, failed)
}
