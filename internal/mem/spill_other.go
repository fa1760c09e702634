//go:build !linux

package mem

import "errors"

const canSpill = false

func inMemory(string) bool { return false }

func spillFile(string, int) ([]byte, error) {
	return nil, errors.New("files cannot be mapped to be written on this system")
}

// DiskRoom returns 0, which means unknown.
func DiskRoom(string) (free, total int64) { return 0, 0 }
