package mesh

import (
	"syscall"
	"unsafe"
)

// shortBytes is up to how many bytes are read or written so: they take the kernel a few
// microseconds.
const shortBytes = 72 << 10

// Short reads and writes of a socket that does not block are made without a word to Go's scheduler.
// It would expect that they may take long, and wake its monitor (sysmon) at the first of them after
// an idle while: with small messages between processes that is at each, and then as much work as
// the message. The file is unsafe because the kernel gets addresses of slices, which live longer
// than the call.

// readShort reads into two places, the second when the first is full.
func readShort(fd uintptr, first, second []byte) (int, error) {
	var places [2]syscall.Iovec
	n := 0
	for _, b := range [][]byte{first, second} {
		if len(b) > 0 {
			places[n].Base = unsafe.SliceData(b)
			places[n].SetLen(len(b))
			n++
		}
	}
	for {
		done, _, errno := syscall.RawSyscall(syscall.SYS_READV, fd,
			uintptr(unsafe.Pointer(&places)), uintptr(n))
		switch errno {
		case 0:
			return int(done), nil
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}

// writeShort writes the beginning of b.
func writeShort(fd uintptr, b []byte) (int, error) {
	for {
		done, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, fd,
			uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch errno {
		case 0:
			return int(done), nil
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}
