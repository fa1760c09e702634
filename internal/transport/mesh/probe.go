package mesh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Probe returns why frames would not reach a worker, or nil. It sends more than one packet, because
// a link that drops only large packets lets a hello pass. It does not touch existing or new
// connections.
func (m *Mesh) Probe(ctx context.Context, p Peer) error {
	c, err := m.options.Dial(ctx, "tcp", p.Addr)
	if err == nil {
		defer c.Close()
		defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
		var secure net.Conn
		if secure, err = m.options.secure(c); err == nil {
			err = probeHello(secure, m.options.Token,
				newGreeting(m.options.Name, m.options.Incarnation), p)
		}
	}
	if err != nil && !errors.Is(err, ErrFenced) {
		err = &UnreachableError{m.options.Name, p.Name, err}
	}
	return err
}

// probeHello runs the dialler's half of a probe.
func probeHello(c io.ReadWriter, token string, self greeting, peer Peer) error {
	who := "worker " + peer.Name
	other, err := challenged(c, self, who)
	if err != nil {
		return err
	}
	if other.name != peer.Name {
		return fmt.Errorf("%w: at %s found worker %s, expected %s", ErrFenced, peer.Addr,
			other.name, peer.Name)
	}
	if err := writeBlock(c, statusProbe,
		prove(token, "probe", self.body, other.body, nil)); err != nil {
		return err
	}
	if _, err := c.Write(make([]byte, probeSize)); err != nil {
		return err
	}
	_, err = readBlock(c, who)
	return err
}
