package engine

import (
	"context"
	"errors"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
)

// puller delivers by pulling along the receivers' edges.
type puller struct {
	*partition
	sweep *sweep
	tiles *tiling
	light *lightest
	early *early

	pullingWords, pullingBlock func(worker int) // pullTask and pullBlockTask

	pulls   []pull              // by block
	pulling []*pull             // the pulls of this superstep
	passed  []kernel.ColumnPull // pulling, in the form that the instance needs

	announced []uint64         // finished owned vertices that the processor row knows
	fresh     *bitmap.Frontier // finished owned vertices to announce now
}

// pullAndCompute, in a flat grid, expands the frontier. Then it walks the in-edges of the
// unfinished vertices, one word at a time, and computes the word at once, while its messages are in
// the cache.
func (r *puller) pullAndCompute(ctx context.Context) error {
	r.pulling = r.pulling[:0]
	for i, ways := range r.layout.Blocks {
		if !r.crossed(i) {
			continue
		}
		if _, err := r.expandToPull(ctx, i, ways.Pull); err != nil {
			return err
		}
		r.pulling = append(r.pulling, &r.pulls[i])
	}
	many := r.report.UnfinishedEdges+r.part.Owned > r.serialEdges && r.team.Size() > 1
	if err := r.tiles.pullTiles(ctx, r.pulling, many); err != nil {
		return err
	}
	if r.tiles.on {
		r.pulling = r.pulling[:0]
	}
	phase := r.startTimer(&r.report.Times.Traverse)
	defer func() {
		phase.end()
		r.sweep.splitTraverseTime()
	}()
	r.markAllWritten() // owned words are all written below; expand writes the ghosts' words
	if r.list {
		r.instance.Sort(r.part.Owned)
	} else if r.command.Sends {
		r.makeInbox()
		defer r.inbox.Has.Clear()
	}
	r.setPulls(r.command.Sends)
	r.early.beginEarly(many)
	return errors.Join(r.run(many, r.ownChunks(), r.pullingWords), r.early.err)
}

func (r *puller) pullTask(worker int) {
	t := r.threads[worker]
	defer r.recover(t)
	pull := func(lo, hi int) bool {
		if r.list {
			r.sweep.computeLists(t, lo, hi, true)
		} else {
			r.pullWords(t, lo, hi)
		}
		return true
	}
	switch {
	case r.early.on:
		r.early.eachEarly(worker, pull)
	case r.traits.AnyOne:
		r.eachRun(pull)
	default:
		r.eachChunk(pull)
	}
}

// setPulls sets the lists that the instance pulls through in this superstep.
func (r *puller) setPulls(inbox bool) {
	r.passed = r.passed[:0]
	for _, p := range r.pulling {
		r.passed = append(r.passed, kernel.ColumnPull{Pull: &p.Pull, Way: p.from.way})
	}
	var tiled []uint64
	if r.tiles.on {
		tiled = r.tiles.found
	}
	r.instance.SetPulls(r.passed, inbox && !r.list, tiled)
}

func (r *puller) pullWords(t *thread, lo, hi int) {
	if r.tiles.on || r.back != nil || r.command.Sends || len(r.pulling) != 1 {
		r.pullMany(t, lo, hi)
		return
	}
	walked, lists, finished, awake, written := 0, r.pulling[0].Bits, r.finished, r.active,
		r.write.Words
	for w := lo; w < hi; w++ {
		open, active := ^finished[w], awake[w]
		need := open & lists[w]
		if need == 0 && active == 0 {
			written[w] = 0
			continue
		}
		run, received, sent, halted, ended, edges := t.PullOne(w, need, open, active)
		walked += edges
		if run == 0 {
			written[w] = 0
			continue
		}
		r.drain(t, w, active, run, received, sent, halted, ended)
		if sent != 0 && r.light.shares {
			r.light.share(w, sent)
		}
	}
	t.count.walked += walked
}

// pullMany is pullWords for supersteps with several sources of messages.
func (r *puller) pullMany(t *thread, lo, hi int) {
	for w := lo; w < hi; w++ {
		active := r.active[w]
		run, received, sent, halted, finished, edges := t.Pull(w, ^r.finished[w], active)
		t.count.walked += edges
		r.ran(t, w, active, run, received, sent, halted, finished)
		if sent != 0 && r.light.shares {
			r.light.share(w, sent)
		}
	}
}

// expandToPull expands the column that is pulled through block i, and prepares the pull.
func (r *puller) expandToPull(ctx context.Context, i int, b *graph.Block) (*pull, error) {
	p := &r.pulls[i]
	all, err := r.expand(ctx, i, b, 0, nil)
	p.Present, p.All = p.from.read.Words, all
	if err == nil {
		err = r.light.boundPull(p)
	}
	return p, err
}
