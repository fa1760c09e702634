package mesh

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/certs"
)

// protocol is what TLS calls what is spoken here, so that no other server of the cluster takes it
// for its own.
const protocol = "superstep-mesh"

// ErrCertificate is that the other side is no worker by its certificate.
var ErrCertificate = errors.New("no certificate of a worker")

// secured is a connection with TLS. It is closed without a word, as one without TLS is: whoever
// reads takes its end for a failure anyway.
type secured struct {
	*tls.Conn
	records *records
}

func (s *secured) Close() error { return s.records.Close() }

// writeAll writes pieces of memory. It takes as long as the other side takes any bytes; what was
// written in part is lost with the connection.
func (s *secured) writeAll(pieces net.Buffers) (n int64, err error) {
	s.records.hold()
	for _, p := range pieces {
		if _, err := s.Write(p); err != nil {
			return 0, err
		}
		n += int64(len(p))
	}
	if err := s.records.release(); err != nil {
		return 0, err
	}
	return n, nil
}

// heldRecords is how many bytes of records are written by one system call, and readRecords how many
// are read.
const (
	heldRecords = 128 << 10
	readRecords = 128 << 10
)

// records is what TLS writes to and reads from: the connection, but that records are collected
// while they are held, and that a write takes as long as the other side takes some bytes within
// patience. A write that ends in the middle for a deadline would break TLS.
type records struct {
	net.Conn
	patience time.Duration

	mu      sync.Mutex
	holding bool
	held    []byte

	ahead, buffer []byte // what was read and not taken, of the buffer
}

func (r *records) hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holding = true
	if r.held == nil {
		r.held = make([]byte, 0, heldRecords)
	}
}

// release writes what is held.
func (r *records) release() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holding = false
	return r.flush()
}

// flush writes what is held. The lock is held.
func (r *records) flush() error {
	err := r.put(r.held)
	r.held = r.held[:0]
	return err
}

func (r *records) put(p []byte) error {
	for len(p) > 0 {
		// If it cannot be set, the write fails.
		_ = r.Conn.SetWriteDeadline(time.Now().Add(r.patience))
		n, err := r.Conn.Write(p)
		p = p[n:]
		if err != nil && (n == 0 || !errors.Is(err, os.ErrDeadlineExceeded)) {
			return err
		}
	}
	return nil
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holding && len(r.held)+len(p) <= cap(r.held) {
		r.held = append(r.held, p...)
		return len(p), nil
	}
	if err := r.flush(); err != nil {
		return 0, err
	}
	if r.holding && len(p) < cap(r.held) {
		r.held = append(r.held, p...)
		return len(p), nil
	}
	return len(p), r.put(p)
}

// SetWriteDeadline does nothing: patience bounds writes.
func (r *records) SetWriteDeadline(time.Time) error { return nil }

// Read reads as much as there is at once: TLS itself asks for a record and little more.
func (r *records) Read(p []byte) (int, error) {
	if len(r.ahead) == 0 {
		if len(p) >= readRecords {
			return r.Conn.Read(p)
		}
		if r.buffer == nil {
			r.buffer = make([]byte, readRecords)
		}
		n, err := r.Conn.Read(r.buffer)
		if r.ahead = r.buffer[:n]; n == 0 {
			return 0, err
		}
	}
	n := copy(p, r.ahead)
	r.ahead = r.ahead[n:]
	return n, nil
}

// secure makes a connection to another worker one with TLS. The hello's deadline bounds it.
func (o *Options) secure(c net.Conn) (net.Conn, error) {
	if o.TLS == nil {
		return c, nil
	}
	below := &records{Conn: c, patience: o.Silence}
	s := &secured{tls.Client(below, o.TLS.Client("", certs.Worker, protocol)), below}
	var trust *certs.TrustError
	switch err := s.Handshake(); {
	case errors.As(err, &trust):
		return nil, fmt.Errorf("%w: %w", ErrCertificate, err)
	case err != nil:
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return s, nil
}

// accept makes a connection from another worker one with TLS. untrusted says why its certificate is
// none of a worker, which the other side is to be told.
func (o *Options) accept(c net.Conn) (secure net.Conn, untrusted, err error) {
	if o.TLS == nil {
		return c, nil, nil
	}
	below := &records{Conn: c, patience: o.Silence}
	s := &secured{tls.Server(below, o.TLS.Server(protocol)), below}
	if err := s.Handshake(); err != nil {
		return nil, nil, fmt.Errorf("TLS: %w", err)
	}
	state := s.ConnectionState()
	who, err := o.TLS.Identify(&state, nil)
	if err == nil {
		err = who.Need(certs.Worker)
	}
	if err != nil {
		untrusted = fmt.Errorf("%w: %w", ErrCertificate, err)
	}
	return s, untrusted, nil
}

// bare is a connection without TLS around it.
func bare(c net.Conn) net.Conn {
	if s, ok := c.(*secured); ok {
		return s.records.Conn
	}
	return c
}
