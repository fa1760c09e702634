package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"connectrpc.com/connect"
)

func TestLimiterCounts(t *testing.T) {
	l := newLimiter(nil, usual, nil)
	conn := func(host string) *counted {
		a, b := net.Pipe()
		t.Cleanup(func() { a.Close(); b.Close() })
		return &counted{Conn: a, limit: l, host: host, idle: time.AfterFunc(time.Hour, func() {})}
	}
	var busy []*counted
	for range usual.perHost {
		c := conn("a")
		if out, ok := l.admit(c); out != nil || !ok {
			t.Fatal("there is room")
		}
		l.mark(c, 1)
		known(requestOn(c))
		busy = append(busy, c)
	}
	if out, ok := l.admit(conn("a")); out == nil || ok {
		t.Error("a connection was admitted although all were busy")
	}
	l.mark(busy[7], -1)
	if out, ok := l.admit(conn("a")); out != busy[7] || !ok {
		t.Error("the idle connection was not closed")
	}
	for i := range usual.all - usual.perHost {
		c := conn(fmt.Sprint("b", i))
		if out, ok := l.admit(c); out != nil || !ok {
			t.Fatal("there is room for others")
		}
		l.mark(c, 1)
		l.mark(c, -1)
		known(requestOn(c))
	}
	if out, ok := l.admit(conn("c")); out == nil || out.host != "a" || !ok || len(l.open) != usual.all {
		t.Errorf("the host with the most did not make room; there are %d", len(l.open))
	}
	_ = busy[0].Close()
	_ = busy[0].Close()
	if len(l.open) != usual.all-1 {
		t.Errorf("%d are counted", len(l.open))
	}
}

// TestStrangersOfManyHostsGoFirst: one connection from each of many addresses does not push out
// known callers, idle or busy.
func TestStrangersOfManyHostsGoFirst(t *testing.T) {
	l := newLimiter(nil, limits{header: time.Hour, idle: time.Hour, perHost: 10, all: 10}, nil)
	conn := func(host string) *counted {
		a, b := net.Pipe()
		t.Cleanup(func() { a.Close(); b.Close() })
		c := &counted{Conn: a, limit: l, host: host, idle: time.AfterFunc(time.Hour, func() {})}
		if out, ok := l.admit(c); !ok || out != nil && out.known {
			t.Errorf("of %s: let in %t, put out %+v", host, ok, out)
		}
		return c
	}
	for i := range 2 {
		c := conn("worker")
		l.mark(c, 1)
		known(requestOn(c))
		l.mark(c, -i)
	}
	for i := range 20 {
		l.mark(conn(fmt.Sprint("stranger", i)), 1)
	}
	c := conn("client")
	l.mark(c, 1)
	known(requestOn(c))
	left := slices.DeleteFunc(slices.Clone(l.open),
		func(c *counted) bool { return c.host != "worker" })
	if len(left) != 2 || len(l.open) != 10 {
		t.Errorf("%d connections of the worker are left, of %d", len(left), len(l.open))
	}
}

// requestOn returns the context of a request on a connection.
func requestOn(c *counted) context.Context {
	return context.WithValue(context.Background(), connKey{}, &requested{counted: c})
}

// TestSlowStrangersPushNobodyOut: unknown callers send bodies byte by byte, and use up the limits
// of a host and of all hosts. Known callers still get in, and the log reports the strangers.
func TestSlowStrangersPushNobodyOut(t *testing.T) {
	token, err := NewToken("the-clusters-own-token", "test")
	if err != nil {
		t.Fatal(err)
	}
	bounds := usual
	bounds.perHost, bounds.all = 8, 8
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gate := &Gate{Credentials: Credentials{Token: token}}
	reading := make(chan bool, 100)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /enter", func(_ http.ResponseWriter, r *http.Request) {
		reading <- true
		_, _ = io.ReadAll(r.Body)
	})
	mux.Handle("GET /page",
		gate.Page(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "the page")
		}), Reading, false))
	server := newHTTPServer(mux, t.Context(), bounds)
	var turned atomic.Int32
	done := make(chan error, 1)
	go func() { done <- server.Serve(newLimiter(l, bounds, func(string) { turned.Add(1) })) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	for range 2 * bounds.all {
		c := dialled(t, l.Addr().String())
		_, _ = io.WriteString(c, "POST /enter HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
		<-reading
	}
	for range 3 {
		c := dialled(t, l.Addr().String())
		_ = c.SetDeadline(time.Now().Add(bounds.body / 2))
		_, _ = fmt.Fprintf(c,
			"GET /page HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", token.Secret())
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("found %v, %v", answer, err)
		}
	}
	if n := turned.Load(); n < int32(bounds.all) {
		t.Errorf("%d connections were reported, expected at least %d", n, bounds.all)
	}
}

// TestLimiterBoundsTheSilent: of connections that never send a request, from any number of hosts,
// the oldest are closed. Connections that have sent a request stay.
func TestLimiterBoundsTheSilent(t *testing.T) {
	l := newLimiter(nil,
		limits{header: time.Hour, idle: time.Hour, perHost: 3, all: 100, fresh: 5}, nil)
	var all []*counted
	for i := range 8 {
		a, b := net.Pipe()
		t.Cleanup(func() { a.Close(); b.Close() })
		c := &counted{Conn: a, limit: l, host: fmt.Sprint("h", i), idle: time.AfterFunc(time.Hour, func() {})}
		out, ok := l.admit(c)
		if i == 0 {
			l.mark(c, 1)
			l.mark(c, -1)
		}
		if all = append(all, c); !ok || (out != nil) != (i > 5) || out != nil && out != all[i-5] {
			t.Errorf("connection %d: put out %v, let in: %t", i, out, ok)
		}
	}
	silent := slices.DeleteFunc(slices.Clone(l.open), func(c *counted) bool { return c.asked })
	if len(l.open) != 6 || len(silent) != 5 {
		t.Errorf("found %d connections, %d of them silent, expected 6 and 5", len(l.open),
			len(silent))
	}
}

// served serves a cluster's handler at a listener with limits, and returns its address.
func served(t *testing.T, token Token, bounds limits) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	path, h := NewClusterHandler(UnimplementedClusterHandler{}, HandlerOptions()...)
	mux := http.NewServeMux()
	gate := &Gate{Credentials: Credentials{Token: token}}
	mux.Handle(path, gate.Service(h))
	mux.Handle("GET "+SessionPath, Sessions(gate, func(context.Context, *Lane) {}))
	mux.Handle(ChallengePath, Challenge(gate))
	new(Health).Handle(mux)
	server := newHTTPServer(mux, t.Context(), bounds)
	done := make(chan error, 1)
	go func() { done <- server.Serve(newLimiter(l, bounds, func(string) {})) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return l.Addr().String()
}

func dialled(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", address, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return c
}

const submitPath = "/superstep.control.v1.Cluster/SubmitJob"

// head returns the header of a call with a large body.
func head(token Token) string { return headOf(token, MaxMessage) }

func headOf(token Token, size int) string {
	return "POST " + submitPath +
		" HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/proto\r\nAuthorization: Bearer " + token.text +
		fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n", size)
}

// answered makes a call as a client with the token.
func answered(t *testing.T, address string, token Token) {
	t.Helper()
	c, err := Connect(address, Credentials{Token: token}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := c.Cluster.Status(ctx,
		&StatusRequest{}); connect.CodeOf(err) != connect.CodeUnimplemented ||
		!connect.IsWireError(err) {
		t.Errorf("with the token: %v", err)
	}
}

var rightToken = Token{text: "the-token-of-a-cluster"}

// TestTheHeadIsAnsweredWithoutAToken: a caller without the token is refused before it sends the
// body, in HTTP/1.1 and HTTP/2.
func TestTheHeadIsAnsweredWithoutAToken(t *testing.T) {
	bounds := usual
	bounds.body = time.Hour // nobody waits for it
	address := served(t, rightToken, bounds)
	for _, size := range []int{100, MaxMessage} {
		c := dialled(t, address)
		_, _ = io.WriteString(c, headOf(Token{text: "a-wrong-token-of-some"}, size))
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || answer.StatusCode != http.StatusUnauthorized {
			t.Fatalf("%d bytes: found %v, %v", size, answer, err)
		}
	}
	body, unsent := io.Pipe()
	defer unsent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+submitPath, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/proto")
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	answer, err := transport.RoundTrip(r)
	if err != nil || answer.StatusCode != http.StatusUnauthorized {
		t.Fatalf("by HTTP/2: found %v, %v", answer, err)
	}
	answer.Body.Close()
}

// TestBodiesOfStrangersTakeNoMemory sends bodies without their last byte on many connections.
func TestBodiesOfStrangersTakeNoMemory(t *testing.T) {
	address := served(t, rightToken, usual)
	before := heap()
	most := int64(0)
	body := make([]byte, MaxMessage-1)
	for range 20 {
		c := dialled(t, address)
		_, _ = io.WriteString(c, head(Token{text: "a-wrong-token-of-some"}))
		_ = c.SetWriteDeadline(time.Now().Add(30 * time.Millisecond))
		_, _ = c.Write(body) // the server closes the connection, or does not read
		most = max(most, heap()-before)
	}
	answered(t, address, rightToken)
	if most > 30<<20 {
		t.Errorf("they took %d MB", most>>20)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestConnectionsEnd: however slowly a caller sends, its connection is closed within limits, and
// others are answered meanwhile.
func TestConnectionsEnd(t *testing.T) {
	bounds := usual
	const bound = 4 * time.Second // a normal client's call takes less
	bounds.header, bounds.body, bounds.idle = bound, bound, bound
	address := served(t, rightToken, bounds)
	// with an empty SETTINGS frame
	preface := "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	begin := map[string]string{
		"nothing":               "",
		"half a head":           "GET /healthz HTTP/1.1\r\nHost: ",
		"half a head of a call": head(rightToken)[:100],
		"no body":               head(rightToken),
		"half a body":           head(rightToken) + strings.Repeat("x", 1000),
		"half a body, no token": head(Token{text: "a-wrong-token-of-some"}) +
			strings.Repeat("x", 1000),
		"one request":                    "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"HTTP/2, half a preface":         preface[:10],
		"HTTP/2, nothing else":           preface,
		"HTTP/2, half a frame":           preface + "\x00\x00\x10\x01\x04\x00\x00",
		"HTTP/2, a head that has no end": preface + "\x00\x00\x01\x01\x00\x00\x00\x00\x01\x82",
	}
	type slow struct {
		what string
		conn net.Conn
	}
	var all []slow
	for what, text := range begin {
		for range 5 {
			c := dialled(t, address)
			_, _ = io.WriteString(c, text)
			all = append(all, slow{what, c})
		}
	}
	// One connection keeps sending pings, which are not requests.
	pings := dialled(t, address)
	_, _ = io.WriteString(pings, preface)
	go func() {
		every := time.NewTicker(50 * time.Millisecond)
		defer every.Stop()
		for range every.C {
			if _, err := io.WriteString(pings,
				"\x00\x00\x08\x06\x00\x00\x00\x00\x00pingping"); err != nil {
				return
			}
		}
	}()
	all = append(all, slow{"HTTP/2, pings", pings})
	answered(t, address, rightToken)
	for _, s := range all {
		if _, err := io.Copy(io.Discard, s.conn); isTimeout(err) {
			t.Errorf("%s: the connection was not closed", s.what)
		}
	}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// TestManyConnectionsOfAHost: connections beyond the limit of a host push each other out, but no
// other call.
func TestManyConnectionsOfAHost(t *testing.T) {
	bounds := usual
	bounds.perHost = 16
	address := served(t, rightToken, bounds)
	var all []net.Conn
	for i := range 80 {
		c := dialled(t, address)
		all = append(all, c)
		if i%20 == 0 {
			answered(t, address, rightToken)
		}
	}
	for _, c := range all[:64-16] {
		if _, err := c.Read(make([]byte, 1)); err == nil || isTimeout(err) {
			t.Fatalf("an early connection was not closed: %v", err)
		}
	}
}

// TestLongAnswers: the time limit of a request does not end a long answer, also not the second one
// on a connection.
func TestLongAnswers(t *testing.T) {
	bounds := usual
	bounds.body = 250 * time.Millisecond
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := newHTTPServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
		case <-time.After(3 * bounds.body):
			_, _ = io.WriteString(w, r.Proto)
		}
	}), t.Context(), bounds)
	done := make(chan error, 1)
	go func() { done <- server.Serve(newLimiter(l, bounds, func(string) {})) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		transport := &http.Transport{Protocols: new(http.Protocols)}
		transport.Protocols.SetUnencryptedHTTP2(proto == "HTTP/2.0")
		transport.Protocols.SetHTTP1(proto == "HTTP/1.1")
		for range 2 {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
				"http://"+l.Addr().String(), strings.NewReader("a request"))
			if err != nil {
				t.Fatal(err)
			}
			var data []byte
			answer, err := transport.RoundTrip(r)
			if err == nil {
				data, err = io.ReadAll(answer.Body)
				answer.Body.Close()
			}
			if err != nil || string(data) != proto {
				t.Errorf("found %q, %v, expected %s", data, err, proto)
			}
		}
		transport.CloseIdleConnections()
	}
}

// TestBodiesAreBounded: bodies have a maximum size, except those of DeliverValues and PutObject in
// HTTP/2.
func TestBodiesAreBounded(t *testing.T) {
	for _, c := range []struct {
		major   int
		path    string
		bounded bool
	}{
		{2, WorkersDeliverValuesProcedure, false},
		{1, WorkersDeliverValuesProcedure, true},
		{2, WorkersPutObjectProcedure, false},
		{1, WorkersPutObjectProcedure, true},
		{2, WorkersRegisterProcedure, true},
	} {
		r := httptest.NewRequest(http.MethodPost, c.path, strings.NewReader("12345"))
		r.ProtoMajor = c.major
		var err error
		limits{size: 4}.handle(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, err = io.ReadAll(r.Body)
		})).ServeHTTP(httptest.NewRecorder(), r)
		if (err != nil) != c.bounded {
			t.Errorf("HTTP/%d, %s: found %v", c.major, c.path, err)
		}
	}
}

// deadlines records the read deadline that the handler has set.
type deadlines struct {
	http.ResponseWriter
	at time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.at = at
	return nil
}

// TestOnlyTheSenderOfAnObjectIsTimed: each part of an object has a deadline until it arrives. While
// the server stores the part, there is none: a slow disk does not fail the upload.
func TestOnlyTheSenderOfAnObjectIsTimed(t *testing.T) {
	w := &deadlines{ResponseWriter: httptest.NewRecorder()}
	reads := 0
	body := iotest.OneByteReader(readerFunc(func(b []byte) (int, error) {
		if left := time.Until(w.at); left <= 0 || left > storeSilence {
			t.Errorf("read %d: its deadline is in %v", reads, left)
		}
		reads++
		return len(b), nil
	}))
	r := httptest.NewRequest(http.MethodPost, WorkersPutObjectProcedure, io.LimitReader(body, 3))
	r.ProtoMajor = 2
	limits{size: 1}.handle(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		for b := make([]byte, 4); ; {
			n, err := r.Body.Read(b)
			if !w.at.IsZero() {
				t.Error("there is a deadline while nobody reads")
			}
			if n == 0 || err != nil {
				return
			}
		}
	})).ServeHTTP(w, r)
	if reads != 3 {
		t.Errorf("found %d reads, expected 3", reads)
	}
}

type readerFunc func(b []byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }
