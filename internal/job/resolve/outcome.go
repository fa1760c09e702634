package resolve

import (
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/trace"
)

// Outcome converts a run's outcome to a message.
func Outcome(o bsp.Outcome) *control.Outcome {
	sent := &control.Outcome{
		Ended: string(o.Ended), Supersteps: uint32(o.Supersteps), Messages: uint64(o.Messages),
		Sent: uint64(o.Sent), Bytes: uint64(o.Bytes),
		Forked: o.Forked, GraphLeft: control.NewGraphSize(o.Left),
	}
	if sent.GraphLeft != nil {
		sent.GraphLeft.Ids = o.IDs
	}
	return sent
}

// OutcomeOfJob returns the outcome of a job's program.
func OutcomeOfJob(j *control.Job) bsp.Outcome {
	return bsp.Outcome{
		Ended: trace.Ended(j.EndedBy), Supersteps: int(j.Supersteps), Messages: int(j.Messages),
		Sent: int(j.MessagesSent), Bytes: int(j.BytesSent), Forked: j.Forked,
		Left: j.GraphLeft.Trace(), IDs: j.GraphLeft.GetIds(),
	}
}
