// Package worker is a worker of a cluster: it registers with the master, keeps the session with it, has its commands done
// by an [Executor], and leaves.
//
//	start -> register --ok--> session --goodbye--> end
//	           ^  |  \           |  \
//	           |  |   refused    |   fenced --> end, with an error
//	           +--+-- lapsed: forget everything
//	           +----- broken: again, with the same incarnation
package worker

import (
	"context"

	"github.com/superstep-go/superstep/internal/control"
)

// Executor does the work. Commands of one job come one after the other, those of several jobs at once; loads and drops of
// one graph of the catalog as well. A context that ends says that the job was cancelled or the session is over: what is
// returned then goes nowhere.
type Executor interface {
	// Registered tells under which incarnation the worker is known from now on. If it is another, no command is under way.
	Registered(incarnation uint64) error
	// Meet readies this worker to load a graph, or to measure, with others: after it comes Load or Measure, or Drop.
	Meet(ctx context.Context, t Task, m *control.Meet) error
	// Load loads this worker's partitions of a graph, together with the other workers, which have met.
	Load(ctx context.Context, t Task, l *control.Load) (*control.LoadReport, error)
	// Locate finds vertices of a graph by their input ids; what this worker does not know is left out.
	Locate(ctx context.Context, t Task, l *control.Locate) (*control.Located, error)
	// Prepare makes ready to run a program on a graph that is loaded.
	Prepare(ctx context.Context, t Task, p *control.Prepare) (*control.PrepareReport, error)
	// Superstep runs a superstep of all this worker's partitions.
	Superstep(ctx context.Context, t Task, s *control.Superstep) (*control.SuperstepReport, error)
	// Benchmark does a step of Graph500.
	Benchmark(ctx context.Context, t Task, b *control.BenchmarkStep) (*control.BenchmarkReport, error)
	// Measure measures the network between the workers that have met. The first of them passes the report to emit, in pieces of
	// any size.
	Measure(ctx context.Context, t Task, m *control.Measure, emit func(data []byte) error) error
	// Probe tells which of the workers cannot be connected to.
	Probe(ctx context.Context, t Task, p *control.Probe) (*control.ProbeReport, error)
	// Values passes the lines of the result to emit, in pieces of any size.
	Values(ctx context.Context, t Task, v *control.Values, emit func(data []byte) error) error
	// Cancel makes the job's command end soon, if one is under way. It may come at any time.
	Cancel(t Task, reason string)
	// Drop frees a graph, or with no name what the job holds. What is not there is no error.
	Drop(ctx context.Context, t Task, graph string) error
	// Keep forgets all jobs and graphs but these, and returns what frees their memory, which may wait for a superstep to
	// end. It comes when a session begins, and says which Offers were taken.
	Keep(jobs, graphs []string) (free func())
	// Offers returns the graphs of the catalog of which the worker holds shares.
	Offers() []*control.Offer
	// Reset forgets all jobs and graphs: the cluster goes on without what this worker held. No command is under way.
	Reset()
}

// Task says for whom a command is.
type Task struct {
	Job   string
	Epoch uint32
	// Self is the incarnation of this worker, and Log takes lines for those who watch the job; it does not wait.
	Self uint64
	Log  func(line string)
	// Progress takes how far the command is, for those who watch the job: done of total, which is 0 when it is not known. It
	// does not wait, and may be called often and by several goroutines.
	Progress func(stage string, done, total int64)
}

// ProgramError is an error that the user's program is to blame for.
type ProgramError struct {
	Text  string // naming the vertex and the superstep
	Stack string
}

// Error is the text.
func (e *ProgramError) Error() string { return e.Text }

// LostError is an error that follows from the loss of the connection to another worker.
type LostError struct {
	Worker string
	Err    error
}

// Error is what happened to the connection.
func (e *LostError) Error() string { return e.Err.Error() }

// Unwrap returns what happened to the connection.
func (e *LostError) Unwrap() error { return e.Err }
