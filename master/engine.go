package master

import (
	"context"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/trace"
)

// Engine is what the master needs of the engine to lead jobs. Without one it keeps workers, and refuses jobs and graphs.
type Engine interface {
	// Check refuses a job that cannot be run, before it is queued: parameters, options.
	Check(spec *control.JobSpec) error
	// Labels returns the input ids of the vertices that the job's parameters name.
	Labels(spec *control.JobSpec) ([]uint64, error)
	// Source returns what to load for a job that brings its own graph: what is left open is as its program wants it.
	Source(spec *control.JobSpec) (*control.GraphSource, error)
	// Lead makes the driver of a job whose workers have prepared it.
	Lead(job Task, prepared []*control.PrepareReport) (*bsp.Driver, error)
	// Benchmark leads Graph500.
	Benchmark(ctx context.Context, b *Benchmark) error
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
	// Trace gets the records of its supersteps, and Progress is called after each.
	Trace    trace.Sink
	Progress func(bsp.Progress)
}
