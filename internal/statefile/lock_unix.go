//go:build unix

package statefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// TryLock locks a file until it is closed. The error is ErrLocked if another process has the lock.
func TryLock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// Open opens an existing file to lock it. It neither waits for a pipe nor follows a link.
func Open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
}

// private returns an error if another user owns a file, or if others have one of the permissions.
func private(path string, info fs.FileInfo, others fs.FileMode) error {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() {
		return fmt.Errorf("%s: found user %d as its owner, expected %d, who runs this", path, s.Uid,
			os.Geteuid())
	}
	if mode := info.Mode().Perm(); mode&others != 0 {
		return fmt.Errorf("%s: found mode %#o, which is open to others: chmod %#o it, or remove it",
			path, mode, mode&^0o077)
	}
	return nil
}

// full reports whether an error means that a disk, or the user's quota, is full.
func full(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// syncDir makes a rename durable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
