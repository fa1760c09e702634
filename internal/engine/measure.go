package engine

import (
	"math/bits"
	"time"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/kernel"
)

// samples is the number of chunks of a partition's lists on which a coefficient is measured: about
// 100,000 edges, from hubs to vertices of low degree. rounds is the number of measurements. Each
// one uses other chunks than the measurement before, also between pulls and pushes. So lists are
// read from memory, as in a run, which takes up to twice as long as from a cache. A bias for one
// way of delivery would make the policy choose wrongly.
const samples, rounds = 6, 3

// measure times the kernel's loops on the partition's own lists. It ignores their results. It takes
// some milliseconds when a job is made.
func (r *pusher) measure() (rates delivery.Rates) {
	guess := delivery.Rates{
		Word: 1e-9, Compute: 3e-9, Value: 3e-9, Copy: 5e-11, Frame: 2e-6, ForkJoin: 2e-6,
		Row: 3e-9, Miss: 2e-8, Transpose: 3e-8, Probe: 1e-9, EdgeFew: 2e-9, Edge: 2e-9,
		EdgePresent: 2e-9, EdgeAll: 1e-9, Push: 3e-9,
	}
	if r.list {
		// messages of a list program are copied with their receivers, and sorted by receiver
		guess.Push = 2e-8
	}
	a := r.layout.Blocks[0].Pull.ByReceiver
	if len(a.Adj) < 1<<12 {
		return guess // in such a small graph the choice does not matter
	}
	defer func() {
		if recover() != nil {
			rates = guess // a user's function panicked on the zero messages of an empty column
		}
	}()
	rates = guess
	const few = 0x0001000100010001 // delivery.Few
	none := make([]uint64, len(r.read.Words))
	some := make([]uint64, len(r.read.Words))
	fill := func(word uint64) []uint64 {
		for i := range some {
			some[i] = word
		}
		return some
	}
	p := kernel.Pull{Lists: &a.Lists, Present: none}
	t, turn := r.threads[0], 0
	pull := func() (rows, edges int) {
		turn++
		r.sample(turn, a.Chunks, len(a.Bits), func(lo, hi int) {
			for w := lo; w < hi; w++ {
				edges += t.TryPull(&p, w)
				if !r.list {
					rows += bits.OnesCount64(a.Bits[w])
				}
			}
		})
		return rows, edges
	}
	// between measures the time per edge if a fraction of the vertices sent. It is the mean of two
	// cases: senders spread evenly, where no branch can be predicted, and the first vertices, the
	// hubs, with which lists begin. Real senders are mostly a mixture of both.
	between := func(spread uint64, part float64) float64 {
		p.Present = fill(spread)
		_, even := clock(pull)
		p.Present = fill(0)
		for i := range int(part * float64(len(some))) {
			some[i] = ^uint64(0)
		}
		_, hubs := clock(pull)
		return (even + hubs) / 2
	}
	_, rates.Probe = clock(pull)
	if !r.traits.AnyOne {
		rates.EdgeFew = between(few, 1./16)
		rates.Edge = between(0x5555555555555555, 1./2)
		p.Present = fill(^uint64(0))
		_, rates.EdgePresent = clock(pull)
	}
	p.Present, p.All = fill(^uint64(0)), true
	_, rates.EdgeAll = clock(pull)
	if r.list {
		// a push copies messages three times, and not in the order of their receivers
		rates.Push = max(rates.Push, 10*rates.EdgeAll)
		return rates
	}
	if r.traits.AnyOne {
		// If every sender is present, each list ends at its first edge.
		rates.Row, _ = clock(pull)
		rates.EdgeAll = rates.Row
		p.Present, p.All = fill(few), false
		row, edge := clock(pull)
		rates.EdgeFew = max(rates.Probe, edge*(1-rates.Row/row))
	}
	rates.Push = r.measurePush(turn)
	return rates
}

// measurePush times a push to every receiver, through bins if a large push uses them. It leaves the
// inbox empty.
func (r *pusher) measurePush(turn int) float64 {
	t, b := r.threads[0], r.layout.Blocks[0].Push
	a := b.BySender
	all := bitmap.NewFrontier(make([]uint64, len(r.read.Words)))
	bitmap.Fill(all.Words, r.layout.Count)
	all.All = true
	r.sending = &column{read: all}
	p := kernel.Push{Lists: &a.Lists, Present: all.Words, Skip: make([]uint64, len(r.finished))}
	r.makeInbox()
	by := t.Push
	var to [][]uint32
	if r.team.Size() > 1 && r.pushBy(b, 0, 0) == byBins {
		_, to = r.binsOf(t).Layout()
		by = t.Emit
	}
	defer r.inbox.Has.Clear()
	_, rate := clock(func() (rows, edges int) {
		turn++
		t.count.walked = 0
		r.sample(turn, a.Chunks, len(a.Bits), func(lo, hi int) { r.send(t, &p, lo, hi, by) })
		for k := range to {
			r.instance.FoldBins(r.lanes[:1], k)
		}
		r.kernel.Reset() // otherwise a monotone kernel would drop the messages of the next call
		r.inbox.Has.Clear()
		return 0, t.count.walked
	})
	return rate
}

// sample calls f for the ranges of a few chunks of words, spread evenly. Each turn uses other
// chunks, if there are enough.
func (r *pusher) sample(turn int, chunks []uint32, words int, f func(lo, hi int)) {
	n := len(chunks) - 1
	for k := range min(samples, n) {
		c := k*n/samples + turn*7%max(n/samples, 1)
		if n <= samples {
			c = k
		}
		f(int(chunks[c]), min(int(chunks[c+1]), words))
	}
}

// clock returns the seconds of f per row and per edge: the minimum of some rounds after a warm-up
// round. With the minimum, a preempted measurement does not influence the choice of schemes.
func clock(f func() (rows, edges int)) (row, edge float64) {
	for round := range rounds {
		start := time.Now()
		rows, edges := f()
		t := time.Since(start).Seconds()
		if a, b := t/float64(max(rows, 1)), t/float64(max(edges, 1)); round <= 1 {
			row, edge = a, b
		} else {
			row, edge = min(row, a), min(edge, b)
		}
	}
	return row, edge
}
