package engine

import (
	"math/bits"
	"time"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/kernel"
)

// samples is the number of chunks of a partition's lists that the model's coefficients are measured on: about 100,000 edges, from the hubs
// to the tail, so that the cache behaves as in the run. rounds is how often.
const samples, rounds = 6, 4

// measure times the kernel's loops on the partition's own lists. What they compute is not used. It costs some
// milliseconds, when a job is made.
func (r *runner[V, M]) measure() (rates delivery.Rates) {
	guess := delivery.Rates{
		Word: 1e-9, Compute: 3e-9, Value: 3e-9, Copy: 5e-11, Frame: 2e-6, ForkJoin: 2e-6,
		Row: 3e-9, Miss: 1e-7, Transpose: 3e-8, Probe: 1e-9, EdgeFew: 2e-9, Edge: 2e-9, EdgePresent: 2e-9, EdgeAll: 1e-9, Push: 3e-9,
	}
	if r.gather != nil {
		guess.Push = 2e-8 // messages of a list program are copied with their receivers, and sorted by these
	}
	a := r.layout.Blocks[0].Pull.ByReceiver
	if len(a.Adj) < 1<<12 {
		return guess // a graph so small that nothing matters
	}
	defer func() {
		if recover() != nil {
			rates = guess // a user's function panicked on the zero messages of an empty column
		}
	}()
	rates = guess
	none := make([]uint64, len(r.read.Words))
	some := make([]uint64, len(r.read.Words))
	fill := func(word uint64) []uint64 {
		for i := range some {
			some[i] = word
		}
		return some
	}
	p := kernel.Pull{Lists: &a.Lists, Present: none}
	in := &r.threads[0].in
	pull := func() (rows, edges int) {
		r.sample(a.Chunks, len(a.Bits), func(w int) {
			if r.gather != nil {
				edges += r.gatherOnly(&p, w)
				return
			}
			_, walked := r.kernel.Pull(&p, w, ^uint64(0), 0, in)
			rows += bits.OnesCount64(a.Bits[w])
			edges += walked
		})
		return rows, edges
	}
	_, rates.Probe, _ = clock(pull)
	if !r.traits.AnyOne {
		p.Present = fill(0x0001000100010001) // delivery.Few
		_, rates.EdgeFew, _ = clock(pull)
		p.Present = fill(0x5555555555555555)
		_, rates.Edge, _ = clock(pull)
		p.Present = fill(^uint64(0))
		_, rates.EdgePresent, _ = clock(pull)
	}
	p.Present, p.All = fill(^uint64(0)), true
	_, rates.EdgeAll, _ = clock(pull)
	if r.gather != nil {
		rates.Push = max(rates.Push, 10*rates.EdgeAll) // a push copies messages three times, and not in the order of their receivers
		return rates
	}
	if r.traits.AnyOne {
		// With every sender present each list ends at its first edge.
		rates.Row, _, _ = clock(pull)
		rates.EdgeAll = rates.Row
	}
	rates.Push, rates.PushFirst = r.measurePush()
	return rates
}

// gatherOnly gathers the messages to each vertex of word w of a list program, and returns how many edges it looked at.
func (r *runner[V, M]) gatherOnly(p *kernel.Pull, w int) (edges int) {
	t := r.threads[0]
	for i := range uint32(64) {
		lo, hi := p.Row(uint32(w)<<6 + i)
		t.messages = r.gather.gather(p, lo, hi, t.messages[:0])
		edges += int(hi - lo)
	}
	return edges
}

// newMemory is what an edge takes in bins that grow, at least, in seconds: a dozen bytes or more of pages that the kernel has to clear, and that
// are copied as the bins double. The few edges of a sample mostly get pages that were used before.
const newMemory = 8e-9

// measurePush times pushing to every receiver, by bins where a large push goes by them, and leaves the inbox as it was. first is how much longer
// an edge takes beyond those of the pushes before, for bins grow then.
func (r *runner[V, M]) measurePush() (rate, first float64) {
	b := r.layout.Blocks[0].Push
	a := b.BySender
	all := make([]uint64, len(r.read.Words))
	bitmap.Fill(all, r.layout.Count)
	p := kernel.Push{Lists: &a.Lists, Present: all, Skip: make([]uint64, len(r.finished))}
	r.makeInbox()
	push := func() (rows, edges int) {
		r.sample(a.Chunks, len(a.Bits), func(w int) {
			edges += r.kernel.Push(&p, w, &r.inbox)
		})
		r.kernel.Reset() // else a monotone kernel drops the second call's messages
		r.inbox.Has.Clear()
		return 0, edges
	}
	least := 0.
	if r.team.Size() > 1 && r.pushBy(b, 0, 0) == byBins {
		least = newMemory
		bins := r.binsOf(r.threads[0])
		push = func() (rows, edges int) {
			r.sample(a.Chunks, len(a.Bits), func(w int) {
				edges += r.kernel.Emit(&p, w, bins)
			})
			for k, to := range bins.To {
				r.kernel.Fold(to, bins.Msg[k], &r.inbox)
			}
			bins.Reset()
			r.kernel.Reset()
			r.inbox.Has.Clear()
			return 0, edges
		}
	}
	_, rate, first = clock(push)
	r.inbox.Has.Clear()
	return rate, max(first-rate, least)
}

// sample calls f for the words of a few chunks, spread evenly. Other chunks every time would come from memory, by a thread alone and in
// pieces: pulls were predicted to take twice as long then as they take.
func (r *runner[V, M]) sample(chunks []uint32, words int, f func(w int)) {
	n := len(chunks) - 1
	for k := range min(samples, n) {
		c := k * n / samples
		if n <= samples {
			c = k
		}
		for w := int(chunks[c]); w < min(int(chunks[c+1]), words); w++ {
			f(w)
		}
	}
}

// clock returns the seconds that f takes for a row and for an edge, the least of some rounds after the first: a preempted measurement must
// not decide how every superstep is delivered. What the first took for an edge, of which memory and caches are new, is first.
func clock(f func() (rows, edges int)) (row, edge, first float64) {
	for round := range rounds {
		start := time.Now()
		rows, edges := f()
		t := time.Since(start).Seconds()
		switch a, b := t/float64(max(rows, 1)), t/float64(max(edges, 1)); round {
		case 0:
			first = b
		case 1:
			row, edge = a, b
		default:
			row, edge = min(row, a), min(edge, b)
		}
	}
	return row, edge, first
}
