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

// partitionReportOf is what a partition tells the master.
func partitionReportOf(r *engine.Report) *control.PartitionReport {
	p := &control.PartitionReport{
		Partition: uint32(r.Partition), Computed: uint64(r.Computed), Delivered: uint64(r.Delivered), Receivers: uint64(r.Receivers),
		Walked: uint64(r.Walked), Sent: uint64(r.Sent), Bytes: uint64(r.Bytes),
		Senders: uint64(r.Senders), SenderEdges: uint64(r.SenderEdges), Sends: uint64(r.Sends),
		Active: uint64(r.Active), Unfinished: uint64(r.Unfinished), UnfinishedEdges: uint64(r.UnfinishedEdges),
		Times: &control.Times{
			Expand: r.Times.Expand, Traverse: r.Times.Traverse, Fold: r.Times.Fold, Compute: r.Times.Compute, Total: r.Times.Total,
			Wait: r.Times.Wait,
		},
		Memory: uint64(r.Memory), GcPause: r.GCPause,
		Aggregates: append([]byte(nil), r.Encoded...),
	}
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
	paired := r.Account == nil || len(r.Account.Sent) <= control.MaxPaired
	for _, x := range r.Peers {
		if !paired {
			p.Sum(x.Exchange, x.Encoding, uint64(x.Messages), uint64(x.Bytes))
			continue
		}
		p.Exchanges = append(p.Exchanges, &control.Exchange{
			Partition: uint32(x.Partition), Exchange: x.Exchange, Encoding: x.Encoding, Messages: uint64(x.Messages), Bytes: uint64(x.Bytes),
		})
	}
	return p
}

// reportOf is what the engine's Lead wants to know of a partition, into a report of before if there is one.
func reportOf(p *control.PartitionReport, into *engine.Report) *engine.Report {
	if into == nil {
		into = new(engine.Report)
	}
	t := p.GetTimes()
	*into = engine.Report{
		Partition: int(p.Partition), Computed: int(p.Computed), Delivered: int(p.Delivered), Receivers: int(p.Receivers),
		Walked: int(p.Walked), Sent: int(p.Sent), Bytes: int(p.Bytes),
		Senders: int(p.Senders), SenderEdges: int(p.SenderEdges), Sends: int(p.Sends),
		Active: int(p.Active), Unfinished: int(p.Unfinished), UnfinishedEdges: int(p.UnfinishedEdges),
		Times: engine.Times{
			Expand: t.GetExpand(), Traverse: t.GetTraverse(), Fold: t.GetFold(), Compute: t.GetCompute(), Total: t.GetTotal(),
			Wait: t.GetWait(),
		},
		Encoded: p.Aggregates,
	}
	return into
}
