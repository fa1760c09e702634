package mesh

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// A window should cover what a link holds, bandwidth x the time there and back; a sender that has
// used its window up waits. Options.Window does on a local network. Between sites it may not:
// Expect says how long the way from a worker is, and the receiver widens the window of its
// connection, by what its bandwidth was measured to be and by what really comes: twice what came in
// the time there and back, as Linux sizes TCP's buffers (Fisk and Feng 2001), so that a window that
// is too small grows until something else limits.
//
// What windows have beyond Options.Window comes from Options.Spare, which all connections share,
// and is given back when a connection ends: partitions that take nothing for long hold no more of
// what other workers have sent. A window never shrinks while its connection lasts.

const (
	leastDelay = time.Millisecond // there and back: below, the least window covers 16 GB a second
	growth     = 2                // of what came in the time there and back
	mostGrant  = 1 << 40          // bytes: no other side can mean more
)

// way is what is expected of the way from another worker.
type way struct {
	delay time.Duration // there and back
	rate  float64       // bytes a second; 0: not known
}

// Expect says how long it takes there and back to a worker, and how many bytes a second come from
// it, or 0 where that is not known: the window of its connection is widened by that. It holds until
// it is said anew.
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

// spare is how many bytes windows may yet be widened by.
type spare struct{ left atomic.Int64 }

// take takes up to n bytes, and returns how many.
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

// flow counts what comes in the time there and back. It is the reader's own.
type flow struct {
	began time.Time
	bytes int64
}

// expect widens the window to what a way holds, and again by what comes.
func (in *inbound) expect(w way) {
	in.delay.Store(int64(w.delay))
	if w.delay >= leastDelay {
		// Half as much again: room is announced by quarters.
		in.widen(1.5 * w.rate * w.delay.Seconds())
	}
}

// flowed takes note of bytes that came.
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
	case took < 4*delay: // else nothing came for a while
		in.widen(growth * float64(f.bytes) * delay.Seconds() / took.Seconds())
	}
	in.flow = flow{began: now}
}

// widen widens the window to so many bytes, as far as it may.
func (in *inbound) widen(bytes float64) {
	o := &in.mesh.options
	in.mu.Lock()
	defer in.mu.Unlock()
	want := int64(min(bytes, float64(o.MostWindow)))
	if in.err != nil || want < int64(in.window)*9/8 && want < int64(o.MostWindow) {
		return // a little more is of no use
	}
	if more := in.mesh.spare.take(want - int64(in.window)); more > 0 {
		in.window += uint64(more)
		in.widened = true
		signal(in.kick)
	}
}

// narrow gives back what the window had beyond the least one, when its connection has ended.
func (in *inbound) narrow() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.mesh.spare.giveBack(int64(in.window) - int64(in.mesh.options.Window))
	in.window = uint64(in.mesh.options.Window)
}

// widen takes note that the other side has widened the window, of frames and of each tag's
// messages.
func (o *outbound) widen(window uint64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if window <= o.window || window > mostGrant {
		return fmt.Errorf("%w: a window of %d bytes after %d", errCorrupt, window, o.window)
	}
	more := int64(window - o.window)
	o.window = window
	for _, l := range o.lanes {
		l.credit += more
		o.awake(l)
	}
	o.hear()
	return nil
}

// room waits until the window has room, and reports whether the session still runs.
func (o *outbound) room(s *Session) (bool, error) {
	var stall *time.Timer
	for {
		if s.Err() != nil {
			return false, nil
		}
		o.mu.Lock()
		room := o.sent-o.consumed < o.window
		o.mu.Unlock()
		if room {
			return true, nil
		}
		if err := o.flush(); err != nil {
			return false, err
		}
		if stall == nil {
			stall = time.AfterFunc(o.mesh.options.Stall, func() {
				s.fail(fmt.Errorf("worker %s has made no room for frames of worker %s for %v",
					o.peer.Name, o.mesh.options.Name, o.mesh.options.Stall))
			})
			defer stall.Stop()
		}
		if err := o.pause(s, o.credit); err != nil {
			return false, err
		}
	}
}

// readCredits takes the credits that come back, until the connection ends.
func (o *outbound) readCredits() {
	r := newIntake(o.conn, o.mesh.options.Silence, 4<<10)
	for {
		c, err := readCredit(r)
		if err == nil && c.lane {
			o.grant(c.laneKey, c.bytes)
			continue
		}
		if err == nil && c.window {
			if err = o.widen(c.bytes); err == nil {
				signal(o.credit)
				continue
			}
		}
		o.mu.Lock()
		if err == nil && (c.bytes < o.consumed || c.bytes > o.sent) {
			err = fmt.Errorf("%w: credit for %d bytes of %d", errCorrupt, c.bytes, o.sent)
		}
		o.consumed = c.bytes
		o.hear()
		o.mu.Unlock()
		if err != nil {
			o.fail(silent(err, o.mesh.options.Silence))
			return
		}
		signal(o.credit)
	}
}

// silent words the end of a connection.
func silent(err error, limit time.Duration) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("no sign of life for %v", limit)
	case errors.Is(err, io.EOF):
		return errors.New("the other side closed it")
	}
	return err
}
