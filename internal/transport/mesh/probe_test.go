package mesh

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

// blackHole is a connection over a link that drops packets larger than large. All later packets are
// lost, too.
type blackHole struct {
	net.Conn
	lost bool
}

const large = 1 << 10

func (b *blackHole) Write(p []byte) (int, error) {
	if b.lost = b.lost || len(p) > large; b.lost {
		return len(p), nil
	}
	return b.Conn.Write(p)
}

// TestProbe probes a worker that is already connected. The probe succeeds, but fails if the link
// passes only small packets. It neither disturbs the existing connection nor counts as a refused
// one.
func TestProbe(t *testing.T) {
	hole := false
	meshes, peers := cluster(t, 2, func(_ int, o *Options) {
		o.TCP = true
		o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, address)
			if err != nil || !hole {
				return c, err
			}
			return &blackHole{Conn: c}, nil
		}
	})
	if err := meshes[0].Connect(t.Context(), peers); err != nil {
		t.Fatal(err)
	}
	if err := meshes[0].Probe(t.Context(), peers[1]); err != nil {
		t.Errorf("the probe of a worker that is there: %v", err)
	}
	if n := meshes[1].Stats(); n.Garbage+n.WrongToken+n.Fenced != 0 {
		t.Errorf("the probe counts as refused: %+v", n)
	}
	hole = true
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := meshes[0].Probe(ctx, peers[1]); !errors.As(err, new(*UnreachableError)) {
		t.Errorf("the probe by a link that drops large packets: %v", err)
	}
	meshes[0].mu.Lock()
	out := meshes[0].outs["w1"]
	meshes[0].mu.Unlock()
	if out == nil || !out.live() {
		t.Error("the connection is gone")
	}
	hole = false
	meshes[0].options.Token = "another"
	if err := meshes[0].Probe(t.Context(), peers[1]); !errors.Is(err, ErrToken) {
		t.Errorf("with another token: %v", err)
	}
}
