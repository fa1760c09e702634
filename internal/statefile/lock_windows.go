package statefile

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// TryLock locks a file until it is closed. The error is ErrLocked if another process has the lock.
func TryLock(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

// Open opens an existing file to lock it.
func Open(path string) (*os.File, error) { return os.Open(path) }

// private returns nil: access lists protect a user's profile, and modes have no meaning.
func private(string, fs.FileInfo, fs.FileMode) error { return nil }

// full reports whether an error means that a disk is full.
func full(err error) bool { return errors.Is(err, windows.ERROR_DISK_FULL) }

// syncDir does nothing: directories cannot be synced.
func syncDir(string) error { return nil }
