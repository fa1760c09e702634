package resolve

import (
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// Outcome is how far a run is, or how it ended, as it is sent.
func Outcome(o bsp.Outcome) *control.Outcome {
	sent := &control.Outcome{
		Ended: string(o.Ended), Supersteps: uint32(o.Supersteps), Messages: uint64(o.Messages), Sent: uint64(o.Sent), Bytes: uint64(o.Bytes),
		Phase: uint32(o.Phase), Forked: o.Forked, GraphLeft: control.NewGraphSize(o.Left),
	}
	if sent.GraphLeft != nil {
		sent.GraphLeft.Ids = o.IDs
	}
	return sent
}

// OutcomeOf is the outcome that was sent.
func OutcomeOf(o *control.Outcome) bsp.Outcome {
	got := bsp.Outcome{
		Ended: trace.Ended(o.GetEnded()), Supersteps: int(o.GetSupersteps()), Messages: int(o.GetMessages()), Sent: int(o.GetSent()), Bytes: int(o.GetBytes()),
		Phase: int(o.GetPhase()), Forked: o.GetForked(), IDs: o.GetGraphLeft().GetIds(),
	}
	if left := o.GetGraphLeft(); left != nil {
		got.Left = &record.GraphSize{Vertices: left.Vertices, Arcs: left.Arcs}
	}
	return got
}
