package mesh

import (
	"slices"
	"time"
)

// After an interruption a connection may stall as long again, because TCP doubles the time between
// its retries. So it is doubtful: the next session opens a new connection, unless another session
// still uses this one. The old connection is not closed here. The other side closes it when it has
// the new one, so that its end fails no session there that does not know of the new one yet.

// mostSecure is the number of bytes that one connection with TLS may carry. AES-GCM needs new keys
// after 2^24.5 records, and the connection does not change its keys.
const mostSecure = 256 << 30

// doubtful reports whether the other side is, or ever was, silent for longer than normal, or
// whether so many bytes were sent that new keys are needed.
func (o *outbound) doubtful() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, secure := o.conn.(*secured)
	return o.late || secure && o.sent > mostSecure || time.Since(o.heard) > o.mesh.options.Silence/2
}

// hear records a sign of life. There are normally two in half of Silence. The caller holds the
// lock.
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
