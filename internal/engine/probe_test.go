package engine_test

import (
	"sync"
	"testing"

	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/pregel"
)

// probed is the work of each kind that a job does.
type probed struct {
	mu   sync.Mutex
	work map[delivery.Work][]int
}

// probe has the runs of jobs with these options counted.
func probe(o *engine.Options) *probed {
	p := &probed{work: map[delivery.Work][]int{}}
	o.Probe = func(kind delivery.Work, n int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.work[kind] = append(p.work[kind], n)
	}
	return p
}

// take returns the work of a kind since it was taken last, and its sum.
func (p *probed) take(kind delivery.Work) (each []int, sum int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	each = p.work[kind]
	delete(p.work, kind)
	for _, n := range each {
		sum += n
	}
	return each, sum
}

// shareWork makes work of any size shared among threads, and bins folded when a thread has put so
// many pairs into them, for graphs smaller than those for which that pays.
func shareWork(o *engine.Options, round int) {
	o.Sizes.SerialEdges, o.Sizes.RoundEdges = 1, round
}

// cutChunks cuts the rows of senders, and those that are pulled, into chunks of one word each, as
// if they had a chunk's cost of edges: what is shared among threads in rounds is then shared in
// many. It is called after the jobs of the program have been made.
func cutChunks(t testing.TB, g *graph.Graph, p engine.Erased) {
	t.Helper()
	direction := pregel.Out
	if of, ok := p.Program.(engine.Stating); ok && g.Directed {
		direction = of.Traits().Direction
	}
	for _, part := range g.Parts {
		for _, ways := range part.Layout(direction).Blocks {
			for _, b := range []*graph.Block{ways.Push, ways.Pull} {
				senders, err := part.SendersView(t.Context(), b)
				check(t, err)
				for _, a := range []*graph.Adjacency{senders, b.ByReceiver} {
					if a == nil {
						continue
					}
					owned, words := a.Chunks[a.Owned], a.Chunks[len(a.Chunks)-1]
					a.Chunks, a.Owned = nil, int(owned)
					for w := range words + 1 {
						a.Chunks = append(a.Chunks, w)
					}
				}
			}
		}
	}
}
