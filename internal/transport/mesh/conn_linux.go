package mesh

import (
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// kernelRate returns a function that returns the number of bytes that the other side has
// acknowledged, and the kernel's delivery rate in bytes per second (tcpi_delivery_rate). It returns
// nil if the kernel has none for this connection.
func kernelRate(c net.Conn) func() (acked uint64, rate float64) {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	return func() (uint64, float64) { return ask(raw) }
}

func ask(raw syscall.RawConn) (acked uint64, rate float64) {
	_ = raw.Control(func(fd uintptr) { // fails if the connection is closed
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil {
			acked, rate = info.Bytes_acked, float64(info.Delivery_rate)
		}
	})
	return acked, rate
}

// kernelRoundTrip returns the least round trip time of a connection in the last minutes
// (tcpi_min_rtt), or 0 if unknown.
func kernelRoundTrip(tcp *net.TCPConn) (least time.Duration) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { // fails if the connection is closed
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil && info.Min_rtt != 1<<32-1 {
			least = time.Duration(info.Min_rtt) * time.Microsecond
		}
	})
	return least
}

// ownUser reports whether a process of the same user has the other end of a Unix socket
// (SO_PEERCRED).
func ownUser(c *net.UnixConn) (own bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) {
		peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		own = err == nil && int(peer.Uid) == os.Geteuid()
	})
	return own
}

const canScatter = true

// scatter reads into first, and then into second.
func scatter(fd uintptr, first, second []byte) (int, error) {
	if len(first)+len(second) <= shortBytes {
		return readShort(fd, first, second)
	}
	for {
		n, err := unix.Readv(int(fd), [][]byte{first, second})
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}
