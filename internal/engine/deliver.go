package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
)

// deliverAndCompute delivers the messages of the last superstep, and runs their receivers and the vertices that are awake.
func (r *runner) deliverAndCompute(ctx context.Context, c *bsp.Command) error {
	if c.Superstep == 0 {
		return r.start()
	}
	for _, c := range r.columns {
		c.kernel.Swap()
		c.read, c.write = c.write, c.read
	}
	if c.Sends {
		if err := r.sends(ctx, c); err != nil {
			return err
		}
	}
	var err error
	switch {
	case c.Scheme == delivery.Pull && r.part.Grid.Flat() && !c.Change:
		return r.pullAndCompute(ctx, c)
	case c.Scheme == delivery.Pull && r.part.Grid.Flat():
		err = r.pullFlat(ctx, c)
	case c.Scheme == delivery.Pull:
		err = r.pullBlocks(ctx, c)
	case c.Scheme == delivery.RingPull:
		err = r.ringBlocks(ctx, c)
	default:
		err = r.pushBlocks(ctx, c)
	}
	if err == nil && c.Change {
		err = r.change(ctx)
	}
	if err != nil {
		return err
	}
	return r.computeInbox(c)
}

// sends exchanges the messages to single vertices, into the inbox or the lists.
func (r *runner) sends(ctx context.Context, c *bsp.Command) error {
	defer r.timed(&r.report.Times.Fold).end()
	r.came = 0
	var err error
	if r.threads[0].KeepsSenders() {
		err = r.exchange.SendInOrder(ctx, r.outboxes, r.sinking, c.Superstep)
	} else {
		err = r.exchange.Send(ctx, r.outboxes, r.combine, r.sinking, c.Superstep)
	}
	for _, t := range r.threads {
		t.ResetSends()
	}
	return err
}

// sink takes messages that reached their owner.
func (r *runner) sink(to []uint32, messages kernel.Column) {
	r.came += len(to)
	if !r.list {
		r.makeInbox()
	}
	r.instance.Take(to, messages)
}

// makeInbox makes the inbox over destination slots at its first use.
func (r *runner) makeInbox() {
	if r.inbox.Has == nil {
		r.instance.MakeInbox()
		r.inbox.Messages, r.inbox.Has = r.instance.Inbox()
	}
}

// writeAll says that every word of the frontiers being written will be.
func (r *runner) writeAll() {
	for _, c := range r.columns {
		c.write.All = true
	}
}

// clearWritten empties the frontiers being written.
func (r *runner) clearWritten() {
	for _, c := range r.columns {
		c.write.Clear()
	}
}

// expand sends a column's frontier to the partitions of the block's processor column, and receives theirs. It reports whether every sender of
// the block is present.
func (r *runner) expand(ctx context.Context, c *bsp.Command, from *column, b *graph.Block, reversed bool) (all bool, err error) {
	defer r.timed(&r.report.Times.Expand).end()
	full, err := r.exchange.Expand(ctx, b.Senders, from.kernel, from.read, c.Superstep, reversed)
	if err != nil {
		return false, fmt.Errorf("expand: %w", err)
	}
	return full && from.delivering.edges == from.out.Edges, nil
}

// ownChunks are the borders of runs of owned vertices with about equal numbers of in-edges.
func (r *runner) ownChunks() []uint32 { return r.layout.Blocks[0].Pull.ByReceiver.OwnChunks() }

// pullAndCompute, in a flat grid, expands the frontier, then walks the in-edges of every vertex that may want a message, a word at a
// time, and computes the word at once: its messages never leave the cache.
func (r *runner) pullAndCompute(ctx context.Context, c *bsp.Command) error {
	r.pulling = r.pulling[:0]
	for i, ways := range r.layout.Blocks {
		if !r.crossed(c, i) {
			continue
		}
		if _, err := r.expandToPull(ctx, c, i, ways.Pull); err != nil {
			return err
		}
		r.pulling = append(r.pulling, &r.pulls[i])
	}
	many := r.report.UnfinishedEdges+r.part.Owned > r.serialEdges && r.team.Size() > 1
	if err := r.pullTiles(ctx, many); err != nil {
		return err
	}
	phase := r.timed(&r.report.Times.Traverse)
	defer func() {
		phase.end()
		r.tellComputing()
	}()
	r.writeAll() // every word of the owned is written below, and expand writes the ghosts'
	if r.list {
		r.instance.Sort(r.part.Owned)
	} else if c.Sends {
		r.makeInbox()
		defer r.inbox.Has.Clear()
	}
	r.setPulls(c.Sends)
	r.beginEarly(many)
	return errors.Join(r.run(many, r.ownChunks(), r.tasks.pull), r.early.err)
}

func (r *runner) pullTask(worker int) {
	t := r.threads[worker]
	defer r.recover(t)
	pull := func(lo, hi int) bool {
		if r.list {
			r.computeLists(t, lo, hi, true)
		} else {
			r.pullWords(t, lo, hi)
		}
		return true
	}
	switch {
	case r.early.on:
		r.eachEarly(worker, pull)
	case r.traits.AnyOne:
		r.eachRun(pull)
	default:
		r.eachChunk(pull)
	}
}

// setPulls tells the instance what it pulls through in this superstep.
func (r *runner) setPulls(inbox bool) {
	r.passed = r.passed[:0]
	for _, p := range r.pulling {
		r.passed = append(r.passed, kernel.ColumnPull{Pull: &p.Pull, Way: p.from.way})
	}
	var tiled []uint64
	if r.tiling.on {
		tiled = r.tiling.found
	}
	r.instance.SetPulls(r.passed, inbox && !r.list, tiled)
}

func (r *runner) pullWords(t *thread, lo, hi int) {
	if r.tiling.on || r.back != nil || r.command.Sends || len(r.pulling) != 1 {
		r.pullMany(t, lo, hi)
		return
	}
	walked, lists := 0, r.pulling[0].Bits
	for w := lo; w < hi; w++ {
		open, active := ^r.finished[w], r.active[w]
		need := open & lists[w]
		if need == 0 && active == 0 {
			r.write.Words[w] = 0
			continue
		}
		run, received, sent, halted, finished, edges := t.PullOne(w, need, open, active)
		walked += edges
		if run == 0 {
			r.write.Words[w] = 0
			continue
		}
		r.drain(t, w, run, received, sent, halted, finished)
		if sent != 0 && r.light.shares {
			r.share(w, sent)
		}
	}
	t.count.walked += walked
}

// pullMany is pullWords where messages come in more than one way.
func (r *runner) pullMany(t *thread, lo, hi int) {
	for w := lo; w < hi; w++ {
		run, received, sent, halted, finished, edges := t.Pull(w, ^r.finished[w], r.active[w])
		t.count.walked += edges
		r.ran(t, w, run, received, sent, halted, finished)
		if sent != 0 && r.light.shares {
			r.share(w, sent)
		}
	}
}

// ran takes what a pull of word w did.
func (r *runner) ran(t *thread, w int, run, received, sent, halted, finished uint64) {
	if run == 0 {
		r.nothingSent(w)
		return
	}
	r.drain(t, w, run, received, sent, halted, finished)
	if r.back != nil {
		r.drainBack(t, w, t.SentBack())
	}
}

// nothingSent says that no vertex of word w sends to all its neighbours.
func (r *runner) nothingSent(w int) {
	r.write.Words[w] = 0
	if r.back != nil {
		r.back.write.Words[w] = 0
	}
}

// delivered returns how many edges the messages cross that this superstep delivers.
func (r *runner) delivered() int {
	if r.back != nil {
		return r.delivering.edges + r.back.delivering.edges
	}
	return r.delivering.edges
}

// expandToPull expands the column that is pulled through block i, and prepares the pull.
func (r *runner) expandToPull(ctx context.Context, c *bsp.Command, i int, b *graph.Block) (*pull, error) {
	p := &r.pulls[i]
	all, err := r.expand(ctx, c, p.from, b, i > 0)
	p.Present, p.All = p.from.read.Words, all
	if err == nil {
		err = r.bound(p)
	}
	return p, err
}

// computeInbox runs the vertices that have a message in the inbox, or are awake.
func (r *runner) computeInbox(c *bsp.Command) error {
	defer r.timed(&r.report.Times.Compute).end()
	if r.list {
		r.instance.Sort(r.part.Owned)
		r.setPulls(false)
		r.writeAll()
		return r.run(r.team.Size() > 1, r.ownChunks(), r.tasks.lists)
	}
	r.makeInbox()
	defer r.inbox.Has.Clear()
	work := r.report.Active + r.delivered()
	if c.Sends {
		work += r.came
	}
	return r.run(work > r.serialEdges && r.team.Size() > 1, nil, r.tasks.inbox)
}

// lap times a phase.
type lap struct {
	report *bsp.Report
	to     *float64
	waited *time.Duration // by the exchange, so far
	start  time.Time
	before time.Duration // waited at the start
}

// timed begins a phase; lap.end adds its time, without the time spent waiting for other partitions.
func (r *runner) timed(to *float64) lap {
	return lap{&r.report, to, &r.exchange.Waited, time.Now(), r.exchange.Waited}
}

func (l lap) end() {
	waited := *l.waited - l.before
	*l.to += (time.Since(l.start) - waited).Seconds()
	l.report.Times.Wait += waited.Seconds()
}
