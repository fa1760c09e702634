package mesh

import (
	"context"
	"slices"
	"time"
)

// A connection that was cut and mended may pass nothing for as long again, for TCP tries again ever
// more seldom: it is in doubt, and the next session that no other uses it beside gets a new one.
// The old one is not closed here: the other side ends it when it has the new one in its place, so
// that its end fails no session there that has heard nothing yet.

// mostSecure is how many bytes go through one connection with TLS, which does not change its keys:
// AES-GCM wants others after 2^24.5 records.
const mostSecure = 256 << 30

// doubtful reports whether the other side has been silent for longer than it is when all is well,
// now or since the connection was made, or so much was sent that it wants other keys.
func (o *outbound) doubtful() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, secure := o.conn.(*secured)
	return o.late || secure && o.sent > mostSecure || time.Since(o.heard) > o.mesh.options.Silence/2
}

// hear notes a sign of life, of which there are two in half of Silence. The lock is held.
func (o *outbound) hear() {
	now := time.Now()
	o.late = o.late || now.Sub(o.heard) > o.mesh.options.Silence/2
	o.heard = now
}

// used reports whether a session sends on a connection.
func (m *Mesh) used(out *outbound) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		if slices.Contains(s.outs, out) {
			return true
		}
	}
	return false
}

// renew makes a connection in place of one, or returns that if it cannot be had.
func (m *Mesh) renew(ctx context.Context, out *outbound) *outbound {
	if made, err := m.dial(ctx, out.peer); err == nil {
		return made
	}
	return out
}
