package mesh

import (
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// intake reads a connection. It reads long payloads directly to their place, and the bytes behind
// them ahead into a buffer, with one system call if possible. Each read has a time limit.
type intake struct {
	// turn is held by the goroutine that reads and handles what it has read. The reading goroutine
	// releases it while it waits for a chunk.
	turn   sync.Mutex
	conn   net.Conn
	limit  time.Duration
	raw    syscall.RawConn // nil: no reads into two places
	buffer []byte
	ahead  []byte // the unread part of buffer

	// Of the current read into two places.
	place   []byte
	n       int
	err     error
	attend  func(fd uintptr) bool
	await   func(fd uintptr) bool
	polled  bool             // await returned without the turn
	looking func(fd uintptr) // the method value look
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
	k.looking = k.look
	k.await = func(fd uintptr) bool {
		if k.polled = !k.turn.TryLock(); k.polled {
			return true
		}
		if k.look(fd); k.err != syscall.EAGAIN {
			return true
		}
		k.turn.Unlock()
		return false
	}
	return k
}

// look reads what has arrived ahead, unless something is.
func (k *intake) look(fd uintptr) {
	if k.n, k.err = 0, nil; len(k.ahead) == 0 && k.attend(fd) && k.err == nil {
		k.ahead = k.buffer[:k.n]
	}
}

// wait waits until something is ahead, and returns with the turn. On a connection without raw reads
// it does not wait.
func (k *intake) wait() error {
	if k.raw == nil {
		k.turn.Lock()
		return nil
	}
	_ = k.conn.SetReadDeadline(time.Now().Add(k.limit)) // on failure the read fails
	err := k.raw.Read(k.await)
	for err == nil && k.polled { // not in Read, which delays a poller that closes the connection
		if k.turn.Lock(); len(k.ahead) > 0 {
			return nil
		}
		k.turn.Unlock()
		err = k.raw.Read(k.await)
	}
	if err != nil {
		k.turn.Lock()
	} else if err = k.err; err != nil {
		err = callError("read", k.conn, err)
	}
	return err // at the end of the stream, Read returns an error
}

// poll reads what has arrived if read is true, without waiting, unless another goroutine has the
// turn. It returns with the turn and true if a whole chunk is ahead.
func (k *intake) poll(read bool) bool {
	if !k.turn.TryLock() {
		return false
	}
	if read && k.raw.Control(k.looking) == nil && k.n > 0 {
		_ = k.conn.SetReadDeadline(time.Now().Add(k.limit))
	}
	if wholeChunk(k.ahead) {
		return true
	}
	k.turn.Unlock() // the reading goroutine reads the rest
	return false
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
