package bsp

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// recorder buffers the data of supersteps and makes their records in batches. Between two short
// supersteps the code and data for a record are not in a cache, and making each record at once took
// five times as long. recorder flushes after a long superstep, when the oldest buffered superstep
// has waited for flushAfter, when the buffer is full, and at the end of the run.
//
// Invariant: buffered supersteps are in order, and their rows are in the order of their partitions.
type recorder struct {
	to  trace.Journal
	job string

	mu      sync.Mutex // protects the fields below: the timer's goroutine makes records too
	program string     // the phase of a plan: its program and its number
	phase   int
	steps   []pendingRecord
	rows    []record.Partition
	peers   []record.Peer       // the peers of rows
	totals  []record.Aggregator // of steps
	step    record.Superstep    // reused for each record
	timer   *time.Timer
	waiting bool // the timer is running
	err     error
}

// flushAfter is the longest time that a buffered superstep waits for its record. A superstep that
// took as long is recorded at once, because the cost is small in comparison.
const flushAfter = 50 * time.Millisecond

// maxRows and maxPeers bound the buffer. A single superstep may have more.
const (
	maxRows  = 64
	maxPeers = 4096
)

func newRecorder(to trace.Journal, job string) *recorder {
	return &recorder{to: to, job: job}
}

// setPhase sets the phase of the following supersteps. Those before must be recorded already.
func (k *recorder) setPhase(program string, phase int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.program, k.phase = program, phase
}

// pending returns the coordinator's part of the record of a superstep that has just ended.
func (k *recorder) pending(
	c *coordinator, reports []*Report, seconds float64, ended time.Time,
) (step pendingRecord) {
	if k != nil {
		step = c.pending(reports, seconds, ended)
	}
	return step
}

// add buffers a superstep, after the coordinator has decided on the next one. It returns an error
// if a record failed, of this superstep or an earlier one.
func (k *recorder) add(c *coordinator, step pendingRecord, reports []*Report) error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.rows)+len(reports) > maxRows || len(k.peers) > maxPeers {
		k.flush()
	}
	if from := len(k.totals); c.sum.Computed > 0 {
		k.totals = c.aggregates.Record(k.totals, c.totals)
		step.totals = k.totals[from:len(k.totals):len(k.totals)]
	}
	k.steps = append(k.steps, step)
	for _, p := range reports {
		k.rows = append(k.rows, p.Partition)
		r := &k.rows[len(k.rows)-1]
		if r.Messages = p.SenderEdges + p.Sends; len(r.Peers) > 0 { // the runner reuses it
			from := len(k.peers)
			k.peers = append(k.peers, r.Peers...)
			r.Peers = k.peers[from:len(k.peers):len(k.peers)]
		}
	}
	switch {
	case step.seconds >= flushAfter.Seconds():
		k.flush()
	case k.timer == nil:
		k.timer, k.waiting = time.AfterFunc(flushAfter, k.flushLate), true
	case !k.waiting:
		k.waiting = true
		k.timer.Reset(flushAfter)
	}
	return k.err
}

// flushLate is called by the timer.
func (k *recorder) flushLate() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waiting = false
	k.flush()
}

// sync makes the records of all supersteps that have ended.
func (k *recorder) sync() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.flush()
}

// end makes the last records of a run. It returns the journal's first error.
func (k *recorder) end() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.waiting && k.timer.Stop() {
		k.waiting = false
	}
	k.flush()
	err := k.err
	k.err = nil
	return err
}

// flush makes the records of all buffered supersteps. The caller holds the lock. After an error the
// journal gets no more records of the run.
func (k *recorder) flush() {
	rows := k.rows
	for i := range k.steps {
		if k.err != nil {
			break
		}
		step := &k.steps[i]
		k.step.Partitions = rows[:step.rows]
		step.record(k.job, &k.step)
		k.step.Program, k.step.Phase = k.program, k.phase
		k.err = k.to.Record(&k.step)
		rows = rows[step.rows:]
	}
	if k.err == nil {
		k.err = k.to.Record(trace.Pause{})
	}
	k.steps, k.rows, k.peers, k.totals = k.steps[:0], k.rows[:0], k.peers[:0], k.totals[:0]
}

// recorded calls run, and makes the records of the run's beginning and end.
func (d *Driver) recorded(run func() error) error {
	began := time.Now()
	if err := d.options.Trace.Record(&trace.Job{
		Job: d.options.Job, Program: d.name, Graph: d.options.Graph, Vertices: d.c.vertices,
		Arcs: d.c.edges, Partitions: d.c.load.Partitions, Threads: d.options.Threads,
		Delivery: d.options.Delivery.String(), MaxSupersteps: d.maxSupersteps, Began: began,
	}); err != nil {
		return err
	}
	start := time.Now()
	err := run()
	ended := time.Now()
	err = errors.Join(err, d.recorder.end())
	err = errors.Join(err, d.options.Trace.Record(d.ending(err, ended.Sub(start))))
	d.observerOverhead = start.Sub(began) + time.Since(ended)
	return err
}

func (d *Driver) ending(err error, took time.Duration) *trace.End {
	e := &trace.End{Job: d.options.Job, Supersteps: len(d.times), Seconds: took.Seconds()}
	switch {
	case errors.Is(err, context.Canceled):
		e.State = trace.Cancelled
	case err != nil:
		e.State, e.Error = trace.Failed, err.Error()
	default:
		e.State, e.Ended, e.Aggregators, e.GraphLeft = trace.Done, d.Outcome().Ended, d.Final(),
			d.Outcome().Left
	}
	e.Forked = d.Outcome().Forked
	return e
}

// next records the superstep that has just ended, and returns the next one's command or, after the
// last one, the outcome. If the program's Coordinate panics, the record is complete.
func (d *Driver) next(
	reports []*Report, seconds float64, ended time.Time,
) (command *Command, outcome *Outcome, err error) {
	step := d.recorder.pending(&d.c, reports, seconds, ended)
	defer func() { err = d.recorder.add(&d.c, step, reports) }()
	command, outcome = d.c.next(reports, seconds)
	return command, outcome, nil
}
