package netbench

import (
	"context"
	"net"
	"testing"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/testcluster/memlink"
)

// pairs returns the benches of two ranks.
func pairs(t *testing.T) [2]*bench {
	t.Helper()
	var both [2]*bench
	m := memlink.New(2, nil)
	for rank := range both {
		g, err := collective.NewGroup(m.Link(rank), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		both[rank] = &bench{Options: Options{Raw: "127.0.0.1:0"}, g: g}
	}
	return both
}

// TestOthersAreNotMeasured: a connection without the secret is closed, and the listener waits for
// rank 0.
func TestOthersAreNotMeasured(t *testing.T) {
	both := pairs(t)
	heard := make(chan string, 1)
	go func() {
		why, err := both[1].listen(t.Context())
		if err != nil {
			why = err.Error()
		}
		heard <- why
	}()
	told, err := both[0].g.Link().Receive(t.Context(), 1, tag)
	if err != nil {
		t.Fatal(err)
	}
	address := string(told[secretSize:])
	other, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Write(make([]byte, secretSize)); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Read(make([]byte, 1)); err == nil {
		t.Error("another process was answered")
	}
	// send it again, for dial
	if err := both[1].g.Link().Send(t.Context(), 0, tag, told); err != nil {
		t.Fatal(err)
	}
	if why, err := both[0].dial(t.Context(), 1); why != "" || err != nil {
		t.Errorf("dial: %s, %v", why, err)
	}
	defer both[0].disconnect()
	if why := <-heard; why != "" {
		t.Errorf("listen: %s", why)
	}
	both[1].disconnect()
}

// TestRawConnectionMayBeGoneWhenTheContextEnds: the context may end after the connection is closed.
func TestRawConnectionMayBeGoneWhenTheContextEnds(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	b := &bench{raw: near}
	ctx, cancel := context.WithCancel(t.Context())
	stop := b.bound(ctx)
	b.disconnect()
	cancel()
	if _, err := near.Read(make([]byte, 1)); err == nil {
		t.Error("a closed connection was read")
	}
	stop()
}
