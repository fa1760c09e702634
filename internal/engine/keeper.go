package engine

import (
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/trace"
)

// keeper keeps what supersteps did until there is time to make records of it. Between two supersteps of a search nothing
// of what makes a record is in a cache, which made a record five times as dear as the work in it. So only figures are
// kept there, and records are made of many supersteps at a time: after a superstep of some length, when the oldest
// has waited, when there is no more room, and at the end of the run.
//
// Invariant: kept supersteps are in order, and their rows lie one after the other, as their partitions do.
type keeper struct {
	to  trace.Sink
	job string

	mu      sync.Mutex // of what follows: the timer's goroutine makes records, too
	kept    []kept
	rows    []trace.Record // what is the same in all of a superstep is missing
	peers   []trace.Peer   // of rows
	timer   *time.Timer
	waiting bool // for the timer
	err     error
}

// kept is a superstep of all partitions.
type kept struct {
	superstep, partitions int
	scheme                delivery.Scheme
	decision              delivery.Decision
	actual                float64
	ended                 time.Time
}

// showAfter is how long the oldest superstep that is kept waits, at most: nobody sees it later than that. After a superstep
// that took as long records are made at once, which is next to nothing then.
const showAfter = 50 * time.Millisecond

// keptRows and keptPeers are how much is kept at most, but for one superstep that has more.
const (
	keptRows  = 64
	keptPeers = 4096
)

func newKeeper(to trace.Sink, job string) *keeper {
	return &keeper{to: to, job: job, kept: make([]kept, 0, keptRows), rows: make([]trace.Record, 0, keptRows)}
}

// keep takes a superstep that has just ended. Its error is of records that were made, of this superstep or one before.
func (k *keeper) keep(c *coordinator, reports []*Report, took time.Duration, ended time.Time) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.rows)+len(reports) > keptRows || len(k.peers) > keptPeers {
		k.tell()
	}
	seconds := took.Seconds()
	step := kept{
		superstep: c.command.Superstep, partitions: len(reports), scheme: c.command.Scheme, decision: c.policy.Decided(&c.load), ended: ended,
	}
	if step.decision.Chosen != delivery.None {
		step.actual = c.delivery(reports, seconds)
	}
	k.kept = append(k.kept, step)
	for _, p := range reports {
		k.rows = append(k.rows, trace.Record{})
		k.row(&k.rows[len(k.rows)-1], p, seconds)
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

// row keeps a partition's part.
func (k *keeper) row(r *trace.Record, p *Report, seconds float64) {
	t := &p.Times
	r.Partition, r.Worker, r.Memory, r.GCPause = p.Partition, p.Worker, p.Memory, p.GCPause
	r.Active, r.Senders, r.Receivers, r.Edges = p.Computed, p.Delivered, p.Receivers, p.Walked
	r.Messages, r.Sent = p.SenderEdges+p.Sends, p.Sent
	r.Times = trace.Seconds{
		Expand: t.Expand, Traverse: t.Traverse, Fold: t.Fold, Compute: t.Compute, Wait: t.Wait + max(0, seconds-t.Total), Total: seconds,
	}
	if len(p.Peers) > 0 {
		from := len(k.peers)
		k.peers = append(k.peers, p.Peers...)
		r.Peers = k.peers[from:len(k.peers):len(k.peers)]
	}
}

// late makes the records that the job had no time for.
func (k *keeper) late() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waiting = false
	k.tell()
}

// end makes the last records of a run, and returns why not all could be told.
func (k *keeper) end() error {
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
func (k *keeper) tell() {
	rows := k.rows
	for i := range k.kept {
		if k.err != nil {
			break
		}
		step := &k.kept[i]
		k.err = k.tellStep(step, rows[:step.partitions])
		rows = rows[step.partitions:]
	}
	k.kept, k.rows, k.peers = k.kept[:0], k.rows[:0], k.peers[:0]
}

func (k *keeper) tellStep(step *kept, rows []trace.Record) error {
	d := &step.decision
	scheme, direction, reason := step.scheme.String(), step.scheme.Direction(), d.Reason()
	var predicted map[string]float64
	if d.Chosen != delivery.None {
		predicted = make(map[string]float64, 4)
		d.Predicted.Into(predicted)
	}
	for i := range rows {
		r := &rows[i]
		r.Job, r.Superstep, r.Ended = k.job, step.superstep, step.ended
		r.Scheme, r.Delivery, r.Reason, r.Predicted, r.Actual = scheme, direction, reason, predicted, step.actual
		if err := k.to.Record(r); err != nil {
			return err
		}
	}
	return nil
}
