package engine

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// In a 2D grid, blocks have ghosts on both sides. So a vertex cannot run as soon as its row is
// pulled. Like those of a push, its messages go to the inbox, and are folded to their owners first.
// Before a change of the graph, pulls use the inbox in every grid, because the vertices run on the
// changed graph.
//
//	block pull (pullBlocks): expand -> pull ghosts' rows -> fold out -> pull own rows -> fold in
//	                         -> compute
//	ring pull (ringBlocks):  expand -> sub-steps along the processor row -> fold -> compute

// noEdges returns the reason why programs cannot access edges in a 2D grid.
func noEdges(g graph.Grid) error {
	flat := graph.Of(g.Partitions())
	return bsp.GridError(fmt.Sprintf("the edges of a vertex are spread over a column of the %v grid of partitions; a grid of %v keeps them together (--grid %v)", g, flat, flat))
}

// pullBlocks pulls every block as a whole (block pull). It pulls ghosts' rows first, and sends
// their results while it pulls the owned rows, unless the run is serial.
func (r *puller) pullBlocks(ctx context.Context) error {
	r.clearWritten()
	if !r.list {
		r.makeInbox()
	}
	if err := r.announceFinished(ctx); err != nil {
		return err
	}
	for i, ways := range r.layout.Blocks {
		if !r.crossed(i) {
			continue
		}
		b := ways.Pull
		p, err := r.expandToPull(ctx, i, b)
		if err != nil {
			return err
		}
		if r.list { // a program that changes the graph, in a flat grid
			phase := r.startTimer(&r.report.Times.Traverse)
			r.threads[0].count.walked += r.instance.Gather(&p.Pull, p.from.way, r.part.Owned,
				r.finished)
			phase.end()
			continue
		}
		r.pulling = append(r.pulling[:0], p)
		many := r.report.UnfinishedEdges+r.part.Owned > r.serialEdges && r.team.Size() > 1
		pull := func(chunks []uint32) error {
			defer r.startTimer(&r.report.Times.Traverse).end()
			return r.run(many, chunks, r.pullingBlock)
		}
		if err := pull(b.ByReceiver.GhostChunks()); err != nil {
			return err
		}
		own := func() error { return pull(b.ByReceiver.OwnChunks()) }
		if err := r.fold(ctx, i, b, own); err != nil {
			return err
		}
	}
	return nil
}

// fold sends partial results of block i to their owners, and folds the received ones into the
// inbox. meanwhile, if not nil, computes while they are transferred, unless the run is serial.
func (r *partition) fold(ctx context.Context, i int, b *graph.Block, meanwhile func() error) error {
	phase := r.startTimer(&r.report.Times.Fold)
	err := r.exchange.Fold(ctx, b.Receivers, r.inbox, r.folding, i,
		func() error { return phase.pause(meanwhile) })
	return phase.ended("fold", err)
}

// pullBlockTask pulls rows into the inbox.
func (r *puller) pullBlockTask(worker int) {
	t, p := r.threads[worker], r.pulling[0]
	pull := func(lo, hi int) bool {
		for w := lo; w < hi; w++ {
			t.count.walked += r.pullInto(t, p, w, p.Bits[w]&^r.finished[w])
		}
		return true
	}
	if r.traits.AnyOne {
		r.eachRun(pull)
	} else {
		r.eachChunk(pull)
	}
}

// pullInto pulls the rows need of word w into the inbox, and returns the number of edges walked.
func (r *puller) pullInto(t *thread, p *pull, w int, need uint64) int {
	if r.traits.AnyOne {
		need &^= r.inbox.Has.Words[w]
	}
	if need == 0 {
		return 0
	}
	return t.PullInto(kernel.ColumnPull{Pull: &p.Pull, Way: p.from.way}, w, need)
}

// announceFinished sends the newly finished vertices to the partitions of the processor row, so
// that these no longer pull their rows.
func (r *puller) announceFinished(ctx context.Context) error {
	if !r.command.Finished || r.part.Grid.Flat() {
		return nil
	}
	defer r.startTimer(&r.report.Times.Expand).end()
	if r.announced == nil {
		r.announced = mem.Make[uint64](r.arena, r.part.Words())
		r.fresh = bitmap.NewFrontier(mem.Make[uint64](r.arena, r.part.Words()))
		r.fresh.All = true
	}
	for w, announced := range r.announced {
		r.fresh.Words[w] = r.finished[w] &^ announced
		r.announced[w] = r.finished[w]
	}
	for i, ways := range r.layout.Blocks {
		if err := r.exchange.Finished(ctx, ways.Pull.Receivers, r.fresh, r.finished,
			i); err != nil {
			return fmt.Errorf("finished vertices: %w", err)
		}
	}
	return nil
}
