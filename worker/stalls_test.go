package worker

import (
	"testing"
	"time"
)

// TestStallsAreTold: a heartbeat contains the greatest delay of a heartbeat in the last minute.
func TestStallsAreTold(t *testing.T) {
	const every = 500 * time.Millisecond
	now := time.Now()
	s := stalls{last: now}
	for _, c := range []struct{ after, want time.Duration }{
		{0, 0},
		{every, 0},
		{2 * time.Second, 1500 * time.Millisecond},
		{every, 1500 * time.Millisecond},
		{time.Second, 1500 * time.Millisecond},
		{3 * time.Second, 2500 * time.Millisecond},
		{time.Minute, time.Minute - every},
		{every, time.Minute - every},
	} {
		now = now.Add(c.after)
		if got := s.beat(now, every); got != c.want {
			t.Errorf("%v after the one before: %v, expected %v", c.after, got, c.want)
		}
	}
	for range 121 {
		now = now.Add(every)
		s.beat(now, every)
	}
	if got := s.beat(now, every); got != 0 {
		t.Errorf("a minute later: %v", got)
	}
}
