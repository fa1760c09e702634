package mesh

import (
	"io"
	"net"
	"syscall"
	"time"
)

// intake reads a connection. It reads long payloads directly to their place, and the bytes behind
// them ahead into a buffer, with one system call if possible. Each read has a time limit.
type intake struct {
	conn   net.Conn
	limit  time.Duration
	raw    syscall.RawConn // nil: no reads into two places
	buffer []byte
	ahead  []byte // the unread part of buffer

	// Of the current read into two places.
	place  []byte
	n      int
	err    error
	attend func(fd uintptr) bool
}

// newIntake makes an intake that reads up to ahead bytes ahead.
func newIntake(c net.Conn, limit time.Duration, ahead int) *intake {
	k := &intake{conn: c, limit: limit, buffer: make([]byte, ahead)}
	if s, ok := c.(syscall.Conn); ok && canScatter {
		k.raw, _ = s.SyscallConn() // if this fails: one place at a time
	}
	k.attend = func(fd uintptr) bool {
		k.n, k.err = scatter(fd, k.place, k.buffer)
		return k.err != syscall.EAGAIN
	}
	return k
}

// Read fills to, unless fewer bytes are available. It waits only for the first.
func (k *intake) Read(to []byte) (int, error) {
	if len(to) == 0 {
		return 0, nil
	}
	if len(k.ahead) > 0 {
		n := copy(to, k.ahead)
		k.ahead = k.ahead[n:]
		return n, nil
	}
	if k.raw == nil && len(to) >= len(k.buffer) {
		_ = k.conn.SetReadDeadline(time.Now().Add(k.limit)) // on failure the read fails
		return k.conn.Read(to)
	}
	return k.fill(to)
}

// fill reads into to, and then ahead.
func (k *intake) fill(to []byte) (int, error) {
	_ = k.conn.SetReadDeadline(time.Now().Add(k.limit)) // on failure the read fails
	if k.raw == nil {
		n, err := k.conn.Read(k.buffer)
		k.ahead = k.buffer[:n]
		n = copy(to, k.ahead)
		k.ahead = k.ahead[n:]
		return n, err
	}
	k.place = to
	err := k.raw.Read(k.attend)
	k.place = nil
	switch {
	case err != nil:
		return 0, err
	case k.err != nil:
		return 0, callError("read", k.conn, k.err)
	case k.n == 0:
		return 0, io.EOF
	}
	n := min(k.n, len(to))
	k.ahead = k.buffer[:k.n-n]
	return n, nil
}

// callError returns the error of a system call as package net does.
func callError(op string, c net.Conn, err error) error {
	at := c.LocalAddr()
	return &net.OpError{Op: op, Net: at.Network(), Source: at, Addr: c.RemoteAddr(), Err: err}
}
