package mesh

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"time"
)

// A window should cover the bytes in flight, bandwidth x round trip time; otherwise the sender
// waits. Options.Window does so on a local network, but maybe not between sites. Expect sets the
// round trip time to a worker. The receiver then widens the window of its connection: by the
// measured bandwidth, and by the real traffic, to twice the bytes that arrived in a round trip
// time, as Linux sizes TCP's buffers (Fisk and Feng 2001). So a window that is too small grows
// until something else is the limit.
//
// All connections share Options.Spare for the growth of windows. A connection gives its share back
// when it ends. So partitions that take nothing for long hold a bounded amount of other workers'
// data. A window never shrinks while its connection lasts.

const (
	leastDelay = time.Millisecond // round trip: below it the least window suffices for 16 GB/s
	growth     = 2                // in multiples of the bytes that arrived in a round trip time
	mostGrant  = 1 << 40          // bytes: no valid credit is greater
)

// way is the expected distance to another worker.
type way struct {
	delay time.Duration // round trip time
	rate  float64       // bytes per second; 0: unknown
}

// Expect sets the expected round trip time to a worker, and the rate from it in bytes per second,
// or 0 if unknown. The window of its connection grows accordingly. It is valid until the next call.
func (m *Mesh) Expect(name string, delay time.Duration, rate float64) {
	w := way{delay, max(rate, 0)}
	m.mu.Lock()
	m.ways[name] = w
	in := m.ins[name]
	m.mu.Unlock()
	if in != nil {
		in.expect(w)
	}
}

// spare is the number of bytes that are left for the growth of windows.
type spare struct{ left atomic.Int64 }

// take takes up to n bytes, and returns the number taken.
func (s *spare) take(n int64) int64 {
	for {
		left := s.left.Load()
		n = max(min(n, left), 0)
		if s.left.CompareAndSwap(left, left-n) {
			return n
		}
	}
}

func (s *spare) giveBack(n int64) { s.left.Add(n) }

// flow counts the bytes that arrive in a round trip time. Only the reader uses it.
type flow struct {
	began time.Time
	bytes int64
}

// expect widens the window for a distance, and later by the real traffic.
func (in *inbound) expect(w way) {
	in.delay.Store(int64(w.delay))
	if w.delay >= leastDelay {
		// Half as much again, because credit is sent by quarters of the window.
		in.widen(1.5 * w.rate * w.delay.Seconds())
	}
}

// flowed records arrived bytes.
func (in *inbound) flowed(bytes int) {
	delay := time.Duration(in.delay.Load())
	if delay < leastDelay {
		return
	}
	f, now := &in.flow, time.Now()
	f.bytes += int64(bytes)
	switch took := now.Sub(f.began); {
	case took < delay:
		return
	case took < 4*delay: // longer: nothing arrived for a while
		in.widen(growth * float64(f.bytes) * delay.Seconds() / took.Seconds())
	}
	in.flow = flow{began: now}
}

// widen widens the window to a number of bytes, as far as possible.
func (in *inbound) widen(bytes float64) {
	o := &in.mesh.options
	in.mu.Lock()
	defer in.mu.Unlock()
	want := int64(min(bytes, float64(o.MostWindow)))
	if in.err != nil || want < int64(in.window)*9/8 && want < int64(o.MostWindow) {
		return // a small growth is useless
	}
	if more := in.mesh.spare.take(want - int64(in.window)); more > 0 {
		in.window += uint64(more)
		in.widened = true
		signal(in.kick)
	}
}

// narrow gives back the growth of the window when its connection has ended.
func (in *inbound) narrow() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.mesh.spare.giveBack(int64(in.window) - int64(in.mesh.options.Window))
	in.window = uint64(in.mesh.options.Window)
}

// widen records that the other side has widened the window, of frames and of each tag's messages.
func (o *outbound) widen(window uint64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if window <= o.window || window > mostGrant {
		return fmt.Errorf("%w: a window of %d bytes after %d", errCorrupt, window, o.window)
	}
	more := int64(window - o.window)
	o.window = window
	for _, l := range append(slices.Collect(maps.Values(o.lanes)), &o.frames) {
		l.credit += more
		o.awake(l)
	}
	o.hear()
	return nil
}

// readCredits reads credits until the connection ends.
func (o *outbound) readCredits() {
	r := newIntake(o.conn, o.mesh.options.Silence, 4<<10)
	for {
		c, err := readCredit(r)
		switch {
		case err != nil:
		case c.magic == messageMagic:
			o.grant(c.laneKey, c.bytes)
			continue
		case c.magic == windowMagic:
			err = o.widen(c.bytes)
		default:
			err = o.taken(c.bytes)
		}
		if err != nil {
			o.fail(silent(err, o.mesh.options.Silence))
			return
		}
	}
}

// taken records how many bytes the other side has taken in all.
func (o *outbound) taken(bytes uint64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if bytes < o.consumed || bytes > o.sent {
		return fmt.Errorf("%w: credit for %d bytes of %d", errCorrupt, bytes, o.sent)
	}
	o.frames.credit += int64(bytes - o.consumed)
	o.consumed = bytes
	o.awake(&o.frames)
	o.hear()
	return nil
}

// silent returns the error for the end of a connection.
func silent(err error, limit time.Duration) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("no sign of life for %v", limit)
	case errors.Is(err, io.EOF):
		return errors.New("the other side closed it")
	}
	return err
}
