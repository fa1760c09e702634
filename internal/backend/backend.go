// Package backend is what stands between a graph of the root package and where it really is, if
// that is not this process. Package cluster implements it; the root package knows it alone, and
// links nothing of a cluster.
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

// Graph is a graph elsewhere. It is safe for use by several goroutines.
type Graph interface {
	// Cluster is where it is: values that are equal are the same place.
	Cluster() any
	// Find returns the input id of the vertex of a name, and Name the name of one; ok is false if
	// there is none, or no answer.
	Find(name string) (label uint64, ok bool)
	Name(label uint64) (name string, ok bool)
	// Run runs a job to its end.
	Run(ctx context.Context, job *Job) (*Outcome, error)
	// Closed is called when the graph is closed, perhaps several times.
	Closed()
}

// New makes a *superstep.Graph of a graph elsewhere: the root package sets it. Free is called when
// nobody uses the graph any more.
var New func(g *graph.Graph, elsewhere Graph, free func(), account, skipped []string) any

// Job is a program to run, and how.
type Job struct {
	Given   any      // as the user gave it
	Zero    []string // the parameters whose zero is meant
	Program engine.Program
	job.Options
	KeepWhen *checkpoint.Policy // or nil
	Inputs   []Input
	// Values describes the type of the values, and NewColumn makes a column for those of so many
	// ids, some of which may have no vertex.
	Values    string
	NewColumn func(ids int, gaps bool) Column
	// File gets a trace of the run, or is nil; Record its supersteps. Complete refuses a run of
	// which some were not heard of.
	File     io.Writer
	Record   trace.Journal
	Complete bool
	Progress func(Progress) // or nil
	Log      func(line string)
}

// Column is made of the blocks of a raw result that are written to it.
type Column interface {
	io.Writer
	// Whole returns an error unless there is a value for each of so many vertices.
	Whole(vertices int) error
}

// Input is what a column of the program begins with: the result of an earlier job, the values of a
// file, or those that Write writes in blocks.
type Input struct {
	Column kernel.Property
	Job    string
	File   string
	Type   string // of what Write writes
	Write  func(ctx context.Context, w io.Writer) error
}

// Progress tells of a superstep.
type Progress struct {
	Superstep, Active, Senders int
	Scheme                     string
	Seconds                    float64
}

// Outcome is what a job has left.
type Outcome struct {
	Job string
	bsp.Outcome
	Seconds []float64 // NaN of supersteps that were not heard of
	Totals  []kernel.Cell
}
