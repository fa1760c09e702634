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

// A worker's session is a connection that the master's port hands over (HTTP's Upgrade), and on it
// message after message both ways. Every superstep of a job waits for a command and a report; as a
// stream of HTTP/2 these took up to twice the time. A message is what it is on a stream of gRPC: a
// byte of flags, its length, and itself.
const (
	// SessionPath is where a session begins.
	SessionPath     = "/superstep.control.v1.Session"
	sessionProtocol = "superstep-session"
)

// flagEnd marks a side's last message, a [Refusal], which says why it ends the session.
const flagEnd = 2

// prefixSize is how long a message's prefix is: a byte of flags and the length, big-endian.
const prefixSize = 5

// maxPending bounds the bytes that wait while others are being sent.
const maxPending = 1 << 20

// endTimeout bounds how long it is tried to say why a session ends.
const endTimeout = time.Second

// Lane is a side of a session. One goroutine receives; any may send. Messages go in the order in
// which they were given.
type Lane struct {
	conn     net.Conn
	in       io.Reader
	body     []byte
	received atomic.Uint64 // bytes

	mu           sync.Mutex
	room         sync.Cond
	pending      []byte
	spare        []byte
	busy         bool // someone sends, and takes along what is pending
	ended        bool
	err          error
	closeOnce    sync.Once
	closeOutcome error
}

// NewLane makes a side of a session of a connection, which is the lane's from then on; in reads
// from it.
func NewLane(conn net.Conn, in *bufio.Reader) *Lane {
	l := &Lane{conn: conn}
	l.in = metered{in, &l.received}
	l.room.L = &l.mu
	return l
}

// Send sends a message, which may be changed when it returns. While much waits to be sent it waits
// too, until the lane is closed at the latest. That a message could not be sent, the one who
// receives learns as well, unless it is a [CodecError]: then nothing of it was sent, and the
// session goes on.
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

// Offer sends a message soon, and does not wait. It reports false if too much waits already.
func (l *Lane) Offer(m proto.Message) bool { return l.soon(m, maxPending/2) == nil }

// Post is Offer, however much waits: for the few messages that have to come before later ones.
func (l *Lane) Post(m proto.Message) error { return l.soon(m, math.MaxInt) }

var errBusy = errors.New("too much waits to be sent")

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

// add appends a message to what is pending. The lock is held.
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
		return &CodecError{fmt.Errorf("a message that cannot be encoded: %w", cmp.Or(checkTexts(m), err))}
	}
	n := len(data) - at - prefixSize
	if n > MaxMessage {
		return &CodecError{fmt.Errorf("a message of %d bytes, of at most %d", n, MaxMessage)}
	}
	binary.BigEndian.PutUint32(data[at+1:], uint32(n))
	l.pending = data
	return nil
}

// flush sends what is pending until nothing is. The lock is held, but not while it writes.
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
			l.conn.Close() // who receives learns of it
		}
		l.room.Broadcast()
	}
	l.busy = false
	l.room.Broadcast()
}

// Receive reads the next message into m. Why the other side ended the session is a *connect.Error
// with its [Refusal], or io.EOF if it did not say.
func (l *Lane) Receive(m proto.Message) error {
	var prefix [prefixSize]byte
	if _, err := io.ReadFull(l.in, prefix[:]); err != nil {
		return err
	}
	n := int(binary.BigEndian.Uint32(prefix[1:]))
	if flags := prefix[0]; flags != 0 && flags != flagEnd || n > MaxMessage {
		return &CodecError{fmt.Errorf("the session was broken: found a message with flags %d of %d bytes", flags, n)}
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

// finite reports whether all numbers of a message are finite, as JSON and sums need them.
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

// metered counts the bytes that are read.
type metered struct {
	io.Reader
	bytes *atomic.Uint64
}

func (c metered) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.bytes.Add(uint64(n))
	return n, err
}

// Received is how many bytes have come so far: of a message that is under way, a sign that the
// other side lives. Any goroutine may ask.
func (l *Lane) Received() uint64 { return l.received.Load() }

// End says why the session ends, and closes the lane.
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

// Close ends what is sent and received.
func (l *Lane) Close() error {
	l.closeOnce.Do(func() { l.closeOutcome = l.conn.Close() })
	return l.closeOutcome
}

// Sessions hands the connections of workers' sessions over to serve, which has them until it
// returns. The context is the server's.
func Sessions(g *Gate, serve func(ctx context.Context, l *Lane)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := g.Allow(r, certs.Worker); err != nil {
			w.Header().Set(refusedHeader, "1")
			http.Error(w, errors.Unwrap(err).Error(), StatusOf(err))
			return
		}
		if r.Header.Get("Upgrade") != sessionProtocol {
			w.Header().Set("Upgrade", sessionProtocol)
			http.Error(w, "workers have their sessions here", http.StatusUpgradeRequired)
			return
		}
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			http.Error(w, "sessions begin by HTTP/1.1", http.StatusHTTPVersionNotSupported)
			return
		}
		l := NewLane(conn, buffered.Reader)
		defer l.Close()
		_ = conn.SetDeadline(time.Time{})
		_, err = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+sessionProtocol+"\r\n\r\n")
		if err == nil {
			serve(r.Context(), l)
		}
	})
}

// Session begins a session with the master. ctx bounds that alone.
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
	return nil, connect.NewError(connect.CodeUnavailable, fmt.Errorf("a session was answered %q", response.Status))
}
