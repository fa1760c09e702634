package mesh

import (
	"math"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/transport"
)

// metered is a connection whose bytes arrive in pieces at a limited rate, however fast they are
// written.
type metered struct {
	net.Conn
	rate  float64
	queue chan []byte
	group *sync.WaitGroup
}

func newMetered(c net.Conn, rate float64, group *sync.WaitGroup) *metered {
	m := &metered{c, rate, make(chan []byte, 1<<16), group}
	group.Go(func() {
		for b := range m.queue {
			for len(b) > 0 {
				n := min(len(b), 16<<10)
				<-time.After(time.Duration(float64(n) / rate * float64(time.Second)))
				if _, err := c.Write(b[:n]); err != nil {
					c.Close()
				}
				b = b[n:]
			}
		}
	})
	return m
}

func (m *metered) Write(b []byte) (int, error) {
	m.queue <- append([]byte(nil), b...)
	return len(b), nil
}

// TestTrafficIsMeasured: the measured time per byte is that of the network, although the sender
// writes everything at once. Short frames and the time between long ones are ignored.
func TestTrafficIsMeasured(t *testing.T) {
	const rate, each = 1e8, 1 << 20
	var group sync.WaitGroup
	var links []*metered
	inVirtualTime(t, nil, func(i int, o *Options) {
		if i == 0 {
			wrapDial(o, func(c net.Conn) net.Conn {
				m := newMetered(c, rate, &group)
				links = append(links, m)
				return m
			})
		}
	}, func(t *testing.T, a, b *Port) {
		t.Cleanup(func() {
			a.session.mesh.Close() // stop the writer
			for _, m := range links {
				close(m.queue)
			}
			group.Wait()
		})
		at := b.session.mesh
		if s := at.Seen("w0"); s != (Seen{}) {
			t.Errorf("before anything came: %+v", s)
		}
		send := func(bytes int) {
			if err := a.Send(&transport.Frame{From: 0, To: 1, Raw: make([]byte,
				bytes)}); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Receive(t.Context(), transport.Expand); err != nil {
				t.Fatal(err)
			}
			<-time.After(10 * time.Millisecond)
		}
		for range 50 {
			send(10 << 10)
		}
		if s := at.Seen("w0"); s.PerByte != 0 {
			t.Errorf("of short frames: %+v", s)
		}
		for range 8 {
			send(2 * each)
		}
		if s := at.Seen("w0"); math.Abs(s.PerByte*rate-1) > .1 {
			t.Errorf("a byte takes %g s, expected %g", s.PerByte, 1/rate)
		}
		if s := at.Seen("nobody"); s != (Seen{}) {
			t.Errorf("an unknown worker: %+v", s)
		}
	})
}

// TestConnectionsCountTogether: two connections that share a link do not make it seem slower.
func TestConnectionsCountTogether(t *testing.T) {
	m := &traffic{}
	m.begin()
	m.begin()
	m.end(leastSample)
	if m.mean() != 0 {
		t.Error("a sample while something comes")
	}
	m.end(leastSample)
	both := m.mean()
	if both == 0 || both > 1e-6 {
		t.Errorf("%g seconds a byte", both)
	}
	m.begin()
	m.end(0) // incomplete
	if m.mean() != both {
		t.Error("a chunk that did not come counts")
	}
}

// TestNothingIsSeenInAHost: traffic between workers of one host is not measured.
func TestNothingIsSeenInAHost(t *testing.T) {
	meshes, a, b := pair(t, nil)
	for range 4 {
		if err := a.Send(&transport.Frame{From: 0, To: 1, Raw: make([]byte, 1<<20)}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Receive(t.Context(), transport.Expand); err != nil {
			t.Fatal(err)
		}
	}
	if s := meshes[1].Seen("w0"); s != (Seen{}) {
		t.Errorf("found %+v", s)
	}
}
