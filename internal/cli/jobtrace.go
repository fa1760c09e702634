package cli

import (
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/trace"
)

// schemeOf reads a scheme; what a later version has is none.
func schemeOf(n uint32) delivery.Scheme {
	if n > uint32(delivery.Pull) {
		return delivery.None
	}
	return delivery.Scheme(n)
}

// turn writes that the job runs, or has ended.
func (f *followed) turn(j *control.Job) error {
	switch {
	case j.State == control.JobState_JOB_STATE_RUNNING:
		return f.journal.Begin(&trace.Job{
			Job: j.Id, Program: j.Spec.GetProgram(), Parameters: j.Spec.GetParameters(), Graph: graphOf(j.Spec), Vertices: j.Vertices,
			Partitions: int(j.Rows * j.Columns), Threads: int(j.Threads), Grid: gridOf(j), Delivery: j.Spec.GetOptions().GetDelivery(),
			Began: j.Started.AsTime(),
		})
	case !j.State.Ended():
		return nil
	}
	e := &trace.End{Job: j.Id, Supersteps: int(j.Supersteps), Seconds: j.RunSeconds}
	switch {
	case j.State == control.JobState_JOB_STATE_CANCELLED:
		e.Outcome, e.Error = trace.Cancelled, j.Reason
	case j.State == control.JobState_JOB_STATE_FAILED:
		e.Outcome, e.Error = trace.Failed, j.Reason
	case j.Converged:
		e.Outcome = trace.Converged
	default:
		e.Outcome = trace.Limit
	}
	return f.journal.End(e)
}

// record writes what the partitions did in a superstep, as a run in one process does.
func (f *followed) record(r *control.SuperstepRecord) error {
	scheme := schemeOf(r.Scheme)
	for _, p := range r.Partitions {
		t := p.GetTimes()
		record := &trace.Record{
			Job: f.id, Superstep: int(r.Superstep), Partition: int(p.Partition), Worker: p.Worker,
			Scheme: scheme.String(), Delivery: scheme.Direction(),
			Active: int(p.Computed), Senders: int(p.Delivered), Receivers: int(p.Receivers), Edges: int(p.Walked),
			Messages: int(p.SenderEdges + p.Sends), Sent: int(p.Sent), Predicted: r.Predicted, Reason: r.Reason,
			Times: trace.Seconds{
				Expand: t.GetExpand(), Traverse: t.GetTraverse(), Fold: t.GetFold(), Compute: t.GetCompute(),
				Wait: t.GetWait() + max(0, r.Seconds-t.GetTotal()), Total: r.Seconds,
			},
			Memory: int64(p.Memory), GCPause: p.GcPause,
		}
		for _, x := range p.Exchanges {
			record.Peers = append(record.Peers, trace.Peer{
				Partition: int(x.Partition), Exchange: x.Exchange, Encoding: x.Encoding, Messages: int(x.Messages), Bytes: int(x.Bytes),
			})
		}
		if err := f.journal.Record(record); err != nil {
			return err
		}
	}
	return nil
}
