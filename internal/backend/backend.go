// Package backend is the interface between the root package and the place where a graph is, if that
// is not this process. Package cluster implements it. The root package imports only backend, so it
// links no code of a cluster.
package backend

import (
	"context"
	"io"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/trace"
)

// Graph is a graph outside this process. It is safe for use by several goroutines.
type Graph interface {
	// Cluster identifies the graph's place: equal values are the same place.
	Cluster() any
	// Find returns the input id of the vertex with a name, and Name the name of a vertex. ok is
	// false if there is none, or no answer.
	Find(name string) (label uint64, ok bool)
	Name(label uint64) (name string, ok bool)
	// Run runs a job to its end.
	Run(ctx context.Context, job *Job) (*Outcome, error)
	// Closed is called when the graph is closed, maybe several times.
	Closed()
}

// New makes a *superstep.Graph from a graph outside this process; the root package sets it. free is
// called when the graph is no longer used.
var New func(g *graph.Graph, elsewhere Graph, free func(), account, skipped []string) any

// Source describes the graph to load with superstep.LoadOptions; the root package sets it.
var Source func(options any, name string) *job.Source

// Job is a program to run, with its options.
type Job struct {
	Given   any      // as the user gave it
	Zero    []string // the parameters whose zero is intended
	Program *engine.Program
	job.Options
	KeepWhen *checkpoint.Policy // or nil
	Inputs   []Input
	// Values describes the type of the values. NewColumn makes a column for the values of a number
	// of ids; with gaps, some ids have no vertex.
	Values    string
	NewColumn func(ids int, gaps bool) Column
	// File, if not nil, gets a trace of the run, and Record its supersteps. With Complete it is an
	// error if some supersteps were not received.
	File     io.Writer
	Record   trace.Journal
	Complete bool
	Progress func(bsp.Progress) // or nil
	Log      func(line string)
}

// Column is a writer that decodes the blocks of a raw result.
type Column interface {
	io.Writer
	// Whole returns an error unless this number of vertices have a value.
	Whole(vertices int) error
}

// Input has the initial values of a column of the program: the result of an earlier job, the values
// in a file, or the values that Write writes in blocks.
type Input struct {
	Column kernel.Property
	Job    string
	File   string
	Type   string // type of the values that Write writes
	Write  func(ctx context.Context, w io.Writer) error
}

// Outcome is the result of a job.
type Outcome struct {
	Job string
	bsp.Outcome
	Seconds []float64 // NaN for supersteps that were not received
	Totals  []kernel.Cell
}
