package superstep

import (
	"maps"

	"github.com/superstep-go/superstep/internal/trace"
)

// SuperstepRecord says what happened in a superstep: how messages were delivered and why, and what each partition did. The
// last one of a run may be one in which no vertex ran.
type SuperstepRecord struct {
	Job       string // the program's name
	Superstep int
	// Phase is which phase of a program's plan it is of, from 1 in the order in which they ran, the planned program being the last, and Program
	// whose phase that is; both are zero of a program without a plan.
	Phase   int
	Program string
	// Scheme is how messages to all neighbours were delivered: none, naive, mirrored, pull and so on; Delivery is push or pull,
	// or none; Reason says why the scheme was chosen.
	Scheme, Delivery, Reason string
	// Predicted is the model's guess of what delivery takes, in seconds by scheme, and Actual what the chosen scheme took.
	Predicted map[string]float64
	Actual    float64
	Seconds   float64 // wall time
	// Changed says that the program has changed the graph in the superstep; NumVertices and NumEdges are the graph's after it then, else 0.
	Changed     bool
	NumVertices int
	NumEdges    uint64
	Partitions  []PartitionRecord
}

// PartitionRecord says what one partition did in a superstep.
type PartitionRecord struct {
	Partition int
	Computed  int // vertices that ran
	Receivers int // vertices that got a message
	Walked    int // edges
	Sent      int // values that went to other partitions
	Bytes     int // of these
	// The messages that wait for the next superstep: senders to all neighbours, the edges theirs cross, and the messages
	// to single vertices.
	Senders, SenderEdges, Sends int
	Requests                    int // for changes of the graph, which the next superstep makes
	// What holds after the superstep: the vertices awake, and those not finished with their in-edges.
	Active, Unfinished, UnfinishedEdges int
	// Times are the seconds of each phase. Traverse has the program's, too, where the two are one loop; Wait is for others.
	Times struct{ Expand, Traverse, Fold, Compute, Wait, Total float64 }
	// Memory is the resident memory of the process in bytes, and GCPause the seconds that the garbage collector stopped it.
	Memory  int64
	GCPause float64
}

// Messages counts what the partition's vertices sent, before combining: sender x out-edge, and Send calls.
func (p PartitionRecord) Messages() int { return p.SenderEdges + p.Sends }

func recordOf(s *trace.Superstep) SuperstepRecord {
	r := SuperstepRecord{
		Job: s.Job, Superstep: s.Superstep, Scheme: s.Scheme, Delivery: s.Delivery, Reason: s.Reason,
		Predicted: maps.Clone(s.Predicted), Actual: s.Actual, Seconds: s.Seconds, Phase: s.Phase, Program: s.Program,
	}
	if s.Graph != nil {
		r.Changed, r.NumVertices, r.NumEdges = true, int(s.Graph.Vertices), s.Graph.Arcs
	}
	for i := range s.Partitions {
		p := &s.Partitions[i]
		r.Partitions = append(r.Partitions, PartitionRecord{
			Partition: p.Partition, Computed: p.Computed, Receivers: p.Receivers, Walked: p.Walked, Sent: p.Sent, Bytes: p.Bytes,
			Senders: p.Senders, SenderEdges: p.SenderEdges, Sends: p.Sends, Requests: p.Requests,
			Active: p.Active, Unfinished: p.Unfinished, UnfinishedEdges: p.UnfinishedEdges,
			Times: struct{ Expand, Traverse, Fold, Compute, Wait, Total float64 }(p.Times), Memory: p.Memory, GCPause: p.GCPause,
		})
	}
	return r
}
