package engine

import (
	"encoding/json"
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
	// SuperstepTimeout ends the run if a superstep takes longer; 0 means no limit. Late, if not
	// nil, is called at that time, because a Compute that does not return delays the end of the
	// run.
	SuperstepTimeout time.Duration
	Late             func(err error)
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
	// Trusted means that the program never calls runtime.Goexit. Then a run needs no separate
	// goroutine. This saves 10 µs, a fifth of a Graph500 search in a tiny component.
	Trusted bool
	// Parts, if not nil, stores the parts of checkpoints of this process's partitions. Checkpoints,
	// in the process with the driver, decides when to save, and makes checkpoints from the parts.
	// Spec is the specification of the run in these checkpoints.
	Parts       *checkpoint.Writer
	Checkpoints *checkpoint.Keeper
	Spec        []byte
	// Decides, Fork and Account are those of bsp.Options. If Decides is nil, it is computed from
	// the program and these options.
	Decides map[string]string
	Fork    bool
	Account func() json.RawMessage
	// Plan is the progress of the plan that the run is a part of, for its checkpoints, or nil.
	Plan *checkpoint.Plan
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
	// Label returns the input id of a vertex, and whether the vertex exists, for a driver in a
	// process without the graph.
	Label LabelOf
	// Name returns the name of the vertex with an input id, if it has one, for a driver in a
	// process without the graph.
	Name func(label uint64) (string, bool)
}

// driver returns the options of a driver on a graph, or on a nil graph if other processes have it.
func (o *Options) driver(g *graph.Graph) bsp.Options {
	s := bsp.Options{
		Delivery: o.Delivery, Deterministic: o.Deterministic, MaxSupersteps: o.MaxSupersteps,
		SuperstepTimeout: o.SuperstepTimeout, Late: o.Late, Trace: o.Trace, Job: o.Job, Threads: 1,
		Progress: o.Progress,
		Trusted:  o.Trusted, Log: o.Log, Label: o.Label, Name: o.Name, Checkpoints: o.Checkpoints,
		Spec: o.Spec, Plan: o.Plan,
		Decides: o.Decides, Fork: o.Fork, Account: o.Account,
		Experiment: o.Experiment,
	}
	if g != nil {
		s.Graph, s.Name = g.Name, g.NameOf
	}
	if o.Team != nil {
		s.Threads = o.Team.Size()
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
