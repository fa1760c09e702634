package engine

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/delivery"
)

// Columns leave before their superstep begins, to distant partitions, where one can expect that it
// delivers by columns (Ueno11, 4.2: what is found is sent while the rest is searched): they are
// under way while the rest of the vertices run, and while the coordinator decides. If it decides
// otherwise they are dropped.

// manyEdges is the share of a partition's edges that messages cross from which columns are expected
// after a superstep without.
const manyEdges = 16

// early is the state of a pull that sends what its vertices send before all have run.
type early struct {
	*partition
	on    bool
	order delivery.EarlyOrder
	// by worker, which chunk it has begun last, as they are run; all before the least have run
	began  []atomic.Int64
	looked int // how many had run when what may be sent was last looked for
	err    error
}

// byColumns reports whether a scheme delivers by columns that are the same in every scheme that
// does.
func byColumns(s delivery.Scheme) bool { return s != delivery.None && s != delivery.Naive }

// worthDelay is the delay of links, in seconds, from which columns leave early whenever they are
// expected. Over faster ones little is to be hidden, and columns that are dropped cost as much as
// others: there they leave early only where nearly all vertices send, as most of PageRank's do.
const worthDelay = 300e-6

// pays reports whether columns should leave early when messages cross so many of the edges.
func (e *early) pays(edges int) bool {
	delay := e.job.options.Beta // 0 if it is not known
	return delay == 0 || delay >= worthDelay || edges*10 >= e.out.Edges*9
}

// sendAhead sends what has not been sent of the columns of the next superstep, if it is expected to
// want them.
func (e *early) sendAhead() error {
	choice := e.job.options.Delivery
	switch {
	case e.back != nil, e.uncombined() && !e.list, !e.pays(e.report.SenderEdges):
		return nil
	case e.part.Grid.Flat() && !choice.Allows(delivery.Pull) && !choice.Allows(delivery.Mirrored):
		return nil
	case !byColumns(e.command.Scheme) && e.report.SenderEdges < e.out.Edges/manyEdges:
		return nil
	}
	defer e.timed(&e.report.Times.Expand).end()
	return e.sendColumns(&delivery.AllRan)
}

// sendColumns sends the parts of the next superstep's columns whose senders have all run.
func (e *early) sendColumns(ran *delivery.Ran) error {
	for i, ways := range e.layout.Blocks {
		if err := e.exchange.SendAhead(ways.Pull.Senders, e.kernel, e.write, i > 0,
			ran); err != nil {
			return fmt.Errorf("expand: %w", err)
		}
	}
	return nil
}

// looks is how many times a pull looks for what may be sent.
const looks = 64

// beginEarly readies a pull to send its columns while it goes on, if there is one of several parts
// to be sent. many says whether all workers run it.
func (e *early) beginEarly(many bool) {
	end := 0
	e.err = nil
	for _, ways := range e.layout.Blocks {
		end = max(end, e.exchange.FirstPart(ways.Pull.Senders, e.kernel))
	}
	if e.on = end > 0 && e.back == nil && e.pays(e.delivering.edges); !e.on {
		return
	}
	chunks := e.ownChunks()
	n := len(chunks) - 1
	e.order.Tail, _ = slices.BinarySearch(chunks[:n], uint32(end))
	e.order.Hubs = min(n/looks+1, e.order.Tail)
	e.looked = 0
	if e.began == nil {
		e.began = make([]atomic.Int64, len(e.threads))
	}
	for i := range e.began {
		e.began[i].Store(0)
		if i > 0 && !many {
			e.began[i].Store(int64(n))
		}
	}
}

// eachEarly is eachChunk in the order of a pull that sends its columns while it goes on, which the
// first worker does.
func (e *early) eachEarly(worker int, f func(lo, hi int) bool) {
	n := len(e.words) - 1
	for {
		k := min(e.chunks.Take(1), n)
		e.began[worker].Store(int64(k))
		if worker == 0 {
			e.sendEarly()
		}
		if k == n || e.stop.Load() {
			return
		}
		chunk := e.order.Chunk(k, n)
		f(int(e.words[chunk]), int(e.words[chunk+1]))
	}
}

// sendEarly sends what has become final since it was looked for.
func (e *early) sendEarly() {
	n := len(e.words) - 1
	done := n
	for i := range e.began {
		done = min(done, int(e.began[i].Load()))
	}
	if e.err != nil || done < e.looked+n/looks+1 {
		return
	}
	ran := e.order.Ran(done, e.words)
	e.looked, e.err = done, e.sendColumns(&ran)
}
