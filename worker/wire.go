package worker

import (
	"fmt"

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
