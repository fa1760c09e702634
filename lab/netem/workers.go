// Package netem connects workers of one process over loopback TCP, as in a cluster. Connections can
// be slowed down by a delay, as between Matsuda's clusters, or by a rate. It is named after Linux's
// module for network devices. Start with workers.go.
package netem

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"slices"

	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// Workers are workers of this process, each with a session that connects all of them.
type Workers struct {
	meshes   []*mesh.Mesh
	Sessions []*mesh.Session
}

// Slow slows down a connection from one worker to another, or returns it unchanged.
type Slow func(c net.Conn, from, to int) net.Conn

// Join connects workers with these options; names and token are set. slow, if not nil, is called
// for each connection, by several goroutines.
func Join(ctx context.Context, workers int, o mesh.Options, slow Slow) (_ *Workers, err error) {
	w, token := &Workers{}, rand.Text()
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	layout := mesh.Layout{}
	for i := range workers {
		o.Name, o.Incarnation, o.Token, o.TCP = fmt.Sprintf("worker %d", i), 1, token, true
		if slow != nil {
			o.Dial = dialer(i, &layout, slow)
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
		w.Sessions = append(w.Sessions, s)
	}
	return w, nil
}

// dialer returns a worker's dial function.
func dialer(
	from int, layout *mesh.Layout, slow Slow,
) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if to := slices.IndexFunc(layout.Workers, func(p mesh.Peer) bool { return p.Addr == address }); to >= 0 {
			c = slow(c, from, to)
		}
		return c, nil
	}
}

// Mesh returns the mesh of a worker.
func (w *Workers) Mesh(i int) *mesh.Mesh { return w.meshes[i] }

// Close ends the sessions.
func (w *Workers) Close() {
	for _, s := range w.Sessions {
		s.Close()
	}
	for _, m := range w.meshes {
		m.Close()
	}
}
