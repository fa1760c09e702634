package control

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
)

// newLane returns one side of a session.
func newLane(conn net.Conn) *Lane { return NewLane(conn, bufio.NewReader(conn)) }

// lanes returns the two sides of a session.
func lanes(t *testing.T) (*Lane, *Lane) {
	t.Helper()
	a, b := net.Pipe()
	left, right := newLane(a), newLane(b)
	t.Cleanup(func() { left.Close(); right.Close() })
	return left, right
}

func line(text string) *FromWorker {
	return &FromWorker{Body: &FromWorker_Leave{Leave: &Leave{Reason: text}}}
}

// TestLanesKeepOrder: the messages of each goroutine arrive intact, in the order of sending,
// exactly once.
func TestLanesKeepOrder(t *testing.T) {
	left, right := lanes(t)
	const senders, each = 5, 200
	var group sync.WaitGroup
	for s := range senders {
		group.Go(func() {
			for i := range each {
				m := line(fmt.Sprint(s, i, " ", strings.Repeat("x", i*i%5000)))
				if i%3 == 0 {
					for !left.Offer(m) {
						runtime.Gosched()
					}
				} else if err := left.Send(m); err != nil {
					t.Error(err)
				}
				m.GetLeave().Reason = "changed"
			}
		})
	}
	next := map[int]int{}
	for range senders * each {
		m := &FromWorker{}
		if err := right.Receive(m); err != nil {
			t.Fatal(err)
		}
		var s, i int
		text := m.GetLeave().GetReason()
		if _, err := fmt.Sscan(text, &s, &i); err != nil || i != next[s] ||
			strings.Count(text, "x") != i*i%5000 {
			t.Fatalf("after %d of sender %d came %.20q", next[s], s, text)
		}
		next[s]++
	}
	group.Wait()
}

// TestNumbersAreFinite: a message with a number that JSON cannot carry ends the session.
func TestNumbersAreFinite(t *testing.T) {
	for _, x := range []float64{1, math.MaxFloat64, -math.MaxFloat64, math.NaN(), math.Inf(1), math.Inf(-1)} {
		for name, m := range map[string]*FromWorker{
			"a field": {Body: &FromWorker_Report{Report: &Report{Body: &Report_Drive{Drive: &DriveReport{
				End: &RunEnd{Seconds: x},
			}}}}},
			"a list": {Body: &FromWorker_Report{Report: &Report{Body: &Report_Drive{Drive: &DriveReport{
				Graph500: &Graph500Result{Bfs: &KernelResult{Time: []float64{1, x}}},
			}}}}},
			"a list of messages": {Body: &FromWorker_Heartbeat{Heartbeat: &Heartbeat{
				Ways: []*Way{{Worker: "a"}, {Worker: "b", DelaySeconds: x}},
			}}},
		} {
			left, right := lanes(t)
			go func() { _ = left.Send(m) }()
			err := right.Receive(&FromWorker{})
			if refused := errors.As(err, new(*CodecError)); refused != (x-x != 0) {
				t.Errorf("%g in %s: found %v", x, name, err)
			}
		}
	}
}

// TestLanesAreBounded: if the other side does not read, Offer fails, and Send waits until the lane
// is closed.
func TestLanesAreBounded(t *testing.T) {
	left, right := lanes(t)
	m := line(strings.Repeat("x", 100<<10))
	offered := 0
	for left.Offer(m) {
		if offered++; offered > 100 {
			t.Fatal("10 MB wait to be sent")
		}
	}
	for range 8 { // more than the queue holds
		go left.Send(m)
	}
	sent := make(chan error)
	go func() {
		for {
			if err := left.Send(m); err != nil {
				sent <- err
				return
			}
		}
	}()
	select {
	case err := <-sent:
		t.Fatalf("a send without a receiver ended: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	right.Close()
	if err := <-sent; err == nil {
		t.Error("sent to a lane that is closed")
	}
	if left.Offer(m) {
		t.Error("offered to a lane that is closed")
	}
	large := line(strings.Repeat("x", MaxMessage+1))
	left, right = lanes(t)
	if err := left.Send(large); err == nil {
		t.Error("a message that is too large was sent")
	}
	go left.Send(line("small"))
	if err := right.Receive(m); err != nil || m.GetLeave().GetReason() != "small" {
		t.Errorf("after a message that is too large: %v", err)
	}
}

// TestLanesSayWhyTheyEnd: the reason arrives after all sent messages. A refusal arrives as a
// Refusal.
func TestLanesSayWhyTheyEnd(t *testing.T) {
	for _, why := range []error{errors.New("no more"), Refuse(Refusal_KIND_LAPSED,
		"worker %s is gone", "w1")} {
		left, right := lanes(t)
		go func() {
			_ = left.Send(line("last"))
			left.End(why)
			left.End(errors.New("again"))
		}()
		m := &FromWorker{}
		if err := right.Receive(m); err != nil || m.GetLeave().GetReason() != "last" {
			t.Errorf("%v: found %v", why, err)
		}
		err := right.Receive(m)
		var refused *RefusedError
		if errors.As(why, &refused) != (RefusalOf(err) == Refusal_KIND_LAPSED) ||
			Explain("x:1", err).Error() != why.Error() {
			t.Errorf("ended with %v, heard was %v", why, err)
		}
		if err := right.Receive(m); err != io.EOF {
			t.Errorf("after the end: %v", err)
		}
	}
}

func TestSessionsBegin(t *testing.T) {
	right := Token{text: "the-token-of-a-cluster"}
	turned := 0
	mux := http.NewServeMux()
	gate := &Gate{Credentials: Credentials{Token: right}, Refused: func(string, error) { turned++ }}
	mux.Handle(ChallengePath, Challenge(gate))
	mux.Handle("GET "+SessionPath, Sessions(gate, func(ctx context.Context, l *Lane) {
		m := &FromWorker{}
		if l.Receive(m) == nil {
			l.End(errors.New(m.GetLeave().GetReason()))
		}
	}))
	server := httptest.NewUnstartedServer(nil)
	server.Config = NewHTTPServer(mux, t.Context())
	server.Start()
	defer server.Close()
	address := server.Listener.Addr().String()
	begin := func(token Token) (*Lane, error) {
		c, err := Connect(address, Credentials{Token: token}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.Session(t.Context())
	}
	l, err := begin(right)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Send(line("hello")); err != nil {
		t.Fatal(err)
	}
	if err := l.Receive(&ToWorker{}); err == nil || err.Error() != "hello" {
		t.Errorf("found %v", err)
	}
	if _, err := begin(Token{text: "another-token-of-20"}); connect.CodeOf(err) != connect.CodeUnauthenticated || turned != 1 || !Final(err) {
		t.Errorf("with a wrong token: %v", err)
	}
	r, err := http.Get("http://" + address + SessionPath)
	if err != nil || r.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: %v, %v", r.Status, err)
	}
	r.Body.Close()
	q, _ := http.NewRequest(http.MethodGet, "http://"+address+SessionPath, nil)
	q.Header.Set("Authorization", "Bearer "+right.text)
	r, err = http.DefaultClient.Do(q)
	if err != nil || r.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("without an upgrade: %v, %v", r.Status, err)
	}
	r.Body.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	address = other.Listener.Addr().String()
	if _, err := begin(right); !Foreign(err) {
		t.Errorf("begin at a server that is not a master: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	c, _ := Connect(silent.Addr().String(), Credentials{Token: right}, nil)
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := c.Session(ctx); err == nil {
		t.Error("a session with a silent server")
	}
}

// FuzzLane reads arbitrary bytes from a peer.
func FuzzLane(f *testing.F) {
	good, _ := proto.Marshal(line("hello"))
	f.Add(append([]byte{0, 0, 0, 0, byte(len(good))}, good...))
	end, _ := proto.Marshal(&Refusal{Kind: Refusal_KIND_HELD, Text: "held"})
	f.Add(append([]byte{flagEnd, 0, 0, 0, byte(len(end))}, end...))
	f.Add([]byte{0, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		l := newLane(&readConn{Reader: bytes.NewReader(data)})
		n := 0
		for {
			if l.Receive(&FromWorker{}) != nil {
				break
			}
			n++
		}
		if n*prefixSize > len(data) {
			t.Errorf("%d messages in %d bytes", n, len(data))
		}
	})
}

// readConn is a connection that reads from Reader.
type readConn struct {
	net.Conn
	io.Reader
}

func (c *readConn) Read(p []byte) (int, error) { return c.Reader.Read(p) }
