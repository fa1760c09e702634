package engine

import (
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/trace"
)

// trace writes a record for every partition.
func (j *Job[V, M]) trace(reports []*Report, seconds float64) error {
	if j.options.Trace == nil {
		return nil
	}
	c := &j.coordinator
	for _, p := range reports {
		t := &p.Times
		j.record = trace.Record{
			Job: j.options.Job, Superstep: c.command.Superstep, Partition: p.Partition,
			Scheme: c.command.Scheme.String(), Delivery: c.command.Scheme.Direction(),
			Active: p.Computed, Senders: j.runners[p.Partition].delivering.senders, Receivers: p.Receivers, Edges: p.Walked,
			Messages: p.SenderEdges + p.Sends, Sent: p.Sent, Peers: p.Peers,
			Times: trace.Seconds{
				Expand: t.Expand, Traverse: t.Traverse, Fold: t.Fold, Compute: t.Compute, Wait: max(0, seconds-t.Total),
			},
		}
		j.record.Reason = c.policy.Reason(&c.load)
		if c.policy.Chosen != delivery.None {
			j.record.Predicted = c.policy.Predicted.ByName()
		}
		if err := j.options.Trace.Record(&j.record); err != nil {
			return err
		}
	}
	return nil
}
