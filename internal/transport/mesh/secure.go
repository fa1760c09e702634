package mesh

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/certs"
)

// protocol is the name of the protocol in TLS (ALPN), so that no other server of the cluster
// accepts the connection.
const protocol = "superstep-mesh"

// ErrCertificate means that the other side has no worker's certificate.
var ErrCertificate = errors.New("no certificate of a worker")

// secured is a connection with TLS. Close sends no TLS alert: readers treat any end as a failure
// anyway.
type secured struct {
	*tls.Conn
	records *records
}

func (s *secured) Close() error { return s.records.Close() }

// writeAll writes pieces of memory. It waits as long as the other side accepts bytes. After a
// partial write the connection is unusable.
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

// recordBytes is the number of bytes of records that one system call reads or writes.
const recordBytes = 128 << 10

// records is the connection below TLS. It collects written records while they are held, and reads
// as much as is available: TLS itself would read little more than a record.
type records struct {
	net.Conn
	reader *bufio.Reader
	out    patient

	mu   sync.Mutex
	held *bufio.Writer // nil until records are held for the first time
	// records are held; otherwise held is empty
	holding bool
}

func newRecords(c net.Conn, patience time.Duration) *records {
	return &records{
		Conn: c, reader: bufio.NewReaderSize(c, recordBytes), out: patient{c, patience},
	}
}

func (r *records) Read(p []byte) (int, error) { return r.reader.Read(p) }

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holding {
		return r.held.Write(p)
	}
	return r.out.Write(p)
}

func (r *records) hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holding = true; r.held == nil {
		r.held = bufio.NewWriterSize(r.out, recordBytes)
	}
}

// release writes the held records.
func (r *records) release() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holding = false
	return r.held.Flush()
}

// SetWriteDeadline does nothing: patience bounds writes.
func (r *records) SetWriteDeadline(time.Time) error { return nil }

// patient writes to a connection. A write may take any time if the other side accepts some bytes
// within patience, because a write that a deadline interrupts would break TLS.
type patient struct {
	conn     net.Conn
	patience time.Duration
}

func (w patient) Write(p []byte) (written int, err error) {
	for written < len(p) {
		// on failure the write fails
		_ = w.conn.SetWriteDeadline(time.Now().Add(w.patience))
		n, err := w.conn.Write(p[written:])
		written += n
		if err != nil && (n == 0 || !errors.Is(err, os.ErrDeadlineExceeded)) {
			return written, err
		}
	}
	return written, nil
}

// secure adds TLS to a connection to another worker. The hello's deadline bounds it.
func (o *Options) secure(c net.Conn) (net.Conn, error) {
	if o.TLS == nil {
		return c, nil
	}
	below := newRecords(c, o.Silence)
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

// accept adds TLS to a connection from another worker. untrusted is the reason why its certificate
// is not a worker's; the hello sends it to the other side.
func (o *Options) accept(c net.Conn) (secure net.Conn, untrusted, err error) {
	if o.TLS == nil {
		return c, nil, nil
	}
	below := newRecords(c, o.Silence)
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

// bare returns a connection without the TLS around it.
func bare(c net.Conn) net.Conn {
	if s, ok := c.(*secured); ok {
		return s.records.Conn
	}
	return c
}
