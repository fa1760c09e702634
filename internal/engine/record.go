package engine

import (
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/trace"
)

// trace writes a record for every partition.
func (c *coordinator) trace(reports []*Report, seconds float64, to trace.Sink, job string) error {
	if to == nil {
		return nil
	}
	for _, p := range reports {
		t := &p.Times
		c.record = trace.Record{
			Job: job, Superstep: c.command.Superstep, Partition: p.Partition,
			Scheme: c.command.Scheme.String(), Delivery: c.command.Scheme.Direction(),
			Active: p.Computed, Senders: p.Delivered, Receivers: p.Receivers, Edges: p.Walked,
			Messages: p.SenderEdges + p.Sends, Sent: p.Sent, Peers: p.Peers,
			Times: trace.Seconds{
				Expand: t.Expand, Traverse: t.Traverse, Fold: t.Fold, Compute: t.Compute, Wait: max(0, seconds-t.Total),
			},
		}
		c.record.Reason = c.policy.Reason(&c.load)
		if c.policy.Chosen != delivery.None {
			c.record.Predicted = c.policy.Predicted.ByName()
		}
		if err := to.Record(&c.record); err != nil {
			return err
		}
	}
	return nil
}
