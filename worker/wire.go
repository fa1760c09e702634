package worker

import (
	"fmt"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/kernel"
)

// The engine's commands and reports, and what travels of them.

// commandOf is what the master commands; its totals are put into cells.
func commandOf(s *control.Superstep, aggregates bsp.Aggregates, totals []kernel.Cell) (*bsp.Command, error) {
	if s.Scheme > uint32(delivery.Ring) {
		return nil, fmt.Errorf("superstep %d: there is no scheme %d", s.Superstep, s.Scheme)
	}
	return &bsp.Command{
		Superstep: int(s.Superstep), Phase: int(s.Phase), Scheme: delivery.Scheme(s.Scheme), Sends: s.Sends, Finished: s.Finished,
		SenderEdges: int(s.SenderEdges), Totals: totals,
	}, aggregates.Decode(s.Totals, totals)
}

// partitionReportOf is what a partition tells the master, one of so many: what is recorded, its account with the others, and
// its aggregates, which it keeps no longer.
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
