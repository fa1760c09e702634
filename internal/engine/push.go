package engine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"sort"

	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/parallel"
)

const (
	// roundEdges is the number of pairs that a worker puts into bins before they are folded, so
	// that they stay in the last-level cache. Messages that a monotone program drops do not count.
	roundEdges = 128 << 10
	// maxRanges is the largest team that pushes by ranges, where every worker visits every sender.
	maxRanges = 4
	// rangesEach is the number of ranges per worker, for load balance.
	rangesEach = 4
	// runsEach is the number of runs of chunks per worker into which a pull is divided at first.
	runsEach = 8
	// longLists is the mean number of edges per sender above which ranges are faster than claims:
	// ranges split a hub's list, and need no atomics.
	longLists = 64
	// hubShares: a word of senders is pushed by ranges if it has more edges than 1/hubShares of a
	// worker's share of the push.
	hubShares = 4
	// hubEdges is the number of edges of a word of senders below which splitting them costs more
	// than it saves.
	hubEdges = 4 << 10
	// binBytes is the approximate size of a bin's part of the inbox: half a second-level cache.
	binBytes = 256 << 10
)

// pusher delivers by pushing along the senders' edges.
type pusher struct {
	*partition
	light *lightest
	// method values of rangedTask, claimTask, emitTask and foldTask
	ranging, claiming, emitting, foldingBins func(worker int)

	pushing kernel.Push
	sending *column      // the column whose messages are pushed
	through *graph.Block // the block that is pushed through
	borders []uint32     // of the ranges of receivers
	ranged  int          // number of words of senders that are pushed by ranges, from the first on
	hubs    int          // the first word to push: the words before have been pushed
	others  []uint64     // words of senders that are no hubs of Lalp

	bins     parallel.Counter // next bin to fold
	emitted  []kernel.Pairs
	reserved bool // bins have room for messages over all edges
	round    int  // number of pairs that a worker emits before the bins are folded
}

// pushBlocks delivers by pushing along the senders' own edges or, in a mirrored push, along the
// local edges of received senders. Lalp does the one for some senders and the other for the rest.
func (r *pusher) pushBlocks(ctx context.Context) error {
	r.clearWritten()
	if r.command.Scheme == delivery.None {
		return nil
	}
	for i, ways := range r.layout.Blocks {
		if !r.crossed(i) {
			continue
		}
		b, edges, err := ways.Push, r.columnOf(i).delivering.edges, error(nil)
		if r.command.Scheme == delivery.Mirrored {
			b = ways.Pull
		}
		if r.command.Scheme == delivery.Lalp {
			err = r.pushHubs(ctx, i, ways, edges)
		} else {
			err = r.pushBlock(ctx, i, b, 0, edges)
		}
		if err == nil && r.uncombined() {
			err = r.sendUncombined(ctx, i, b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pushHubs delivers by Lalp. It sends the messages of hubs to all partitions. Meanwhile it pushes
// and folds those of the other vertices. Then each partition pushes the messages of all hubs.
func (r *pusher) pushHubs(ctx context.Context, i int, ways graph.Blocks, edges int) error {
	from, ofHubs := r.columnOf(i), 0
	hubs := cmp.Or(r.job.options.Sizes.HubWords, r.command.Hubs)
	own := min(hubs, r.part.Words())
	for w, senders := range from.read.Words[:own] {
		ofHubs += from.out.Sum(w, senders)
	}
	others := edges - ofHubs
	ofAll := max(ofHubs, r.command.SenderEdges/r.part.Of-others) // other partitions' hubs, too
	if _, err := r.expand(ctx, i, ways.Pull, hubs, func() error {
		return r.pushBlock(ctx, i, ways.Push, own, others)
	}); err != nil {
		return err
	}
	rest := from.read.Words[own:r.part.Words()] // another block may deliver them, too
	r.others = append(r.others[:0], rest...)
	clear(rest)
	err := r.pushThrough(ctx, i, ways.Pull, 0, ofAll)
	copy(rest, r.others)
	return err
}

// pushBlock expands the frontier, pushes it through block i of the layout, and folds the partial
// results for ghosts to their owners. It pushes only senders from a word on, with about edges
// edges.
func (r *pusher) pushBlock(ctx context.Context, i int, b *graph.Block, word, edges int) error {
	if len(b.Senders.Line) > 0 {
		edges = r.command.SenderEdges / r.part.Of
	}
	_, err := r.expand(ctx, i, b, 0, nil)
	if err == nil {
		err = r.pushThrough(ctx, i, b, word, edges)
	}
	if err != nil || r.uncombined() {
		return err
	}
	return r.fold(ctx, i, b, nil)
}

// pushThrough pushes the frontier, from a word on, through block i of the layout.
func (r *pusher) pushThrough(ctx context.Context, i int, b *graph.Block, word, edges int) error {
	a, err := r.part.SendersView(ctx, b)
	if err != nil {
		return fmt.Errorf("making lists by sender: %w", err)
	}
	if t := r.light.thinned(); t != nil {
		thin := *b
		thin.BySender, a, b = t, t, &thin
		edges = r.light.pushEdges
	}
	r.sending, r.through, r.hubs = r.columnOf(i), b, word
	r.pushing = kernel.Push{Lists: &a.Lists, Present: r.sending.read.Words, Skip: r.finished}
	defer r.startTimer(&r.report.Times.Traverse).end()
	if r.uncombined() {
		return r.emit(a, edges)
	}
	r.makeInbox()
	return r.push(a.Chunks, edges)
}

// sendUncombined sends the messages in the bins to the owners of their receivers.
func (r *pusher) sendUncombined(ctx context.Context, i int, b *graph.Block) error {
	phase := r.startTimer(&r.report.Times.Fold)
	r.emitted = r.emitted[:0]
	for _, t := range r.threads {
		if bins := t.Pairs(0); bins != nil {
			r.emitted = append(r.emitted, bins)
		}
	}
	err := r.exchange.Uncombined(ctx, b.Receivers, r.layout.Slots.Ghost, r.emitted, r.sinking, i)
	for _, b := range r.emitted {
		b.Reset()
	}
	return phase.ended("fold", err)
}

// push pushes the messages of r.pushing into the inbox. edges is the approximate number of edges.
func (r *pusher) push(chunks []uint32, edges int) error {
	if from := r.sending; from.read.All {
		from.read.Tighten()
	}
	if edges <= r.serialEdges || r.team.Size() == 1 {
		r.pushAlone()
		return nil
	}
	by := r.pushBy(r.through, r.sending.delivering.senders, edges)
	if by == byRanges {
		return r.pushRanges(len(r.pushing.Bits), r.sending.delivering.senders, edges)
	}
	if words, senders, part := r.hubWords(edges); words > 0 {
		if err := r.pushRanges(words, senders, part); err != nil {
			return err
		}
		edges = max(edges-part, 0) // an estimate: other senders may have edges even if it is 0
		r.hubs = words
	}
	switch {
	case by == byClaims:
		return r.run(true, chunks, r.claiming)
	case r.binned(edges):
		return r.pushRounds(chunks)
	default:
		r.pushAlone()
		return r.failed()
	}
}

// pushAlone pushes the messages of all senders on one thread, except the words of hubs that have
// been pushed before.
func (r *pusher) pushAlone() {
	t := r.threads[0]
	r.send(t, &r.pushing, r.hubs, len(r.pushing.Bits), t.Push)
}

// pushMethod is how the workers of a team divide a push (docs/design.md, Push).
type pushMethod uint8

const (
	byClaims pushMethod = iota // a worker takes senders, and claims receivers atomically
	byRanges                   // a worker takes ranges of receivers, and visits every sender
	// A worker takes senders and puts pairs into bins by receiver. Then one worker folds each bin.
	byBins
)

// pushBy returns how the team divides a push through a block. Bins are for cases in which the
// others do not apply, and for monotone programs, which drop most messages before they reach a bin.
func (r *pusher) pushBy(b *graph.Block, senders, edges int) pushMethod {
	ranges := b.BySender.Rising && r.team.Size() <= maxRanges && !r.job.methods.traits.Monotone
	switch {
	case r.instance.Claims() && (!ranges || edges < longLists*senders):
		return byClaims
	case ranges:
		return byRanges
	default:
		return byBins
	}
}

// hubWords returns how many words, from the first on, have long lists and at least 1/hubShares of a
// worker's share of the edges each. With such a word, one worker might get more than its share. So
// these words are pushed by ranges, and the following ones by another method. hubWords also returns
// the number of their senders and edges. (Nakao20, 3.4, chooses for each sender. Here one choice is
// for 64 senders, whose degrees are similar in degree order.)
func (r *pusher) hubWords(edges int) (words, senders, part int) {
	if !r.through.BySender.Rising {
		return 0, 0, 0
	}
	team := len(r.threads)
	least := max(edges/(hubShares*team), min(r.serialEdges, hubEdges))
	r.senderWords(r.hubs, len(r.pushing.Bits), func(w int) bool {
		rows := r.pushing.Senders(r.threads[0].rows[:0], w)
		own, n := r.pushing.Find(rows), len(rows)
		if own < least || own < longLists*n*team {
			return false
		}
		words, senders, part = w+1, senders+n, part+own
		return true
	})
	return words, senders, part
}

// pushRanges pushes the messages of the senders in the first words by ranges.
func (r *pusher) pushRanges(words, senders, edges int) error {
	r.cutRanges(senders, edges)
	r.ranged = words
	return r.run(true, nil, r.ranging)
}

// cutRanges divides the receivers into ranges with about equal numbers of edges to push (Nakao20,
// 3.4). If less than an eighth of all edges are pushed, it uses the distribution of the first
// sender's list, a hub's, unless that is short. Otherwise it uses that of all edges.
func (r *pusher) cutRanges(senders, edges int) {
	n := min(rangesEach*len(r.threads), max(edges/(longLists*max(senders, 1)), len(r.threads)))
	in, out := &r.through.ByReceiver.Lists, &r.through.BySender.Lists
	var hub []uint32
	if edges < len(in.Adj)/8 {
		lo, hi := out.Row(r.firstSender())
		hub = out.Adj[lo:hi]
	}
	r.borders = append(r.borders[:0], 0)
	for i := 1; i < n; i++ {
		w := 0
		if len(hub) >= longLists {
			w = int(hub[len(hub)*i/n] >> 6)
		} else {
			share := uint32(uint64(len(in.Adj)) * uint64(i) / uint64(n))
			w = sort.Search(len(in.Bits),
				func(w int) bool { _, hi := in.Words(w); return hi > share })
		}
		r.borders = append(r.borders, uint32(w<<6))
	}
	r.borders = append(r.borders, math.MaxUint32)
}

// firstSender returns the lowest slot of a sender.
func (r *pusher) firstSender() (first uint32) {
	words := r.sending.read.Words
	r.senderWords(0, len(words), func(w int) bool {
		first = uint32(w<<6 + bits.TrailingZeros64(words[w]))
		return false
	})
	return first
}

// rangedTask takes ranges of receivers and pushes to them.
func (r *pusher) rangedTask(worker int) {
	t := r.threads[worker]
	for k := r.chunks.Take(1); k < len(r.borders)-1 && !r.stop.Load(); k = r.chunks.Take(1) {
		t.push = r.pushing
		t.push.Ranged = true
		t.push.From, t.push.To = r.borders[k], r.borders[k+1]
		r.send(t, &t.push, r.hubs, r.ranged, t.Push)
	}
}

// pushRounds alternates between filling the workers' bins and folding them. One worker folds a bin,
// so no locks are needed, and the bin's receivers stay in a cache.
func (r *pusher) pushRounds(chunks []uint32) error {
	r.words = chunks
	r.chunks.Reset(0)
	for r.chunks.Taken() < len(chunks)-1 && !r.stop.Load() {
		r.team.Run(r.emitting)
		r.bins.Reset(0)
		r.team.Run(r.foldingBins)
	}
	return r.failed()
}

func (r *pusher) claimTask(worker int) {
	t := r.threads[worker]
	r.eachChunk(func(lo, hi int) bool {
		r.send(t, &r.pushing, max(lo, r.hubs), hi, t.Claim)
		return true
	})
}

func (r *pusher) emitTask(worker int) {
	t := r.threads[worker]
	bins := r.binsOf(t)
	r.eachChunk(func(lo, hi int) bool {
		r.send(t, &r.pushing, max(lo, r.hubs), hi, t.Emit)
		return r.uncombined() || bins.Len() < r.round // uncombined messages are not folded
	})
}

func (r *pusher) foldTask(int) {
	_, to := r.threads[0].Pairs(0).Layout()
	for k := r.bins.Take(1); k < len(to); k = r.bins.Take(1) {
		r.instance.FoldBins(r.lanes, k)
	}
}

// binsOf returns a worker's bins. It makes them at first use.
func (r *pusher) binsOf(t *thread) kernel.Pairs {
	if bins := t.Pairs(0); bins != nil {
		return bins
	}
	size := int(r.job.methods.program.Message.Size()) + 1
	shift := uint(max(bits.Len(uint(binBytes/size))-1, 12))
	// More bins than workers, for load balance. A bin has at least 4096 slots: a word of the
	// inbox's summary.
	for shift > 12 && r.layout.Count>>shift < 4*r.team.Size() {
		shift--
	}
	return t.Pairs(shift)
}

// rowPush pushes the messages of a column along rows.
type rowPush = func(p *kernel.Push, way int, rows []kernel.Row)

// send calls f with the rows of the senders in words [from, to), some rows at a time.
func (r *pusher) send(t *thread, p *kernel.Push, from, to int, f rowPush) {
	before := t.count.walked
	for from < to {
		rows := t.rows[:0]
		rows, from = p.Rows(rows, r.sending.read, from, to)
		t.count.walked += p.Find(rows)
		p.Fetch(rows)
		f(p, r.sending.way, rows)
	}
	r.probe(delivery.PushedEdges, t.count.walked-before)
}

// senderWords calls f for every word of source slots in [from, limit) that has a sender, until f
// returns false.
func (r *pusher) senderWords(from, limit int, f func(w int) bool) {
	read := r.sending.read
	for t := from >> 6; t < min(len(read.Top), (limit+63)>>6); t++ {
		for top := read.Summary(t); top != 0; top &= top - 1 {
			w := t<<6 + bits.TrailingZeros64(top)
			if w >= limit {
				return
			}
			if w >= from && read.Words[w] != 0 && !f(w) {
				return
			}
		}
	}
}
