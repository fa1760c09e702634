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

// Options say how a program is run.
type Options struct {
	// Team runs the work of all partitions of the process; nil is one thread.
	Team *parallel.Team
	// Delivery forces how messages are delivered.
	Delivery delivery.Choice
	delivery.Experiment
	// Deterministic makes results independent of partitions, threads and delivery, floats included.
	Deterministic bool
	// Seed chooses the random numbers of pregel.Vertex.Rand.
	Seed uint64
	// Alpha, Beta and Gap are what a frame costs to a partition of another process: the seconds of
	// a byte, until it is there, and until the next one can be sent. They are 0 where there is one
	// process.
	Alpha, Beta, Gap float64
	// MaxSupersteps ends the run when so many have run; 0 is no limit.
	MaxSupersteps int
	// SuperstepTimeout ends the run when a superstep takes longer; 0 is no limit. Late, if not nil,
	// is called then: a Compute that does not return holds the run.
	SuperstepTimeout time.Duration
	Late             func(err error)
	// Trace, if not nil, gets a record of every superstep of every partition, including an empty
	// last one, whose messages reached only finished vertices.
	Trace trace.Journal
	// Job names the run in its records.
	Job string
	// Progress, if not nil, is called after each superstep.
	Progress func(bsp.Progress)
	// Connect, if not nil, is called when a Job begins a run. It returns the partitions' endpoints,
	// and a function that ends all waiting at them. By default endpoints pass frames by reference.
	Connect func() (endpoint func(partition int) transport.Endpoint, broken func())
	// Shared is what the phases of a plan share, of a run that is one of them; it is the caller's
	// to close.
	Shared *Shared
	// AnyGraph says that the graph only stands for another: whether the program can run on it does
	// not matter.
	AnyGraph bool
	// Trusted says that the program never calls runtime.Goexit: a run needs no goroutine to survive
	// that, which costs 10 µs, a search of Graph500 in a tiny component a fifth.
	Trusted bool
	// Parts, if not nil, stores the parts of checkpoints that the partitions of this process save.
	// Checkpoints, where the run is driven, decides when they do, and makes checkpoints of the
	// parts; Spec is what these say that the run was asked to do.
	Parts       *checkpoint.Writer
	Checkpoints *checkpoint.Keeper
	Spec        []byte
	// Decides, Fork and Account are as bsp.Options has them; nil Decides is what the job's program
	// and these options say.
	Decides map[string]string
	Fork    bool
	Account func() json.RawMessage
	// Plan is how far the plan is that the run is a part of, for its checkpoints, or nil.
	Plan *checkpoint.Plan
	// From is the checkpoint that the next run goes on from, of a job with all partitions in this
	// process, or nil.
	From *checkpoint.Reader
	// Budget bounds the memory of columns and messages; with nil that of the process does.
	Budget *mem.Budget
	// Summary has reports tell of the values that the run ends with, if the program says what
	// (Group, Score, Reached).
	Summary bool
	// Log gets the lines of Vertex.Logf, from several goroutines at once, or is nil.
	Log func(line string)
	// Label returns the input id of a vertex, and whether there is one, for a driver in a process
	// without the graph.
	Label LabelOf
	// Name returns what the input calls a vertex by its input id, if it has a name for it, for a
	// driver in a process without the graph.
	Name func(label uint64) (string, bool)
}

// driver returns the options of a driver on a graph, which is nil where other processes have it.
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

func (o Options) validate() error {
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
	refuse(!o.Encoding.Valid(), "there is no encoding %d that can be asked for", o.Encoding)
	refuse(o.Uncombined && !o.Delivery.Allows(delivery.Naive),
		"uncombined messages are pushed, one by one: delivery %v cannot be had, use push or auto",
		o.Delivery)
	return errors.Join(errs...)
}
