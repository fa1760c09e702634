package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/transport"
)

// Options are the parameters of a run.
type Options struct {
	// Team runs the work of all partitions of the process; nil means one thread.
	Team *parallel.Team
	// Delivery forces a scheme of delivery.
	Delivery delivery.Choice
	delivery.Experiment
	// Deterministic makes results independent of partitions, threads and delivery, including
	// floats.
	Deterministic bool
	// Seed is the seed of pregel.Vertex.Rand.
	Seed uint64
	// Alpha, Beta and Gap are the cost of a frame between processes: the seconds per byte, the
	// seconds until it arrives, and the seconds until the next frame can be sent. They are 0 if
	// there is one process.
	Alpha, Beta, Gap float64
	// MaxSupersteps is the limit of supersteps; 0 means no limit.
	MaxSupersteps int
	// SuperstepTimeout ends the run if a superstep takes longer; 0 means no limit.
	SuperstepTimeout time.Duration
	// Trace, if not nil, gets a record of every superstep of every partition. This includes an
	// empty last superstep, if its messages reached only finished vertices.
	Trace trace.Journal
	// Job is the name of the run in its records.
	Job string
	// Progress, if not nil, is called after each superstep.
	Progress func(bsp.Progress)
	// Connect, if not nil, is called when a Job begins a run. It returns the partitions' endpoints,
	// and a function that ends all waiting at them. The default endpoints pass frames by reference.
	Connect func() (endpoint func(partition int) transport.Endpoint, broken func())
	// Shared has the state that the phases of a plan share, if the run is one of them. The caller
	// closes it.
	Shared *Shared
	// AnyGraph disables the check that the program can run on the graph, because the graph only
	// represents another one.
	AnyGraph bool
	// Parts, if not nil, stores the parts of checkpoints of this process's partitions.
	Parts *checkpoint.Writer
	// Host is for the driver. If Decides is nil, it is computed from the program and these options.
	// A driver in a process with the graph does not need Label and Name.
	bsp.Host
	// Fork allows the run to continue from a checkpoint with another Decides.
	Fork bool
	// From is the checkpoint from which the next run continues, or nil. All partitions must be in
	// this process.
	From *checkpoint.Reader
	// Budget limits the memory of columns and messages; nil means the budget of the process.
	Budget *mem.Budget
	// Summary adds a summary of the final values to reports, if the program has functions for it
	// (Group, Score, Reached).
	Summary bool
	// Log gets the lines of Vertex.Logf, from several goroutines at once, or is nil.
	Log func(line string)
}

// driver returns the options of a driver on a graph, or on a nil graph if other processes have it.
func (o *Options) driver(g *graph.Graph) bsp.Options {
	s := bsp.Options{
		Delivery: o.Delivery, Deterministic: o.Deterministic, MaxSupersteps: o.MaxSupersteps,
		SuperstepTimeout: o.SuperstepTimeout, Trace: o.Trace, Job: o.Job,
		Threads: o.Team.Size(), Progress: o.Progress, Log: o.Log, Experiment: o.Experiment,
		Fork: o.Fork, Host: o.Host,
	}
	if g != nil {
		s.Graph, s.Name = g.Name, g.NameOf
	}
	return s
}

// Validate returns an error if options are invalid, whatever the program and the graph.
func (o Options) Validate() error {
	var errs []error
	refuse := func(wrong bool, format string, value any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, value))
		}
	}
	refuse(o.MaxSupersteps < 0, "a limit of %d supersteps: expected 0, for none, or more",
		o.MaxSupersteps)
	refuse(o.SuperstepTimeout < 0, "a limit of %v for a superstep: expected 0, for none, or more",
		o.SuperstepTimeout)
	refuse(!o.Delivery.Valid(), "there is no delivery %d", o.Delivery)
	refuse(!o.Encoding.Valid(), "there is no encoding %d for columns", o.Encoding)
	refuse(o.Uncombined && !o.Delivery.Allows(delivery.Naive),
		"uncombined messages are pushed one by one: delivery %v is not possible, use push or auto",
		o.Delivery)
	return errors.Join(errs...)
}
