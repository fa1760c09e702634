package engine

import (
	"context"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/trace"
)

// ModelAs makes the job choose as another does, whose rates were measured at another moment.
func (j *Job[V, M]) ModelAs(other *Job[V, M]) {
	j.coordinator.policy.Rates = other.coordinator.policy.Rates
}

// Watcher keeps what is recorded for a sink.
type Watcher = keeper

// NewWatcher makes a Watcher, for the jobs of a name.
func NewWatcher(to trace.Sink, job string) *Watcher { return newKeeper(to, job) }

// Watch has the next runs recorded for the Watcher's sink, or not at all. One job can so be compared with itself: two that
// lie elsewhere in memory differ by more than what a record costs.
func (j *Job[V, M]) Watch(w *Watcher) {
	j.keeper, j.options.Trace = w, nil
	if w != nil {
		j.options.Trace = w.to
	}
	for _, r := range j.runners {
		r.exchange.Tracing = w != nil
	}
}

// ShareWork makes work of more than so many edges shared among threads, and bins folded when a worker has put so many pairs into
// them, for graphs smaller than those for which that pays.
func (j *Job[V, M]) ShareWork(edges, round int) {
	for _, r := range j.runners {
		r.serialEdges, r.round = edges, round
	}
}

// CutChunks cuts the rows of senders into chunks of one word each, as if they had a chunk's cost of edges: what is shared among
// threads in rounds is then shared in many.
func (j *Job[V, M]) CutChunks(ctx context.Context) error {
	for _, r := range j.runners {
		for _, ways := range r.layout.Blocks {
			for _, b := range []*graph.Block{ways.Push, ways.Pull} {
				a, err := r.part.SendersView(ctx, b)
				if err != nil {
					return err
				}
				owned, words := a.Chunks[a.Owned], a.Chunks[len(a.Chunks)-1]
				a.Chunks, a.Owned = nil, int(owned)
				for w := range words + 1 {
					a.Chunks = append(a.Chunks, w)
				}
			}
		}
	}
	return nil
}
