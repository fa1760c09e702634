package engine_test

import (
	"sync"
	"testing"

	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/pregel"
)

// probed has the work of each kind that a job does.
type probed struct {
	mu   sync.Mutex
	work map[delivery.Work][]int
}

// probe counts the work of runs with these options.
func probe(o *engine.Options) *probed {
	p := &probed{work: map[delivery.Work][]int{}}
	o.Probe = func(kind delivery.Work, n int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.work[kind] = append(p.work[kind], n)
	}
	return p
}

// take returns the work of a kind since the last call, and its sum.
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

// shareWork makes threads share work of any size, and fold bins after round pairs, for graphs that
// are otherwise too small for that.
func shareWork(o *engine.Options, round int) {
	o.Sizes.SerialEdges, o.Sizes.RoundEdges = 1, round
}

// cutChunks makes chunks of one word each, of senders' rows and of pulled rows. So work that
// threads share in rounds is shared in many rounds. It is called after the jobs of the program have
// been made.
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
