package mesh

import (
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// tcpInfo returns the kernel's state of a connection, or nil if it is unknown.
func tcpInfo(c net.Conn) (info *unix.TCPInfo) {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	_ = raw.Control(func(fd uintptr) { // fails if the connection is closed
		found, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil {
			info = found
		}
	})
	return info
}

// kernelRate returns a function that returns the number of bytes that the other side has
// acknowledged, and the kernel's delivery rate in bytes per second (tcpi_delivery_rate). It returns
// nil if the kernel has none for this connection.
func kernelRate(c net.Conn) func() (acked uint64, rate float64) {
	if tcpInfo(c) == nil {
		return nil
	}
	return func() (uint64, float64) {
		info := tcpInfo(c)
		if info == nil {
			return 0, 0
		}
		return info.Bytes_acked, float64(info.Delivery_rate)
	}
}

// kernelRoundTrip returns the least round trip time of a connection in the last minutes
// (tcpi_min_rtt), or 0 if unknown.
func kernelRoundTrip(c net.Conn) time.Duration {
	info := tcpInfo(c)
	if info == nil || info.Min_rtt == 1<<32-1 {
		return 0
	}
	return time.Duration(info.Min_rtt) * time.Microsecond
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
