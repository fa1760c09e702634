package mesh

import (
	"context"
	"fmt"
	"time"
)

// Probe reports why a worker cannot be connected to, or nil. It goes as far as to hear who is there; connections that there
// are, or are being made, are not touched.
func (m *Mesh) Probe(ctx context.Context, p Peer) error {
	c, err := m.options.Dial(ctx, "tcp", p.Addr)
	if err != nil {
		return &UnreachableError{m.options.Name, p.Name, err}
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	if err := writeBlock(c, statusGo, newGreeting(m.options.Name, m.options.Incarnation).body); err != nil {
		return &UnreachableError{m.options.Name, p.Name, err}
	}
	challenge, err := readBlock(c, "worker "+p.Name)
	if err != nil {
		return &UnreachableError{m.options.Name, p.Name, err}
	}
	other, err := parseGreeting(challenge)
	if err == nil && other.name != p.Name {
		err = fmt.Errorf("%w: at %s is worker %s", ErrFenced, p.Addr, other.name)
	}
	return err
}
