package experiment

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"time"

	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// cable is what joins the workers of a wired.
type cable struct {
	name  string
	delay time.Duration // each way
	rate  float64       // bytes a second that a worker sends; 0: as fast as it goes
}

// wired is workers of this process, a partition each, that meet over loopback TCP, as those of a cluster do.
type wired struct {
	meshes   []*mesh.Mesh
	sessions []*mesh.Session
	past     int // supersteps of the runs so far, of which the sessions know
}

// wireUp joins so many workers.
func wireUp(ctx context.Context, workers int, c cable) (_ *wired, err error) {
	w, token := &wired{}, rand.Text()
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	layout := mesh.Layout{}
	for i := range workers {
		o := mesh.Options{Name: fmt.Sprintf("worker %d", i), Incarnation: 1, Token: token, TCP: true, Compress: mesh.CompressOff}
		if c.delay > 0 || c.rate > 0 {
			var shared *wire
			if c.rate > 0 {
				shared = &wire{rate: c.rate}
			}
			o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				raw, err := new(net.Dialer).DialContext(ctx, network, address)
				if err != nil {
					return nil, err
				}
				return lag(raw, c.delay, shared), nil
			}
		}
		m, err := mesh.New(o)
		if err != nil {
			return nil, err
		}
		w.meshes = append(w.meshes, m)
		layout.Workers, layout.Owner = append(layout.Workers, m.Self()), append(layout.Owner, i)
	}
	for _, m := range w.meshes {
		s, err := m.Open(ctx, 1, 1, layout, nil)
		if err != nil {
			return nil, err
		}
		w.sessions = append(w.sessions, s)
	}
	return w, nil
}

func (w *wired) close() {
	for _, s := range w.sessions {
		s.Close()
	}
	for _, m := range w.meshes {
		m.Close()
	}
}

// meet is engine.Options.Connect.
func (w *wired) meet() (endpoint func(partition int) transport.Endpoint, broken func()) {
	past := w.past
	return func(partition int) transport.Endpoint {
			e := transport.Later(w.sessions[partition].Endpoint(partition), past)
			if partition == 0 {
				e = counted{e, w}
			}
			return e
		}, func() {
			for _, s := range w.sessions {
				s.Fail(transport.ErrClosed)
			}
		}
}

// counted is the endpoint of partition 0, which notes that supersteps end.
type counted struct {
	transport.Endpoint
	w *wired
}

func (c counted) End(ctx context.Context, superstep int) (*transport.Account, error) {
	c.w.past++
	return c.Endpoint.End(ctx, superstep)
}
