package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
)

const (
	// overlappedSubSteps is the number of parts of each owner's vertices that are passed around a processor row at a time, half of
	// them in each direction (Nakao20, 3.5.3: n = 4).
	overlappedSubSteps = 4
	// ringGrain is how many words of rows a worker takes at a time.
	ringGrain = 32
)

// ringBlocks pulls by sub-steps along the processor row (ring pull; Nakao20, 3.5): each owner's open vertices are passed from block
// to block, its own first, and each block searches those that no earlier block found a message for. So it serves combiners that
// need any one message. The messages found are folded to the owners after the sub-steps.
func (r *runner) ringBlocks(ctx context.Context, c *bsp.Command) error {
	r.clearWritten()
	r.makeInbox()
	r.makeParts()
	for i, ways := range r.layout.Blocks {
		if !r.crossed(c, i) {
			continue
		}
		b, reversed := ways.Pull, i > 0
		p, err := r.expandToPull(ctx, c, i, b)
		if err != nil {
			return err
		}
		p.All = false
		r.pulling = append(r.pulling[:0], p)
		if err := r.passParts(ctx, c, b, reversed); err != nil {
			return fmt.Errorf("ring: %w", err)
		}
		if err := r.fold(ctx, c, b, reversed); err != nil {
			return err
		}
	}
	return nil
}

// subSteps is the number of parts of each owner's vertices in a ring pull: one in a serial run.
func (o *Options) subSteps() int {
	if o.Serial {
		return 1
	}
	return overlappedSubSteps
}

// makeParts divides the owned vertices into parts with about equal numbers of in-edges.
func (r *runner) makeParts() {
	g := &r.grids
	if g.borders != nil {
		return
	}
	words := r.part.Words()
	g.hasIn = mem.Make[uint64](r.arena, words)
	edges := make([]int, words+1)
	for w := range words {
		for i, d := range r.in.Of[w<<6 : w<<6+64] {
			if r.back != nil {
				d += r.out.Of[w<<6+i]
			}
			edges[w+1] += int(d)
			if d > 0 {
				g.hasIn[w] |= 1 << i
			}
		}
		edges[w+1] += edges[w]
	}
	parts := r.job.options.subSteps()
	for k := range parts {
		w, _ := slices.BinarySearch(edges, (edges[words]*k+parts-1)/parts)
		g.borders = append(g.borders, min(w, words))
	}
	g.borders[0] = 0
	g.borders = append(g.borders, words)
}

// passParts searches all parts of the processor row in this block, and passes them on.
func (r *runner) passParts(ctx context.Context, c *bsp.Command, b *graph.Block, reversed bool) error {
	g, column := &r.grids, r.part.Grid.Column(r.part.Index)
	t, parts := delivery.Token{Owner: r.part.Index}, r.job.options.subSteps()
	for k := range parts {
		t.Part, t.First, t.Open = k, g.borders[k], g.ownOpen(r.finished, r.inbox.Has.Words, k)
		if err := r.searchOwn(&t); err != nil {
			return err
		}
		if err := r.exchange.Pass(ctx, r.along(column, k), &t, c.Superstep, reversed); err != nil {
			return err
		}
	}
	for range parts * len(b.Receivers.Line) {
		fold := r.timed(&r.report.Times.Fold)
		from, err := r.exchange.Take(ctx, b.Receivers, &t, c.Superstep, reversed)
		fold.end()
		if err != nil {
			return err
		}
		if t.Part >= parts || from != r.along(column, t.Part^1) {
			return fmt.Errorf("from partition %d: part %d of partition %d, which does not come from there", from, t.Part, t.Owner)
		}
		if err := r.searchGhosts(b, &t); err != nil {
			return err
		}
		if next := r.along(column, t.Part); next != t.Owner {
			if err := r.exchange.Pass(ctx, next, &t, c.Superstep, reversed); err != nil {
				return err
			}
		}
	}
	return nil
}

// along returns the partition of the processor row that a part is passed to from column: to the right if even, to the left if odd.
func (r *runner) along(column, part int) int {
	grid, step := r.part.Grid, 1
	if part%2 == 1 {
		step = grid.Columns - 1
	}
	return grid.At(grid.Row(r.part.Index), (column+step)%grid.Columns)
}

// ownOpen returns the vertices of own part k that may want a message and have none.
func (g *grids) ownOpen(finished, has []uint64, k int) []uint64 {
	lo, hi := g.borders[k], g.borders[k+1]
	open := g.open[:0]
	for w := lo; w < hi; w++ {
		open = append(open, g.hasIn[w]&^finished[w]&^has[w])
	}
	g.open = open
	return open
}

// searchOwn pulls the open vertices of an own part, and removes those that got a message.
func (r *runner) searchOwn(t *delivery.Token) error {
	if err := r.search(t.Open, t.First); err != nil {
		return err
	}
	for i := range t.Open {
		t.Open[i] &^= r.inbox.Has.Words[t.First+i]
	}
	return nil
}

// searchGhosts is searchOwn for a part of another owner, some of whose vertices are ghosts here.
func (r *runner) searchGhosts(b *graph.Block, t *delivery.Token) error {
	if len(t.Open) == 0 {
		return nil
	}
	list, group := b.Receivers.Ghosts[t.Owner], b.Receivers.Groups[t.Owner]
	first, last := list.Rank[t.First], list.Rank[t.First+len(t.Open)] // places in the group, and so slots
	lo, hi := first>>6, (last+63)>>6
	g := &r.grids
	if cap(g.need) < int(hi-lo)+1 {
		g.need = make([]uint64, int(hi-lo)+1)
	}
	need := g.need[:hi-lo+1]
	clear(need)
	for i, open := range t.Open {
		mask := list.Bits[t.First+i]
		if open&mask == 0 {
			continue
		}
		at := list.Rank[t.First+i] - lo<<6
		packed := bitmap.Compress(open, mask)
		need[at>>6] |= packed << (at & 63)
		need[at>>6+1] |= packed >> 1 >> (63 - at&63)
	}
	base := int(group.Start>>6 + lo)
	if err := r.search(need[:hi-lo], base); err != nil {
		return err
	}
	has := r.inbox.Has.Words
	for i, open := range t.Open {
		mask := list.Bits[t.First+i]
		if open&mask == 0 {
			continue
		}
		at := list.Rank[t.First+i] - lo<<6
		w := base + int(at>>6)
		packed := has[w] >> (at & 63)
		if at&63 != 0 && w+1 < len(has) {
			packed |= has[w+1] << (64 - at&63)
		}
		t.Open[i] = open &^ bitmap.Expand(packed, mask)
	}
	return nil
}

// search pulls the rows need, words from first on.
func (r *runner) search(need []uint64, first int) error {
	defer r.timed(&r.report.Times.Traverse).end()
	g := &r.grids
	g.searched, g.first = need, first
	r.chunks.Reset(0)
	if len(need) > 4*ringGrain && r.team.Size() > 1 {
		r.team.Run(r.tasks.search)
	} else {
		r.tasks.search(0)
	}
	return r.failed()
}

func (r *runner) searchTask(worker int) {
	t, g := r.threads[worker], &r.grids
	for {
		lo := r.chunks.Take(ringGrain)
		if lo >= len(g.searched) || r.stop.Load() {
			return
		}
		for i, need := range g.searched[lo:min(lo+ringGrain, len(g.searched))] {
			if need != 0 {
				t.count.walked += r.pullInto(t, r.pulling[0], g.first+lo+i, need)
			}
		}
	}
}
