package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
)

const (
	// overlappedSubSteps is the number of parts of each owner's vertices that move around a
	// processor row at the same time, half of them in each direction (Nakao20, 3.5.3: n = 4).
	overlappedSubSteps = 4
	// ringGrain is the number of words of rows that a worker takes at a time.
	ringGrain = 32
)

// ringPull pulls in sub-steps along the processor row, in 2D grids.
type ringPull struct {
	*puller
	searching func(worker int) // the method value searchTask

	hasIn   []uint64 // owned vertices with in-edges, which may need a message
	borders []int    // of the parts of the owned vertices, in words
	open    []uint64 // buffer for an own part; need is one for another owner's part, by slot
	need    []uint64
	// The rows that searchTask searches, and the index of their first word.
	searched []uint64
	first    int
}

// ringBlocks pulls in sub-steps along the processor row (ring pull; Nakao20, 3.5). Each owner's
// vertices without a message are passed from block to block, beginning with its own. Each block
// searches those for which no earlier block found a message. So ring pull is for combiners with
// AnyOne. After the sub-steps, the messages found are folded to the owners.
func (g *ringPull) ringBlocks(ctx context.Context) error {
	g.clearWritten()
	g.makeInbox()
	g.makeParts()
	for i, ways := range g.layout.Blocks {
		if !g.crossed(i) {
			continue
		}
		b := ways.Pull
		p, err := g.expandToPull(ctx, i, b)
		if err != nil {
			return err
		}
		p.All = false
		g.pulling = append(g.pulling[:0], p)
		if err := g.passParts(ctx, i, b); err != nil {
			return fmt.Errorf("ring: %w", err)
		}
		if err := g.fold(ctx, i, b, nil); err != nil {
			return err
		}
	}
	return nil
}

// subSteps returns the number of parts of each owner's vertices in a ring pull. It is 1 in a serial
// run.
func (o *Options) subSteps() int {
	if o.Serial {
		return 1
	}
	return overlappedSubSteps
}

// makeParts divides the owned vertices into parts with about equal numbers of in-edges.
func (g *ringPull) makeParts() {
	if g.borders != nil {
		return
	}
	words := g.part.Words()
	g.hasIn = mem.Make[uint64](g.arena, words)
	edges := make([]int, words+1)
	for w := range words {
		for _, c := range g.columns {
			for i, d := range c.in.Of[w<<6 : w<<6+64] {
				edges[w+1] += int(d)
				if d > 0 {
					g.hasIn[w] |= 1 << i
				}
			}
		}
		edges[w+1] += edges[w]
	}
	parts := g.job.options.subSteps()
	for k := range parts {
		w, _ := slices.BinarySearch(edges, (edges[words]*k+parts-1)/parts)
		g.borders = append(g.borders, min(w, words))
	}
	g.borders[0] = 0
	g.borders = append(g.borders, words)
}

// passParts searches all parts of the processor row in block i, and passes them on.
func (g *ringPull) passParts(ctx context.Context, i int, b *graph.Block) error {
	column := g.part.Grid.Column(g.part.Index)
	t, parts := delivery.Token{Owner: g.part.Index}, g.job.options.subSteps()
	for k := range parts {
		t.Part, t.First, t.Open = k, g.borders[k], g.ownOpen(g.finished, g.inbox.Has.Words, k)
		if err := g.search(t.Open, t.First); err != nil {
			return err
		}
		for i := range t.Open {
			t.Open[i] &^= g.inbox.Has.Words[t.First+i]
		}
		if err := g.exchange.SendToken(ctx, g.along(column, k), &t, i); err != nil {
			return err
		}
	}
	for range parts * len(b.Receivers.Line) {
		fold := g.startTimer(&g.report.Times.Fold)
		from, err := g.exchange.ReceiveToken(ctx, b.Receivers, &t, i)
		fold.end()
		if err != nil {
			return err
		}
		if t.Part >= parts || from != g.along(column, t.Part^1) {
			return fmt.Errorf("from partition %d: unexpected part %d of partition %d",
				from, t.Part, t.Owner)
		}
		if err := g.searchGhosts(b, &t); err != nil {
			return err
		}
		if next := g.along(column, t.Part); next != t.Owner {
			if err := g.exchange.SendToken(ctx, next, &t, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// along returns the partition of the processor row to which a part moves from column: even parts
// move right, odd parts left.
func (g *ringPull) along(column, part int) int {
	grid, step := g.part.Grid, 1
	if part%2 == 1 {
		step = grid.Columns - 1
	}
	return grid.At(grid.Row(g.part.Index), (column+step)%grid.Columns)
}

// ownOpen returns the vertices of own part k that need a message and have none.
func (g *ringPull) ownOpen(finished, has []uint64, k int) []uint64 {
	lo, hi := g.borders[k], g.borders[k+1]
	open := g.open[:0]
	for w := lo; w < hi; w++ {
		open = append(open, g.hasIn[w]&^finished[w]&^has[w])
	}
	g.open = open
	return open
}

// searchGhosts is searchOwn for a part of another owner. Some of its vertices are ghosts in this
// partition.
func (g *ringPull) searchGhosts(b *graph.Block, t *delivery.Token) error {
	if len(t.Open) == 0 {
		return nil
	}
	list, group := b.Receivers.Ghosts[t.Owner], b.Receivers.Groups[t.Owner]
	// positions in the group, and so slots
	first, last := list.Rank[t.First], list.Rank[t.First+len(t.Open)]
	lo, hi := first>>6, (last+63)>>6
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
	if err := g.search(need[:hi-lo], base); err != nil {
		return err
	}
	has := g.inbox.Has.Words
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

// search pulls for the rows need, whose first word is word first.
func (g *ringPull) search(need []uint64, first int) error {
	defer g.startTimer(&g.report.Times.Traverse).end()
	g.searched, g.first = need, first
	g.chunks.Reset(0)
	if len(need) > 4*ringGrain && g.team.Size() > 1 {
		g.team.Run(g.searching)
	} else {
		g.searching(0)
	}
	return g.failed()
}

func (g *ringPull) searchTask(worker int) {
	t := g.threads[worker]
	for {
		lo := g.chunks.Take(ringGrain)
		if lo >= len(g.searched) || g.stop.Load() {
			return
		}
		for i, need := range g.searched[lo:min(lo+ringGrain, len(g.searched))] {
			if need != 0 {
				t.count.walked += g.pullInto(t, g.pulling[0], g.first+lo+i, need)
			}
		}
	}
}
