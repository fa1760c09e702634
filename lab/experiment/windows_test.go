package experiment

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/iotest"
	"time"
)

// TestNoStreamBeatsItsWindow: a window, or the message of a rendezvous, goes at most once each time there and back. What is
// measured includes the last answer, so that it is less.
func TestNoStreamBeatsItsWindow(t *testing.T) {
	r := small(t, "windows", LeastScale)
	table := r.Tables[0]
	if len(table.Rows) != 4*len(links) {
		t.Fatalf("%d rows", len(table.Rows))
	}
	for _, cells := range table.Rows {
		x := table.one(t, cells[0], cells[1])
		least := roundTrip.Seconds()
		if name := x["link"].(string); name == "rendezvous" {
			least *= float64(x.int("messages") + 1)
		} else if total := x.int("message") * x.int("messages"); total > 4<<20 {
			for _, l := range links {
				if l.name == name { // what is under way when the first room comes back; some of it may be in the sender's hands
					least *= max(1, float64(total-2*l.window)/float64(l.window))
				}
			}
		}
		if x.float("seconds_low") < least {
			t.Errorf("%v: it must take %g s", x, least)
		}
	}
}

// TestLaggedConnectionsLag, and lose nothing.
func TestLaggedConnectionsLag(t *testing.T) {
	const delay = 5 * time.Millisecond
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // says everything back
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
	c := lag(plain, delay, nil)
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

// TestBothEndTogether: one failure ends the other, and is what is told.
func TestBothEndTogether(t *testing.T) {
	wrong := errors.New("wrong")
	waits := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	fails := func(context.Context) error { return wrong }
	for _, err := range []error{both(t.Context(), waits, fails), both(t.Context(), fails, waits)} {
		if !errors.Is(err, wrong) {
			t.Error(err)
		}
	}
}
