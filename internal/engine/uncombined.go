package engine

import (
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// uncombined reports whether pushed messages travel one by one.
func (r *runner[V, M]) uncombined() bool { return r.gather != nil || r.job.options.Uncombined }

// emit puts all messages of r.pushing, over about so many edges, into the workers' bins.
func (r *runner[V, M]) emit(a *graph.Adjacency, edges int) error {
	if 2*edges >= len(a.Adj) && !r.reserved {
		r.reserve(a.Adj)
	}
	if edges <= r.serialEdges { // few words have a sender
		t := r.threads[0]
		bins := r.binsOf(t)
		r.eachSenderWord(len(r.pushing.Bits), func(w int) { t.count.walked += r.sending.kernel.Emit(&r.pushing, w, bins) })
		return r.failed()
	}
	round := r.round
	r.round = 1 << 62
	err := r.run(r.team.Size() > 1, a.Chunks, r.tasks.emit)
	r.round = round
	return err
}

// reserve makes room in the bins for a message to each of the receivers, before a superstep in which most edges are crossed: bins that grow
// as they are filled are copied several times, and leave behind as much as they hold.
func (r *runner[V, M]) reserve(receivers []uint32) {
	r.reserved = true
	first := r.binsOf(r.threads[0])
	counts := make([]int, len(first.To))
	for _, to := range receivers {
		counts[to>>first.Shift]++
	}
	for _, t := range r.threads {
		b := r.binsOf(t)
		for i, n := range counts {
			if k := len(r.threads); k > 1 {
				n = n/k + n/(8*k) // workers do not get the same
			}
			b.To[i] = mem.Grow(r.store, b.To[i], n)
			b.Msg[i] = mem.Grow(r.store, b.Msg[i], n)
		}
	}
}

func (r *runner[V, M]) allBins() []*kernel.Bins[M] {
	r.emitted = r.emitted[:0]
	for _, t := range r.threads {
		if t.bins != nil {
			r.emitted = append(r.emitted, t.bins)
		}
	}
	return r.emitted
}

func (r *runner[V, M]) resetBins() {
	for _, b := range r.allBins() {
		b.Reset()
	}
}
