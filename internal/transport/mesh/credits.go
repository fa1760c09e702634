package mesh

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

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
