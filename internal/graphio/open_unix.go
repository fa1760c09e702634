//go:build unix

package graphio

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// toRead is how a file is opened to read it. A pipe that nobody has opened to write to is not
// waited for; that is awaitWriter's.
const toRead = os.O_RDONLY | unix.O_NONBLOCK

// readerPace is how long a pipe without a reader is left before it is tried again.
const readerPace = 20 * time.Millisecond

// openPipe opens a pipe to write to it. It waits for a reader until ctx ends.
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

// awaitWriter waits until a pipe that was opened has something in it, or had a writer that is gone,
// or its deadline is over: to read from one that nobody writes to yet gives its end.
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
