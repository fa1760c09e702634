package worker

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/kernel"
)

// commandOf returns the engine's form of the master's command; the totals are decoded into cells.
func commandOf(s *control.Superstep, aggregates bsp.Aggregates, totals []kernel.Cell) (*bsp.Command, error) {
	if s.Scheme > uint32(delivery.RingPull) {
		return nil, fmt.Errorf("superstep %d: there is no scheme %d", s.Superstep, s.Scheme)
	}
	return &bsp.Command{
		Superstep: int(s.Superstep), Phase: int(s.Phase), Scheme: delivery.Scheme(s.Scheme), Sends: s.Sends, Finished: s.Finished,
		Change:      s.Change,
		Summarize:   s.Summarize,
		SenderEdges: int(s.SenderEdges), Ways: uint8(s.Ways), Totals: totals,
	}, aggregates.Decode(s.Totals, totals)
}

// partitionReportOf returns the report of a partition, one of so many, for the master: its record, what it sent to each other
// and received, and its aggregates, which it resets.
func partitionReportOf(r *bsp.Report, partitions int, aggregates bsp.Aggregates) (_ *control.PartitionReport, err error) {
	p := control.NewPartitionReport(&r.Partition, partitions)
	if p.Aggregates, err = aggregates.Encode(nil, r.Cells); err != nil {
		return nil, err
	}
	aggregates.Reset(r.Cells)
	p.Created = uint64(r.Created)
	if r.Changed != nil {
		if p.Changed, err = json.Marshal(r.Changed); err != nil {
			return nil, err
		}
	}
	if r.Summary != nil {
		if p.Summary, err = json.Marshal(r.Summary); err != nil {
			return nil, err
		}
	}
	if r.Account == nil {
		return p, nil
	}
	for _, x := range r.Account.Peers {
		p.Peers = append(p.Peers, &control.Peer{
			Partition: uint32(x.Partition), Sent: x.Sent.Values, Received: x.Received.Values, Bytes: x.Sent.Bytes, ReceivedBytes: x.Received.Bytes,
		})
	}
	return p, nil
}

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
