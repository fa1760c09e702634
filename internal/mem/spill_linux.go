package mem

import (
	"errors"
	"fmt"
	"os"

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
// because a write to the mapping of a full disk would kill the process. The file's name is removed
// at once, so nothing remains when the process ends.
func spillFile(dir string, bytes int) ([]byte, error) {
	f, err := os.CreateTemp(dir, ".superstep-spill-")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return nil, err
	}
	fd := int(f.Fd())
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		err = unix.Fallocate(fd, 0, 0, int64(bytes))
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
