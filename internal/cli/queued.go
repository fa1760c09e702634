package cli

import (
	"cmp"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// queuedAfter is how long a job waits for its turn before whoever waits for it is told.
const queuedAfter = 3 * time.Second

// queuedNotice says, once, that a job waits and why, where nobody would see it on a display: a script would seem to hang.
type queuedNotice struct {
	display *progress
	job     string

	mu     sync.Mutex
	timer  *time.Timer
	reason string
	told   bool
}

// waits notes that the job is in the queue, for a reason if it is not that others are before it.
func (n *queuedNotice) waits(reason string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reason = reason
	if n.timer == nil && !n.told && !n.display.app.all.Quiet {
		n.timer = time.AfterFunc(queuedAfter, n.tell)
	}
}

func (n *queuedNotice) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.timer != nil {
		n.told = true
		n.display.say(slog.LevelInfo, fmt.Sprintf("superstep: job %s is in the queue: %s", n.job, cmp.Or(n.reason, "another one runs, or is before it")))
	}
}

// over says that the job waits no more.
func (n *queuedNotice) over() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.timer != nil {
		n.timer.Stop()
		n.timer = nil
	}
}
