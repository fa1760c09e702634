package control

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/superstep-go/superstep/internal/certs"
)

// A worker's session is a connection obtained from the master's HTTP port by Upgrade, with messages
// in both directions. Every superstep of a job waits for a command and a report, and on a stream of
// HTTP/2 these took up to twice as long. The format is that of a gRPC stream: a byte of flags, the
// length, and the message.
const (
	// SessionPath is the HTTP path where a session begins.
	SessionPath     = "/superstep.control.v1.Session"
	sessionProtocol = "superstep-session"
)

// flagEnd marks the last message of a side, a [Refusal] with the reason for the end.
const flagEnd = 2

// prefixSize is the size of a message's prefix: a byte of flags and the length, big-endian.
const prefixSize = 5

// maxPending bounds the bytes that are queued while others are sent.
const maxPending = 1 << 20

// endTimeout bounds the time to send the reason for the end.
const endTimeout = time.Second

// Lane is one side of a session. One goroutine receives, any goroutine may send. Messages keep
// their order.
type Lane struct {
	conn     net.Conn
	in       io.Reader
	body     []byte
	received atomic.Uint64 // bytes received

	mu      sync.Mutex
	room    sync.Cond
	pending []byte
	spare   []byte
	busy    bool // a goroutine is sending, and will also send pending
	ended   bool
	err     error
}

// NewLane makes a side of a session from a connection, which it takes over. in reads from the
// connection.
func NewLane(conn net.Conn, in *bufio.Reader) *Lane {
	l := &Lane{conn: conn}
	l.in = metered{in, &l.received}
	l.room.L = &l.mu
	return l
}

// Send sends a message, which the caller may change afterwards. It blocks while too much is queued
// and the lane is open. A failed write also ends Receive. But after a [CodecError] nothing was
// sent, and the session continues.
func (l *Lane) Send(m proto.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.pending) > maxPending && l.err == nil {
		l.room.Wait()
	}
	if err := l.add(0, m); err != nil || l.busy {
		return err
	}
	l.busy = true
	l.flush()
	return l.err
}

// Offer queues a message without blocking. It returns false if too much is queued, or the message
// cannot be sent.
func (l *Lane) Offer(m proto.Message) bool { return l.soon(m, maxPending/2) == nil }

// Post is Offer without a bound, for the few messages that must be sent before later ones.
func (l *Lane) Post(m proto.Message) error { return l.soon(m, math.MaxInt) }

var errBusy = errors.New("too many messages wait to be sent")

func (l *Lane) soon(m proto.Message, most int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) > most {
		return errBusy
	}
	if err := l.add(0, m); err != nil {
		return err
	}
	if !l.busy {
		l.busy = true
		go func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.flush()
		}()
	}
	return nil
}

// add appends a message to pending. The caller holds the lock.
func (l *Lane) add(flags byte, m proto.Message) error {
	switch {
	case l.err != nil:
		return l.err
	case l.ended:
		return net.ErrClosed
	}
	at := len(l.pending)
	data, err := proto.MarshalOptions{}.MarshalAppend(append(l.pending, flags, 0, 0, 0, 0), m)
	if err != nil {
		return &CodecError{fmt.Errorf("cannot encode a message: %w", cmp.Or(checkTexts(m), err))}
	}
	n := len(data) - at - prefixSize
	if n > MaxMessage {
		return &CodecError{fmt.Errorf("a message of %d bytes, of at most %d", n, MaxMessage)}
	}
	binary.BigEndian.PutUint32(data[at+1:], uint32(n))
	l.pending = data
	return nil
}

// flush sends pending until it is empty. The caller holds the lock, which is released during
// writes.
func (l *Lane) flush() {
	for len(l.pending) > 0 && l.err == nil {
		data := l.pending
		l.pending = l.spare[:0]
		l.mu.Unlock()
		_, err := l.conn.Write(data)
		l.mu.Lock()
		if l.spare = data; cap(data) > 2*maxPending {
			l.spare = nil
		}
		if err != nil && l.err == nil {
			l.err = err
			l.conn.Close() // ends Receive
		}
		l.room.Broadcast()
	}
	l.busy = false
	l.room.Broadcast()
}

// Receive reads the next message into m. If the other side has ended the session with a reason, the
// error is a *connect.Error with its [Refusal], or only has the text if the kind is unspecified.
// Without a reason it is io.EOF.
func (l *Lane) Receive(m proto.Message) error {
	var prefix [prefixSize]byte
	if _, err := io.ReadFull(l.in, prefix[:]); err != nil {
		return err
	}
	n := int(binary.BigEndian.Uint32(prefix[1:]))
	if flags := prefix[0]; flags != 0 && flags != flagEnd || n > MaxMessage {
		return &CodecError{fmt.Errorf("the session was broken: found flags %d, %d bytes", flags, n)}
	}
	if cap(l.body) < n {
		l.body = make([]byte, max(n, 1<<10))
	}
	body := l.body[:n]
	if _, err := io.ReadFull(l.in, body); err != nil {
		return fmt.Errorf("the session was cut off: %w", err)
	}
	if prefix[0] == flagEnd {
		var r Refusal
		if err := proto.Unmarshal(body, &r); err != nil {
			return &CodecError{fmt.Errorf("the session was broken: %w", err)}
		}
		if r.Kind == Refusal_KIND_UNSPECIFIED {
			return errors.New(r.Text)
		}
		return Wire(&RefusedError{Kind: r.Kind, Text: r.Text})
	}
	err := proto.Unmarshal(body, m)
	if err == nil && !finite(protoreflect.ValueOfMessage(m.ProtoReflect())) {
		err = errors.New("found a number that is infinite, or none")
	}
	if err != nil {
		return &CodecError{fmt.Errorf("the session was broken: %w", err)}
	}
	if cap(l.body) > 2*maxPending {
		l.body = nil
	}
	return nil
}

// finite reports whether all doubles of a message are finite, as JSON and sums require.
func finite(v protoreflect.Value) (ok bool) {
	ok = true
	switch x := v.Interface().(type) {
	case float64:
		ok = math.Abs(x) <= math.MaxFloat64
	case protoreflect.List:
		for i := 0; ok && i < x.Len(); i++ {
			ok = finite(x.Get(i))
		}
	case protoreflect.Message:
		x.Range(func(_ protoreflect.FieldDescriptor, field protoreflect.Value) bool {
			ok = finite(field)
			return ok
		})
	}
	return ok
}

// metered counts the bytes read.
type metered struct {
	io.Reader
	bytes *atomic.Uint64
}

func (c metered) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.bytes.Add(uint64(n))
	return n, err
}

// Received returns the number of bytes received so far. Even during a partial message, an increase
// shows that the other side is alive. Any goroutine may call it.
func (l *Lane) Received() uint64 { return l.received.Load() }

// End sends the reason for the end of the session, and closes the lane.
func (l *Lane) End(why error) {
	r := &Refusal{Text: Text(why.Error(), MaxText)}
	if refused, ok := errors.AsType[*RefusedError](why); ok {
		r.Kind = refused.Kind
	}
	l.mu.Lock()
	_ = l.conn.SetWriteDeadline(time.Now().Add(endTimeout))
	for l.busy && l.err == nil {
		l.room.Wait()
	}
	if l.add(flagEnd, r) == nil {
		l.ended, l.busy = true, true
		l.flush()
	}
	l.mu.Unlock()
	l.Close()
}

// Close closes the connection. It may be called again.
func (l *Lane) Close() { _ = l.conn.Close() }

// Sessions passes connections of workers' sessions to serve, which owns them until it returns. The
// context is the server's.
func Sessions(g *Gate, serve func(ctx context.Context, l *Lane)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := g.Allow(r, certs.Worker); err != nil {
			w.Header().Set(refusedHeader, "1")
			http.Error(w, errors.Unwrap(err).Error(), StatusOf(err))
			return
		}
		if r.Header.Get("Upgrade") != sessionProtocol {
			w.Header().Set("Upgrade", sessionProtocol)
			http.Error(w, "only workers may open sessions here", http.StatusUpgradeRequired)
			return
		}
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			http.Error(w, "sessions need HTTP/1.1", http.StatusHTTPVersionNotSupported)
			return
		}
		l := NewLane(conn, buffered.Reader)
		defer l.Close()
		_ = conn.SetDeadline(time.Time{})
		_, err = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n"+
			"Connection: Upgrade\r\nUpgrade: "+sessionProtocol+"\r\n\r\n")
		if err == nil {
			serve(r.Context(), l)
		}
	})
}

// Session opens a session with the master. ctx bounds only the opening.
func (c *Connection) Session(ctx context.Context) (*Lane, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if err := c.prove(ctx); err != nil {
		return nil, err
	}
	conn, err := c.open(ctx, http1)
	if err != nil {
		return nil, connect.NewError(connect.CodeUnavailable, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	l, err := c.upgrade(conn)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return l, nil
}

func (c *Connection) upgrade(conn net.Conn) (*Lane, error) {
	request, err := http.NewRequest(http.MethodGet, c.url+SessionPath, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", sessionProtocol)
	c.sign(request.Header)
	if err := request.Write(conn); err != nil {
		return nil, connect.NewError(connect.CodeUnavailable, err)
	}
	in := bufio.NewReaderSize(conn, 16<<10)
	response, err := http.ReadResponse(in, request)
	if err != nil {
		return nil, connect.NewError(connect.CodeUnavailable, err)
	}
	switch response.StatusCode {
	case http.StatusSwitchingProtocols:
		return NewLane(conn, in), nil
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, refusedBy(response)
	}
	return nil, connect.NewError(connect.CodeUnavailable,
		fmt.Errorf("the answer to a new session was %q", response.Status))
}
