package engine

import (
	"fmt"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/delivery"
)

// Columns leave before their superstep begins, to distant partitions, where one can expect that it delivers by columns (Ueno11,
// 4.2: what is found is sent while the rest is searched): they are under way while the rest of the vertices run, and while the coordinator
// decides. If it decides otherwise they are dropped.

// manyEdges is the share of a partition's edges that messages cross from which columns are expected after a superstep without.
const manyEdges = 16

// early is the state of a pull that sends what its vertices send before all have run.
type early struct {
	on   bool
	next int // the word below which all must have run before there is more to send
	err  error
}

// byColumns reports whether a scheme delivers by columns that are the same in every scheme that does.
func byColumns(s delivery.Scheme) bool { return s != delivery.None && s != delivery.Naive }

// sendAhead sends what has not been sent of the columns of the next superstep, if it is expected to want them.
func (r *runner[V, M]) sendAhead(c *bsp.Command) error {
	choice := r.job.options.Delivery
	switch {
	case r.back != nil, r.uncombined() && r.gather == nil:
		return nil
	case r.part.Grid.Flat() && !choice.Allows(delivery.Pull) && !choice.Allows(delivery.Mirrored):
		return nil
	case !byColumns(c.Scheme) && r.report.SenderEdges < r.outEdges/manyEdges:
		return nil
	}
	defer r.timed(&r.report.Times.Expand).end()
	_, err := r.sendColumns(c, delivery.AllWords)
	return err
}

// sendColumns sends the parts of the next superstep's columns whose senders all lie below word done.
func (r *runner[V, M]) sendColumns(c *bsp.Command, done int) (more int, err error) {
	more = delivery.AllWords
	for i, ways := range r.layout.Blocks {
		next, err := r.exchange.SendAhead(ways.Pull.Senders, r.kernel, r.write, c.Superstep+1, i > 0, done)
		if err != nil {
			return 0, fmt.Errorf("expand: %w", err)
		}
		more = min(more, next)
	}
	return more, nil
}

// beginEarly readies a pull to send its columns while it goes on. Several workers do not run the words in order.
func (r *runner[V, M]) beginEarly(c *bsp.Command, many bool) {
	r.early = early{on: !many && r.back == nil}
}

// sendEarly sends what has become final when all words below done have run.
func (r *runner[V, M]) sendEarly(done int) {
	if e := &r.early; done >= e.next && e.err == nil {
		e.next, e.err = r.sendColumns(r.command, done)
	}
}
