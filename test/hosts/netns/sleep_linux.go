package netns

import (
	"time"

	"golang.org/x/sys/unix"
)

// Until waits until a time. If a process does nothing else, Go's timers are up to a millisecond
// late, because it waits for whole milliseconds. The kernel's sleep is some 0.1 ms late.
func Until(due time.Time) {
	for left := time.Until(due); left > 0; left = time.Until(due) {
		t := unix.NsecToTimespec(int64(left))
		_ = unix.Nanosleep(&t, nil) // a signal interrupts it
	}
}
