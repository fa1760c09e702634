package master

import "github.com/superstep-go/superstep/internal/control"

// Engine is what the master needs of the engine to lead jobs. Without one it keeps workers, and refuses jobs and graphs.
type Engine interface {
	// Check refuses a job that cannot be run, before it is queued: parameters, options.
	Check(spec *control.JobSpec) error
	// Labels returns the input ids of the vertices that the job's parameters name.
	Labels(spec *control.JobSpec) ([]uint64, error)
	// Source returns what to load for a job that brings its own graph: what is left open is as its program wants it.
	Source(spec *control.JobSpec) (*control.GraphSource, error)
	// Lead makes the coordinator of a job whose workers have prepared it.
	Lead(job Task, prepared []*control.PrepareReport) (Coordinator, error)
}

// Task is a job as it is run.
type Task struct {
	ID         string
	Epoch      uint32
	Spec       *control.JobSpec
	Rows       uint32
	Columns    uint32
	Placements []*control.Placement
	Vertices   []*control.Vertex // that parameters name
}

// Coordinator decides on a job's supersteps. It does no I/O and is called by one goroutine. It fails when the program does,
// or a report makes no sense.
type Coordinator interface {
	// Begin decides on superstep 0.
	Begin() (Decision, error)
	// Record takes the reports of a superstep, by partition, and the seconds it took, and makes its record; worker names
	// who has a partition. Next decides on the superstep after it.
	Record(reports []*control.PartitionReport, worker func(partition int) string, seconds float64) *control.SuperstepRecord
	Next() (Decision, error)
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
