package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
)

// deliverAndCompute delivers the messages of the last superstep, and runs their receivers and the
// awake vertices.
func (r *runner) deliverAndCompute(ctx context.Context) error {
	c := r.command
	if c.Superstep == 0 {
		return r.sweep.start()
	}
	if r.few.next {
		return r.few.superstep(ctx)
	}
	for _, c := range r.columns {
		c.kernel.Swap()
		c.read, c.write = c.write, c.read
	}
	if c.Sends {
		if err := r.sends(ctx); err != nil {
			return err
		}
	}
	var err error
	switch {
	case c.Scheme == delivery.Pull && r.part.Grid.Flat() && !c.Change:
		return r.pull.pullAndCompute(ctx)
	case c.Scheme == delivery.Pull:
		err = r.pull.pullBlocks(ctx)
	case c.Scheme == delivery.RingPull:
		err = r.ring.ringBlocks(ctx)
	default:
		err = r.push.pushBlocks(ctx)
	}
	if err == nil && c.Change {
		err = r.change(ctx)
	}
	if err != nil {
		return err
	}
	return r.sweep.computeInbox()
}

// sends exchanges the messages to single vertices, and puts the received ones into the inbox or the
// lists.
func (r *runner) sends(ctx context.Context) error {
	defer r.startTimer(&r.report.Times.Fold).end()
	r.received = 0
	var err error
	if r.threads[0].KeepsSenders() {
		err = r.exchange.SendInOrder(ctx, r.outboxes, r.sinking)
	} else {
		err = r.exchange.Send(ctx, r.outboxes, r.combine, r.sinking)
	}
	for _, t := range r.threads {
		t.ResetSends()
	}
	return err
}

// sink receives messages for owned vertices.
func (r *partition) sink(to []uint32, messages kernel.Column) {
	r.received += len(to)
	if !r.list {
		r.makeInbox()
	}
	r.instance.Take(to, messages)
}

// makeInbox makes the inbox over destination slots, at its first use.
func (r *partition) makeInbox() {
	if r.inbox.Has == nil {
		r.inbox.Messages, r.inbox.Has = r.instance.Inbox()
	}
}

// markAllWritten declares that every word of the frontiers being written will be written.
func (r *partition) markAllWritten() {
	for _, c := range r.columns {
		c.write.All = true
	}
}

// clearWritten empties the frontiers being written.
func (r *partition) clearWritten() {
	for _, c := range r.columns {
		c.write.Clear()
	}
}

// expand sends the frontier of the column that block i delivers to the partitions of the block's
// processor column, and receives theirs. It reports whether all vertices with edges in the block
// have sent. If hubs is not 0, only vertices in the first hubs words of each partition are sent.
// meanwhile, if not nil, computes while the columns are transferred, unless the run is serial.
func (r *partition) expand(
	ctx context.Context, i int, b *graph.Block, hubs int, meanwhile func() error,
) (all bool, err error) {
	from, phase := r.columnOf(i), r.startTimer(&r.report.Times.Expand)
	full, err := r.exchange.Expand(ctx, b.Senders, from.kernel, from.read, i, hubs,
		func() error { return phase.pause(meanwhile) })
	return full && from.delivering.edges == from.out.Edges, phase.ended("expand", err)
}

// ownChunks returns the borders of chunks of owned vertices with about equal numbers of in-edges.
func (r *partition) ownChunks() []uint32 { return r.layout.Blocks[0].Pull.ByReceiver.OwnChunks() }

// ran updates the partition's states after a pull has run word w.
func (r *partition) ran(t *thread, w int, active, run, received, sent, halted, finished uint64) {
	if run == 0 {
		r.write.Words[w] = 0
		if r.back != nil {
			r.back.write.Words[w] = 0
		}
		return
	}
	r.drain(t, w, active, run, received, sent, halted, finished)
	if r.back != nil {
		r.drainBack(t, w, t.SentBack())
	}
}

// phaseTimer measures the time of a phase.
type phaseTimer struct {
	of     *partition
	to     *float64
	start  time.Time
	waited time.Duration // time that the exchange had waited at the start
	failed error         // of a function during which the timer was paused
}

// startTimer begins a phase. phaseTimer.end adds its time, without the time spent waiting for other
// partitions.
func (r *partition) startTimer(to *float64) phaseTimer {
	return phaseTimer{of: r, to: to, start: time.Now(), waited: r.exchange.Waited}
}

func (l phaseTimer) end() {
	waited := l.of.exchange.Waited - l.waited
	*l.to += (time.Since(l.start) - waited).Seconds()
	l.of.report.Times.Wait += waited.Seconds()
}

// pause pauses the timer during f, if that is not nil.
func (l *phaseTimer) pause(f func() error) error {
	if f == nil {
		return nil
	}
	l.end()
	err := f()
	*l = l.of.startTimer(l.to)
	l.failed = err
	return err
}

// ended ends the phase, an exchange. It adds the exchange's name to err, unless it is the error of
// a function that paused the timer.
func (l *phaseTimer) ended(name string, err error) error {
	l.end()
	if err != nil && l.failed == nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return err
}
