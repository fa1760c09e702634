package worker

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
)

// reportSize is how many bytes of partitions' reports go into one message, but for the last of them: each has a line for
// every other partition, so that the reports of many do not fit into one.
const reportSize = 1 << 20

// split moves partitions of a report to reports of about this size, which come before it, and leaves the last ones in it.
func split(r *control.SuperstepReport, size int) []*control.SuperstepReport {
	var before []*control.SuperstepReport
	from, bytes := 0, 0
	for i, p := range r.Partitions {
		n := proto.Size(p)
		if i > from && bytes+n > size {
			before = append(before, &control.SuperstepReport{Superstep: r.Superstep, Partitions: r.Partitions[from:i]})
			from, bytes = i, 0
		}
		bytes += n
	}
	r.Partitions = r.Partitions[from:]
	return before
}

// shorten sends the parts of a report that is too long for one message, but for the last, which stays in it.
func (q *queue) shorten(ctx context.Context, c *control.Command, r *control.Report) error {
	if s := r.GetSuperstep(); s != nil {
		for _, part := range split(s, reportSize) {
			m := &control.Report{Id: c.Id, Job: c.Job, Epoch: c.Epoch, More: true, Body: &control.Report_Superstep{Superstep: part}}
			if err := fits(m); err != nil {
				return err
			}
			if err := q.report(ctx, m); err != nil {
				return err
			}
		}
	}
	return fits(r)
}

// fits refuses a report that is too long for a message.
func fits(r *control.Report) error {
	const rest = 1 << 10 // what is around it, and not known yet
	if n := proto.Size(r); n > control.MaxMessage-rest {
		return fmt.Errorf("the worker's report has %d bytes, expected at most %d", n, control.MaxMessage-rest)
	}
	return nil
}
