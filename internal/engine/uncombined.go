package engine

import "github.com/superstep-go/superstep/internal/graph"

// emit puts all messages of r.pushing into the workers' bins. edges is the approximate number of
// edges.
func (r *pusher) emit(a *graph.Adjacency, edges int) error {
	if 2*edges >= len(a.Adj) && !r.reserved {
		r.reserve(a.Adj)
	}
	if edges <= r.serialEdges { // few words have a sender
		t := r.threads[0]
		r.binsOf(t)
		r.send(t, &r.pushing, r.hubs, len(r.pushing.Bits), t.Emit)
		return r.failed()
	}
	return r.run(r.team.Size() > 1, a.Chunks, r.emitting)
}

// binned reports whether there is enough memory for this number of pairs in the bins of a push. If
// not, one goroutine pushes directly into the inbox.
func (r *pusher) binned(edges int) bool {
	return !r.job.budget().Tight(int64(edges) * (4 + int64(r.job.methods.program.Message.Size())))
}

// reserve makes room in the bins for a message to each of the receivers, before a superstep in
// which messages cross most edges. Otherwise the bins would be copied several times as they grow,
// and the garbage would take as much memory as the bins.
func (r *pusher) reserve(receivers []uint32) {
	r.reserved = true
	shift, bins := r.binsOf(r.threads[0]).Layout()
	counts := make([]int, len(bins))
	for _, to := range receivers {
		counts[to>>shift]++
	}
	if k := len(r.threads); k > 1 {
		for i, n := range counts {
			counts[i] = n/k + n/(8*k) // workers do not get equal numbers
		}
	}
	for _, t := range r.threads {
		r.binsOf(t)
		t.Reserve(counts)
	}
}
