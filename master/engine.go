package master

import "github.com/superstep-go/superstep/internal/control"

// Engine is what the master needs of the engine to lead jobs. Without one it keeps workers, and refuses jobs and graphs.
type Engine interface {
	// Check refuses a job that cannot be run, before it is queued: parameters, options.
	Check(spec *control.JobSpec) error
	// Lead makes the coordinator of a job whose workers have prepared it.
	Lead(job Task, prepared []*control.PrepareReport) (Coordinator, error)
}

// Task is a job as it is run.
type Task struct {
	ID         string
	Epoch      uint32
	Spec       *control.JobSpec
	Vertices   uint64
	Edges      uint64
	Rows       uint32
	Columns    uint32
	Placements []*control.Placement
}

// Coordinator decides on a job's supersteps. It does no I/O and is called by one goroutine.
type Coordinator interface {
	// Begin decides on superstep 0.
	Begin() Decision
	// Next takes the reports of a superstep, by partition, and the seconds it took, and decides on the one after it.
	Next(reports []*control.PartitionReport, seconds float64) Decision
}

// Decision is the next superstep, or that there is none.
type Decision struct {
	Superstep *control.Superstep // nil: the job has ended
	Outcome   Outcome
}

// Outcome is how far a job is, and at its end what came out.
type Outcome struct {
	Converged  bool
	Supersteps int
	Messages   uint64 // sent, before combining
	Sent       uint64 // values that crossed partitions
	Bytes      uint64
}
