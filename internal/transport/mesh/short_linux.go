package mesh

import (
	"syscall"
	"unsafe"
)

// shortBytes is the size up to which reads and writes are raw system calls: the kernel needs a few
// microseconds for them.
const shortBytes = 72 << 10

// Short reads and writes of non-blocking sockets are raw system calls, which Go's scheduler does
// not know of. Otherwise it prepares for a long call, and wakes its monitor (sysmon) at the first
// call after an idle time. With small messages between processes that is every call, and doubles
// their cost. This file uses package unsafe to pass the addresses of slices, which outlive the
// call.

// readShort reads into first, and then into second.
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
	return raw(syscall.SYS_READV, fd, unsafe.Pointer(&places), n)
}

// writeShort writes a prefix of b.
func writeShort(fd uintptr, b []byte) (int, error) {
	return raw(syscall.SYS_WRITE, fd, unsafe.Pointer(unsafe.SliceData(b)), len(b))
}

// raw makes a system call, again while a signal interrupts it.
func raw(call, fd uintptr, at unsafe.Pointer, n int) (int, error) {
	for {
		done, _, errno := syscall.RawSyscall(call, fd, uintptr(at), uintptr(n))
		switch errno {
		case 0:
			return int(done), nil
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}
