package engine

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/delivery"
)

// If the next superstep will probably deliver by columns, the engine sends columns to distant
// partitions before that superstep begins (as in Ueno11, 4.2, which sends found vertices while the
// search continues). The columns are transferred while the other vertices run and while the
// coordinator decides. If the coordinator decides otherwise, the receivers drop them.

// manyEdges: after a superstep without columns, columns are expected next if messages cross at
// least 1/manyEdges of a partition's edges.
const manyEdges = 16

// early is the state of a pull that sends messages while other vertices still run.
type early struct {
	*partition
	on    bool
	order delivery.EarlyOrder
	// By worker, the position in order of the chunk that the worker began last. All chunks before
	// the lowest position have run.
	began  []atomic.Int64
	looked int // the lowest position at the last check for parts to send
	err    error
}

// byColumns reports whether a scheme delivers by columns. These columns are the same in every such
// scheme.
func byColumns(s delivery.Scheme) bool { return s != delivery.None && s != delivery.Naive }

// worthDelay is the least delay of links, in seconds, at which expected columns are always sent
// early. On faster links there is little delay to hide, and dropped columns cost as much as others.
// There they are sent early only if nearly all vertices send, as in most supersteps of PageRank.
const worthDelay = 300e-6

// pays reports whether columns should be sent early when messages cross this number of edges.
func (e *early) pays(edges int) bool {
	delay := e.job.options.Beta // 0 if unknown
	return delay == 0 || delay >= worthDelay || edges*10 >= e.out.Edges*9
}

// sendAhead sends the remaining parts of the next superstep's columns, if that superstep will
// probably deliver by columns.
func (e *early) sendAhead() error {
	choice := e.job.options.Delivery
	switch {
	case e.back != nil, e.uncombined() && !e.list, !e.pays(e.report.SenderEdges),
		e.command.Scheme == delivery.Lalp:
		return nil
	case e.part.Grid.Flat() && !choice.Allows(delivery.Pull) && !choice.Allows(delivery.Mirrored):
		return nil
	case !byColumns(e.command.Scheme) && (e.report.SenderEdges < e.out.Edges/manyEdges ||
		choice.Allows(delivery.Lalp) && e.report.SenderEdges*10 >= e.out.Edges*9):
		return nil // Lalp, which sends other columns, may be next
	}
	defer e.startTimer(&e.report.Times.Expand).end()
	return e.sendColumns(&delivery.AllRan)
}

// sendColumns sends the parts of the next superstep's columns whose senders have all run.
func (e *early) sendColumns(ran *delivery.Ran) error {
	for i, ways := range e.layout.Blocks {
		if err := e.exchange.SendAhead(ways.Pull.Senders, e.kernel, e.write, i,
			ran); err != nil {
			return fmt.Errorf("expand: %w", err)
		}
	}
	return nil
}

// looks is how often a pull checks for parts that can be sent.
const looks = 64

// beginEarly prepares a pull that sends its columns while it runs. It does nothing unless some
// column has several parts. many tells whether all workers run the pull.
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

// eachEarly is eachChunk in the order of a pull that sends its columns while it runs. The first
// worker sends.
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

// sendEarly sends the parts that have become complete since the last check.
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
