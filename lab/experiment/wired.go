package experiment

import (
	"context"
	"net"
	"time"

	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/internal/transport/mesh"
	"github.com/superstep-go/superstep/lab/netem"
)

// cable is the connection between the workers of a wired.
type cable struct {
	name  string
	delay time.Duration // each way
	rate  float64       // bytes per second that a worker sends; 0 means no limit
}

// wired is workers in this process with a partition each. They are connected over loopback TCP, as
// in a cluster.
type wired struct {
	*netem.Workers
	past int // supersteps of earlier runs in the same sessions
}

// wireUp connects workers.
func wireUp(ctx context.Context, workers int, c cable) (*wired, error) {
	var slow netem.Slow
	if c.delay > 0 || c.rate > 0 {
		wires := make([]*netem.Wire, workers)
		for i := range wires {
			if c.rate > 0 {
				wires[i] = netem.NewWire(c.rate)
			}
		}
		slow = func(raw net.Conn, from, _ int) net.Conn { return netem.Lag(raw, c.delay, wires[from]) }
	}
	w, err := netem.Join(ctx, workers, mesh.Options{Compress: mesh.CompressOff}, slow)
	return &wired{Workers: w}, err
}

// meet is engine.Options.Connect.
func (w *wired) meet() (endpoint func(partition int) transport.Endpoint, broken func()) {
	past := w.past
	return func(partition int) transport.Endpoint {
			e := w.Sessions[partition].Endpoint(partition, past, true)
			if partition == 0 {
				e = counted{e, w}
			}
			return e
		}, func() {
			for _, s := range w.Sessions {
				s.Fail(transport.ErrClosed)
			}
		}
}

// counted is the endpoint of partition 0, which counts supersteps.
type counted struct {
	transport.Endpoint
	w *wired
}

func (c counted) End(ctx context.Context, superstep int) (*transport.Account, error) {
	c.w.past++
	return c.Endpoint.End(ctx, superstep)
}
