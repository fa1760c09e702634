package cluster

import (
	"fmt"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/engine"
)

// The engine's commands and reports, and what travels of them.

func superstepOf(c *engine.Command) *control.Superstep {
	return &control.Superstep{
		Superstep: uint32(c.Superstep), Phase: uint32(c.Phase), Scheme: uint32(c.Scheme), Sends: c.Sends, Finished: c.Finished,
		SenderEdges: uint64(c.SenderEdges), Totals: append([]byte(nil), c.Encoded...),
	}
}

func commandOf(s *control.Superstep) (*engine.Command, error) {
	if s.Scheme > uint32(delivery.Ring) {
		return nil, fmt.Errorf("superstep %d: there is no scheme %d", s.Superstep, s.Scheme)
	}
	return &engine.Command{
		Superstep: int(s.Superstep), Phase: int(s.Phase), Scheme: delivery.Scheme(s.Scheme), Sends: s.Sends, Finished: s.Finished,
		SenderEdges: int(s.SenderEdges), Encoded: s.Totals,
	}, nil
}

// partitionReportOf is what a partition tells the master: what is recorded, its account with the others, and its aggregates.
func partitionReportOf(r *engine.Report) *control.PartitionReport {
	partitions := 1
	if r.Account != nil {
		partitions = len(r.Account.Sent)
	}
	p := control.NewPartitionReport(&r.Partition, partitions)
	p.Aggregates = append([]byte(nil), r.Encoded...)
	if a := r.Account; a != nil {
		for q, sent := range a.Sent {
			got := a.Received[q]
			if sent.Frames == 0 && got.Frames == 0 {
				continue
			}
			p.Peers = append(p.Peers, &control.Peer{
				Partition: uint32(q), Sent: sent.Values, Received: got.Values, Bytes: sent.Bytes, ReceivedBytes: got.Bytes,
			})
		}
	}
	return p
}
