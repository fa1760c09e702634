package netem

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"testing/iotest"
	"time"

	"go.uber.org/goleak"

	"github.com/superstep-go/superstep/internal/transport/mesh"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestLaggedConnectionsLag: lagged connections have the delay and lose nothing.
func TestLaggedConnectionsLag(t *testing.T) {
	const delay = 5 * time.Millisecond
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // an echo server
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.Copy(c, c)
	}()
	plain, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := Lag(plain, delay, nil)
	data := bytes.Repeat([]byte("there and back "), 20000)
	start := time.Now()
	go func() {
		if n, err := c.Write(data); n != len(data) || err != nil {
			t.Errorf("%d bytes written: %v", n, err)
		}
	}()
	got := make([]byte, len(data))
	if _, err := io.ReadFull(iotest.OneByteReader(c), got); err != nil || !bytes.Equal(got, data) {
		t.Errorf("other bytes came back: %v", err)
	}
	if took := time.Since(start); took < 2*delay {
		t.Errorf("it took %v", took)
	}
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Error(err)
	}
	if _, err := c.Read(got); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if _, err := c.Write(got); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// TestWiresAreShared: data on several connections take the sum of their times.
func TestWiresAreShared(t *testing.T) {
	w := NewWire(1e6)
	var ends []net.Conn
	for range 2 {
		a, b := net.Pipe()
		defer b.Close()
		go func() {
			buffer := make([]byte, 1<<16)
			for {
				if _, err := b.Read(buffer); err != nil {
					return
				}
			}
		}()
		ends = append(ends, Lag(a, 0, w))
	}
	start := time.Now()
	for range 5 {
		for _, c := range ends {
			if _, err := c.Write(make([]byte, 2000)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if left := w.carry(0).Sub(start); left < 20*time.Millisecond {
		t.Errorf("20 kB at 1 MB/s have left after %v", left)
	}
	for _, c := range ends {
		c.Close()
	}
}

// TestOnlyTheSlowAreSlow: one of three pairs of workers has a delay.
func TestOnlyTheSlowAreSlow(t *testing.T) {
	const delay = 20 * time.Millisecond
	w, err := Join(t.Context(), 3, mesh.Options{}, func(c net.Conn, from, to int) net.Conn {
		if from+to == 1 {
			return Lag(c, delay, nil)
		}
		return c
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	pingPong := func(from, to int) time.Duration {
		best := time.Hour
		for range 5 {
			start := time.Now()
			for _, way := range [][2]int{{from, to}, {to, from}} {
				if err := w.Sessions[way[0]].Link().Send(t.Context(), way[1], 1,
					[]byte("x")); err != nil {
					t.Fatal(err)
				}
				if data, err := w.Sessions[way[1]].Link().Receive(t.Context(), way[0],
					1); err != nil || string(data) != "x" {
					t.Fatalf("%q, %v", data, err)
				}
			}
			best = min(best, time.Since(start))
		}
		return best
	}
	if took := pingPong(1, 0); took < 2*delay {
		t.Errorf("0 and 1 take %v", took)
	}
	if took := min(pingPong(0, 2), pingPong(2, 1)); took >= 2*delay {
		t.Errorf("others take %v", took)
	}
}
