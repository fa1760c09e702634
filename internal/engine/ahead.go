package engine

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/delivery"
)

// Columns leave before their superstep begins, to distant partitions, where one can expect that it delivers by columns (Ueno11,
// 4.2: what is found is sent while the rest is searched): they are under way while the rest of the vertices run, and while the coordinator
// decides. If it decides otherwise they are dropped.

// manyEdges is the share of a partition's edges that messages cross from which columns are expected after a superstep without.
const manyEdges = 16

// early is the state of a pull that sends what its vertices send before all have run. Vertices are in degree order: those of a column's first
// part, hubs, take most of the walk, so that nearly all of the column would be ready at its end. So chunks run in another order:
//
//	words   0 ... hubs | the rest of the first part | later parts ... end
//	runs    1st        | 3rd                        | 2nd
//
// The first hubs still come first: their long lists read the column of messages in order, and so bring it into the cache.
type early struct {
	on         bool
	hubs, tail int            // chunks: the first hubs are those below hubs, the later parts begin at tail
	began      []atomic.Int64 // by worker, which chunk it has begun last, as they are run; all before the least have run
	looked     int            // how many had run when what may be sent was last looked for
	err        error
}

// chunk returns which of n chunks runs as the k-th.
func (e *early) chunk(k, n int) int {
	switch later := n - e.tail; {
	case k < e.hubs:
		return k
	case k < e.hubs+later:
		return e.tail + k - e.hubs
	default:
		return k - later
	}
}

// ran says which words have run when the first k of the chunks have.
func (e *early) ran(k int, chunks []uint32) delivery.Ran {
	switch later := len(chunks) - 1 - e.tail; {
	case k <= e.hubs:
		return delivery.Ran{Below: int(chunks[k])}
	case k <= e.hubs+later:
		return delivery.Ran{Below: int(chunks[e.hubs]), From: int(chunks[e.tail]), To: int(chunks[e.tail+k-e.hubs])}
	default:
		return delivery.Ran{Below: int(chunks[k-later]), From: int(chunks[e.tail]), To: math.MaxInt}
	}
}

// byColumns reports whether a scheme delivers by columns that are the same in every scheme that does.
func byColumns(s delivery.Scheme) bool { return s != delivery.None && s != delivery.Naive }

// worthDelay is the delay of links, in seconds, from which columns leave early whenever they are expected. Over faster ones little is to be hidden, and
// columns that are dropped cost as much as others: there they leave early only where nearly all vertices send, as most of PageRank's do.
const worthDelay = 300e-6

// pays reports whether columns should leave early when messages cross so many of the edges.
func (r *runner) pays(edges int) bool {
	delay := r.job.options.Beta // 0 if it is not known
	return delay == 0 || delay >= worthDelay || edges*10 >= r.out.Edges*9
}

// sendAhead sends what has not been sent of the columns of the next superstep, if it is expected to want them.
func (r *runner) sendAhead(c *bsp.Command) error {
	choice := r.job.options.Delivery
	switch {
	case r.back != nil, r.uncombined() && !r.list, !r.pays(r.report.SenderEdges):
		return nil
	case r.part.Grid.Flat() && !choice.Allows(delivery.Pull) && !choice.Allows(delivery.Mirrored):
		return nil
	case !byColumns(c.Scheme) && r.report.SenderEdges < r.out.Edges/manyEdges:
		return nil
	}
	defer r.timed(&r.report.Times.Expand).end()
	return r.sendColumns(c, &delivery.AllRan)
}

// sendColumns sends the parts of the next superstep's columns whose senders have all run.
func (r *runner) sendColumns(c *bsp.Command, ran *delivery.Ran) error {
	for i, ways := range r.layout.Blocks {
		if err := r.exchange.SendAhead(ways.Pull.Senders, r.kernel, r.write, c.Superstep+1, i > 0, ran); err != nil {
			return fmt.Errorf("expand: %w", err)
		}
	}
	return nil
}

// looks is how many times a pull looks for what may be sent.
const looks = 64

// beginEarly readies a pull to send its columns while it goes on, if there is one of several parts to be sent. many says whether all workers run it.
func (r *runner) beginEarly(many bool) {
	e, end := &r.early, 0
	e.err = nil
	for _, ways := range r.layout.Blocks {
		end = max(end, r.exchange.FirstPart(ways.Pull.Senders, r.kernel))
	}
	if e.on = end > 0 && r.back == nil && r.pays(r.delivering.edges); !e.on {
		return
	}
	chunks := r.ownChunks()
	n := len(chunks) - 1
	e.tail, _ = slices.BinarySearch(chunks[:n], uint32(end))
	e.hubs = min(n/looks+1, e.tail)
	e.looked = 0
	if e.began == nil {
		e.began = make([]atomic.Int64, len(r.threads))
	}
	for i := range e.began {
		e.began[i].Store(0)
		if i > 0 && !many {
			e.began[i].Store(int64(n))
		}
	}
}

// eachEarly is eachChunk in the order of a pull that sends its columns while it goes on, which the first worker does.
func (r *runner) eachEarly(worker int, f func(lo, hi int) bool) {
	e, n := &r.early, len(r.words)-1
	for {
		k := min(r.chunks.Take(1), n)
		e.began[worker].Store(int64(k))
		if worker == 0 {
			r.sendEarly()
		}
		if k == n || r.stop.Load() {
			return
		}
		chunk := e.chunk(k, n)
		f(int(r.words[chunk]), int(r.words[chunk+1]))
	}
}

// sendEarly sends what has become final since it was looked for.
func (r *runner) sendEarly() {
	e, n := &r.early, len(r.words)-1
	done := n
	for i := range e.began {
		done = min(done, int(e.began[i].Load()))
	}
	if e.err != nil || done < e.looked+n/looks+1 {
		return
	}
	ran := e.ran(done, r.words)
	e.looked, e.err = done, r.sendColumns(r.command, &ran)
}
