package mesh

import "golang.org/x/sys/unix"

const canScatter = true

// scatter reads into two places, the second when the first is full.
func scatter(fd uintptr, first, second []byte) (int, error) {
	for {
		n, err := unix.Readv(int(fd), [][]byte{first, second})
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}
