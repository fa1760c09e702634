package bsp

import (
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/trace"
)

// recorder keeps what supersteps did until there is time to make records of it. Between two supersteps of a search nothing
// of what makes a record is in a cache, which made a record five times as dear as the work in it. So only figures are
// kept there, and records are made of many supersteps at a time: after a superstep of some length, when the oldest
// has waited, when there is no more room, and at the end of the run.
//
// Invariant: kept supersteps are in order, and their rows lie one after the other, as their partitions do.
type recorder struct {
	to  trace.Sink
	job string

	mu      sync.Mutex // of what follows: the timer's goroutine makes records, too
	kept    []kept
	rows    []trace.Partition
	peers   []trace.Peer    // of rows
	step    trace.Superstep // used again for each record
	timer   *time.Timer
	waiting bool // for the timer
	err     error
}

// kept is a superstep of all partitions.
type kept struct {
	pendingRecord
	partitions int
}

// showAfter is how long the oldest superstep that is kept waits, at most: nobody sees it later than that. After a superstep
// that took as long records are made at once, which is next to nothing then.
const showAfter = 50 * time.Millisecond

// keptRows and keptPeers are how much is kept at most, but for one superstep that has more.
const (
	keptRows  = 64
	keptPeers = 4096
)

func newRecorder(to trace.Sink, job string) *recorder {
	return &recorder{to: to, job: job, kept: make([]kept, 0, keptRows), rows: make([]trace.Partition, 0, keptRows)}
}

// keep takes a superstep that has just ended. Its error is of records that were made, of this superstep or one before.
func (k *recorder) keep(c *coordinator, reports []*Report, took time.Duration, ended time.Time) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.rows)+len(reports) > keptRows || len(k.peers) > keptPeers {
		k.tell()
	}
	k.kept = append(k.kept, kept{c.pending(reports, took.Seconds(), ended), len(reports)})
	for _, p := range reports {
		k.rows = append(k.rows, p.Partition)
		if r := &k.rows[len(k.rows)-1]; len(r.Peers) > 0 { // the runner uses its own again
			from := len(k.peers)
			k.peers = append(k.peers, r.Peers...)
			r.Peers = k.peers[from:len(k.peers):len(k.peers)]
		}
	}
	switch {
	case took >= showAfter:
		k.tell()
	case k.timer == nil:
		k.timer, k.waiting = time.AfterFunc(showAfter, k.late), true
	case !k.waiting:
		k.waiting = true
		k.timer.Reset(showAfter)
	}
	return k.err
}

// late makes the records that the job had no time for.
func (k *recorder) late() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waiting = false
	k.tell()
}

// end makes the last records of a run, and returns why not all could be told.
func (k *recorder) end() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.waiting && k.timer.Stop() {
		k.waiting = false
	}
	k.tell()
	err := k.err
	k.err = nil
	return err
}

// tell makes records of all that is kept. The lock is held. After an error the sink gets none of the run any more.
func (k *recorder) tell() {
	rows := k.rows
	for i := range k.kept {
		if k.err != nil {
			break
		}
		step := &k.kept[i]
		k.step.Partitions = rows[:step.partitions]
		step.record(k.job, &k.step)
		k.err = k.to.Record(&k.step)
		rows = rows[step.partitions:]
	}
	k.kept, k.rows, k.peers = k.kept[:0], k.rows[:0], k.peers[:0]
}
