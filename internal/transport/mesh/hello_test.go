package mesh

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestWrongTokenIsRefused(t *testing.T) {
	meshes, peers := cluster(t, 2, func(i int, o *Options) {
		o.TCP = true // with a Unix socket first, it would be refused twice
		if i == 1 {
			o.Token = "another"
		}
	})
	start := time.Now()
	err := meshes[1].Connect(t.Context(), peers)
	if !errors.Is(err, ErrToken) || time.Since(start) > 30*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
	if want := "connecting worker w1 to worker w0: refused by worker w0: wrong cluster token"; err.Error() != want {
		t.Errorf("%q", err)
	}
	until(t, func() bool { return meshes[0].Stats().WrongToken == 1 })
	if _, err := meshes[1].Open(t.Context(), 1, 1, dealt(peers, 2), nil); !errors.Is(err,
		ErrToken) {
		t.Error(err)
	}
}

// until waits for an effect of another goroutine.
func until(t testing.TB, done func() bool) {
	t.Helper()
	begin := time.Now()
	for tick := time.NewTicker(time.Millisecond); !done(); <-tick.C {
		if time.Since(begin) > time.Minute {
			t.Fatal("it did not happen")
		}
	}
}

func TestWrongVersionIsRefusedWithBothVersions(t *testing.T) {
	plainly(t)
	meshes, peers := cluster(t, 1, nil)
	c, err := net.Dial("tcp", peers[0].Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// version 9 has another body
	hello := append([]byte(helloMagic), 9, 0, 0, 0, 3, 0, 'a', 'b', 'c')
	c.Write(hello)
	c.SetDeadline(time.Now().Add(time.Minute))
	answer, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	if reason := string(answer[blockHeader:]); !strings.Contains(reason, "version 9") ||
		!strings.Contains(reason, fmt.Sprint("version ", Version)) {
		t.Errorf("refused with %q", reason)
	}
	until(t, func() bool { return meshes[0].Stats().WrongVersion == 1 })
}

func TestDiallerNamesBothVersions(t *testing.T) {
	plainly(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err == nil {
			c.Write(append([]byte(helloMagic), 9, 0, 1, 0, 3, 0, 'a', 'b', 'c'))
			io.Copy(io.Discard, c)
			c.Close()
		}
	}()
	meshes, _ := cluster(t, 1, nil)
	err = meshes[0].Connect(t.Context(), []Peer{{"other", l.Addr().String(), 5}})
	if !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(),
		fmt.Sprint("worker other has version 9, this worker has version ", Version)) {
		t.Error(err)
	}
}

func TestTokenDoesNotTravel(t *testing.T) {
	plainly(t)
	var wire bytes.Buffer
	meshes, peers := cluster(t, 2, func(_ int, o *Options) {
		o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, address)
			return recorded{c, &wire}, err
		}
	})
	if err := meshes[0].Connect(t.Context(), peers[1:]); err != nil {
		t.Fatal(err)
	}
	meshes[0].Close()
	if !bytes.Contains(wire.Bytes(), []byte("w0")) || bytes.Contains(wire.Bytes(), []byte(token)) {
		t.Errorf("%q", wire.Bytes())
	}
}

// recorded is a connection that records its writes.
type recorded struct {
	net.Conn
	to *bytes.Buffer
}

func (r recorded) Write(b []byte) (int, error) {
	r.to.Write(b)
	return r.Conn.Write(b)
}

// TestReplayedProof dials with a valid proof of another connection.
func TestReplayedProof(t *testing.T) {
	plainly(t)
	_, peers := cluster(t, 1, nil)
	self := newGreeting("eve", 1)
	other := newGreeting(peers[0].Name, peers[0].Incarnation)
	proof := prove(token, "dial", self.body, other.body, nil)
	c, err := net.Dial("tcp", peers[0].Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	writeBlock(c, statusGo, self.body)
	if _, err := readBlock(c, "it"); err != nil {
		t.Fatal(err)
	}
	writeBlock(c, statusGo, proof)
	if _, err := readBlock(c, "it"); !errors.Is(err, ErrToken) {
		t.Error(err)
	}
}

func TestOldIncarnationIsFenced(t *testing.T) {
	plainly(t)
	meshes, peers := cluster(t, 1, nil)
	again := func(incarnation uint64) error {
		m, err := New(Options{Name: "b", Incarnation: incarnation, Token: token, TCP: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		return m.Connect(t.Context(), peers)
	}
	if err := again(5); err != nil {
		t.Fatal(err)
	}
	if err := again(4); !errors.Is(err, ErrFenced) ||
		!strings.Contains(err.Error(), "found incarnation 4, expected 5 or later") {
		t.Error(err)
	}
	if err := again(6); err != nil {
		t.Error(err)
	}
	peers[0].Incarnation++ // the peer now has another incarnation than expected
	m, _ := cluster(t, 1, func(_ int, o *Options) { o.Name = "c" })
	if err := m[0].Connect(t.Context(), peers); !errors.Is(err, ErrFenced) {
		t.Error(err)
	}
	until(t, func() bool { return meshes[0].Stats().Fenced == 1 })
}

func TestGarbageIsClosedSoon(t *testing.T) {
	meshes, peers := cluster(t, 1, func(_ int, o *Options) { o.Hello = 200 * time.Millisecond })
	r := rand.New(rand.NewPCG(1, 1))
	const tries = 300
	for i := range tries {
		c, err := net.Dial("tcp", peers[0].Addr)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, r.IntN(100))
		for j := range b {
			b[j] = byte(r.Uint32())
		}
		switch i % 4 {
		case 0:
			b = append([]byte(helloMagic+string([]byte{Version, 0, 0, 0})), b...)
		case 1:
			b = []byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		case 2:
			b = append(binary.LittleEndian.AppendUint16([]byte(helloMagic+
				string([]byte{Version, 0, 0, 0})), 8+nonceSize+1), make([]byte, 8+nonceSize+1)...)
		}
		c.Write(b)
		if i%10 == 0 { // otherwise the other side's reset may cut it
			c.SetReadDeadline(time.Now().Add(time.Minute))
			if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%q keeps its connection", b)
			}
		}
		c.Close()
	}
	until(t, func() bool { return meshes[0].Stats().Garbage == tries })
}

func TestHalfOpenConnectionsAreBounded(t *testing.T) {
	meshes, peers := cluster(t, 2, nil)
	for range maxPending + 20 {
		c, err := net.Dial("tcp", peers[0].Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	until(t, func() bool { return meshes[0].Stats().Garbage >= 20 })
	if err := meshes[1].Connect(t.Context(), peers); err != nil {
		t.Errorf("with many half-open connections: %v", err)
	}
	meshes[0].mu.Lock()
	defer meshes[0].mu.Unlock()
	if n := len(meshes[0].pending); n > maxPending {
		t.Errorf("%d connections in their hello", n)
	}
}

func TestSilentDiallerIsClosedAfterFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		m, err := New(Options{Name: "a", Token: token, Listener: l})
		if err != nil {
			t.Fatal(err)
		}
		here, there := net.Pipe()
		l.accept <- there
		start := time.Now()
		here.Read(make([]byte, 1))
		if d := time.Since(start); d != 5*time.Second {
			t.Errorf("closed after %v", d)
		}
		m.Close()
	})
}

// pipes is a listener for connections that the test makes.
type pipes struct {
	accept chan net.Conn
	done   chan struct{}
}

func newPipes() *pipes { return &pipes{accept: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { close(p.done); return nil }

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)} }

func TestATokenIsNeeded(t *testing.T) {
	if m, err := New(Options{Name: "a"}); err == nil ||
		!strings.Contains(err.Error(), "neither TLS nor a token") {
		m.Close()
		t.Errorf("it listens without secrets: %v", err)
	}
	if m, err := New(Options{Name: "a\n", Chunk: maxChunk + 1, Token: token}); err == nil {
		m.Close()
		t.Error("nonsense is taken")
	}
}

func TestListenerThatAnswersNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	meshes, _ := cluster(t, 1, func(_ int, o *Options) { o.Hello = 50 * time.Millisecond })
	err = meshes[0].Connect(t.Context(), []Peer{{"mute", l.Addr().String(), 1}})
	if err == nil || !strings.Contains(err.Error(), "worker mute") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if err := meshes[0].Connect(ctx, []Peer{{"mute", l.Addr().String(), 1}}); err == nil {
		t.Error("it connects though its context ended")
	}
}

func FuzzHello(f *testing.F) {
	self := newGreeting("a", 1)
	other := newGreeting("b", 2)
	var good bytes.Buffer
	writeBlock(&good, statusGo, other.body)
	f.Add(good.Bytes())
	f.Add([]byte(helloMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := struct {
			io.Reader
			io.Writer
		}{bytes.NewReader(b), io.Discard}
		if g, err := listenHello(c, token, self, 1, nil, func(greeting) error { return nil }); err == nil {
			t.Errorf("%x is let in as %v", b, g)
		}
		if _, err := dialHello(c, token, self, Peer{Name: "b"}, true); err == nil {
			t.Errorf("%x is believed", b)
		}
		_ = fmt.Sprint(refusal("worker x", string(b)))
	})
}
