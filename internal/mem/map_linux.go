package mem

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a file. Its pages are in the system's page cache: processes that map the file share
// them, and the system can reclaim them.
func mapFile(a *Arena, f *os.File, size int) ([]byte, error) {
	data, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.regions = append(a.regions, region{data: data, used: size, file: true})
	a.mu.Unlock()
	return data, nil
}
