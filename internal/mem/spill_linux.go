package mem

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const canSpill = true

// Magic numbers of file systems in memory (statfs(2)).
const (
	tmpfs = 0x01021994
	ramfs = 0x858458f6
)

func inMemory(dir string) bool {
	var s unix.Statfs_t
	return unix.Statfs(dir, &s) == nil && (int64(s.Type) == tmpfs || int64(s.Type) == ramfs)
}

// DiskRoom returns the free bytes and the size of a directory's file system, or 0 if unknown.
func DiskRoom(dir string) (free, total int64) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0, 0
	}
	return int64(s.Bavail) * s.Bsize, int64(s.Blocks) * s.Bsize
}

// spillFile maps a new zeroed file for reading and writing. It allocates the file's blocks now,
// because a write to the mapping of a full disk would kill the process. The file has no name, so
// nothing remains when the process ends.
func spillFile(dir string, bytes int) ([]byte, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		if fd, err = named(dir); err != nil {
			return nil, err
		}
	}
	defer unix.Close(fd)
	for {
		if err = unix.Fallocate(fd, 0, 0, int64(bytes)); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s has no room for %s: %w", dir, Text(int64(bytes)), err)
	}
	data, err := unix.Mmap(fd, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping %s of %s: %w", Text(int64(bytes)), dir, err)
	}
	return data, nil
}

// named makes a file and removes its name, for file systems without O_TMPFILE.
func named(dir string) (int, error) {
	f, err := os.CreateTemp(dir, ".superstep-spill-")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if err := os.Remove(filepath.Join(f.Name())); err != nil {
		return 0, err
	}
	return unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
}
