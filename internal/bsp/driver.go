// Package bsp drives a run of a vertex program, superstep by superstep, over partitions in this
// process or on workers. A coordinator, a pure state machine, takes the partitions' reports and
// decides on the next superstep.
//
//	begin --Command--> Partitions.Superstep --Reports--> balance, record, next --Command--> ...
package bsp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/pregel"
)

// Partitions run the supersteps of a run. They are ready for superstep 0 when Driver.Run gets them.
type Partitions interface {
	// Superstep runs a command on every partition and returns their reports by partition, which are
	// valid until the next call. When a partition fails or ctx ends, the error is the first cause,
	// and not a consequence of it.
	Superstep(ctx context.Context, c *Command) ([]*Report, error)
	// Failed returns the error of a superstep in which the program called runtime.Goexit, or nil.
	Failed() error
}

// Program is what a driver knows of a vertex program.
type Program struct {
	Name       string
	Types      []string // its types in words, for checkpoints
	Own        Own      // its own state, or nil
	Combiner   string   // as errors name it
	List       bool     // it gets every message, and has no combiner
	Sized      bool     // messages are of different sizes
	Mutates    bool     // it changes the graph
	Converges  bool     // it has converged when all vertices sleep and no message is left
	Coordinate coordinating
	// MaxSupersteps is how many the program says that it runs at most, for who estimates the time
	// left; 0 if it does not say so.
	MaxSupersteps int
	Aggregates    []kernel.Aggregate
}

// Options say how a run is driven.
type Options struct {
	// Delivery forces how messages are delivered.
	Delivery delivery.Choice
	delivery.Experiment
	// Deterministic makes results independent of partitions, threads and delivery, floats included.
	Deterministic bool
	// MaxSupersteps ends the run when so many have run; 0 is no limit.
	MaxSupersteps int
	// SuperstepTimeout ends the run with a TimeoutError when a superstep takes longer; 0 is no
	// limit. Late, if not nil, is called then: a Compute that does not return holds the run.
	SuperstepTimeout time.Duration
	Late             func(err error)
	// Trace gets a record of every superstep, some time after it, or is nil. Job, Graph, and
	// Threads are named there.
	Trace      trace.Journal
	Job, Graph string
	Threads    int
	// Progress, if not nil, is called after each superstep.
	Progress func(Progress)
	// Log gets the lines of Coordinator.Logf, or is nil.
	Log func(line string)
	// Label returns the input id of a vertex, and whether there is one; nil if nobody knows.
	Label func(id pregel.VertexID) (uint64, bool)
	// Name returns what the input calls a vertex by its input id, if it has a name for it; nil if
	// nobody knows.
	Name func(label uint64) (string, bool)
	// Trusted says that the program never calls runtime.Goexit.
	Trusted bool
	// Before, if not nil, runs what comes before the program in the same run, and returns how that
	// ended and its supersteps' seconds. Unless that came to an end of its own, the program does
	// not run.
	Before func(ctx context.Context) (Outcome, []float64, error)
	// Checkpoints, if not nil, says when the state is saved, and makes the checkpoints of what
	// partitions have stored.
	Checkpoints *checkpoint.Keeper
	// Room, if not nil, reports whether there is memory for so many messages of a list program that
	// are pushed one by one.
	Room func(messages int) bool
	// Plan is how far the plan is that the run is a part of, for checkpoints; nil if there is none.
	// Who walks the plan adds to it.
	Plan *checkpoint.Plan
	// Spec is what the run was asked to do, for whoever goes on from a checkpoint.
	Spec []byte
	// Decides is what the values depend on beside the graph, for checkpoints (checkpoint.Manifest).
	// Fork allows the run to go on from one in which that differs.
	Decides map[string]string
	Fork    bool
	// Account returns what the run has come to with all supersteps that were recorded, for
	// checkpoints; nil if nobody sums it up.
	Account func() json.RawMessage
}

// Progress is how far a run is.
type Progress struct {
	Superstep       int
	Active, Senders int // as its record has them
	Scheme          delivery.Scheme
	Seconds         float64 // of the superstep
}

// LeastLimit returns the smaller of two limits of supersteps, of which 0 is none.
func LeastLimit(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Driver drives runs of a program, one after the other.
type Driver struct {
	name    string
	options Options
	c       coordinator
	// supersteps of a run, by its limit and by the program; 0 if nobody knows
	most     int
	recorder *recorder        // nil if nothing is recorded
	final    trace.Aggregates // of the last run, once asked for
	// Of the values at the end of the last run, if the program wants that, and the time that it
	// took.
	summarizes  bool
	vertexGroup bool // groups of the summary are vertices
	summary     *trace.Summary
	summaryTime time.Duration

	loadedVertices   uint64
	loadedArcs       uint64
	program          checkpoint.Program
	own              Own
	from             *checkpoint.Manifest // that the next run goes on from, or nil
	standing         *Standing            // of all partitions then
	before           Outcome              // of what came before the program in the same run
	sums             transport.Balance
	accounts         []*transport.Account
	times            []float64
	took             time.Duration
	last             float64 // seconds of the last superstep
	observerOverhead time.Duration
}

// New makes a driver of a program over the partitions of all processes, of which there is one at
// least.
func New(p *Program, o Options, facts []*Facts) (*Driver, error) {
	if len(facts) == 0 {
		return nil, fmt.Errorf("%s: no process has partitions of the graph", p.Name)
	}
	first := facts[0]
	force, err := forced(p, &o, first)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	aggregates := Aggregates{p.Aggregates, o.Deterministic}
	totals := aggregates.Cells()
	d := &Driver{
		name: p.Name, options: o, most: LeastLimit(o.MaxSupersteps,
			p.MaxSupersteps), summarizes: first.Summary, vertexGroup: first.GroupVertices,
		c: coordinator{
			program: p.Coordinate, aggregates: aggregates, totals: totals,
			policy: delivery.Policy{Force: force, Rates: rates(facts)},
			limit:  o.MaxSupersteps, view: kernel.Pregel.Coordinator(0, 0, totals,
				o.Log).(*pregel.Coordinator), list: p.List, sized: p.Sized, mutates: p.Mutates,
			asleep: trace.Halted,
		},
	}
	if p.Converges {
		d.c.asleep = trace.Converged
	}
	d.loadedVertices, d.loadedArcs = first.LoadedVertices, first.LoadedArcs
	if p.List {
		d.c.policy.Room = o.Room
	}
	d.program, d.own = checkpoint.Program{Name: p.Name, Types: p.Types}, p.Own
	if err := d.Refit(facts); err != nil {
		return nil, err
	}
	if o.Trace != nil {
		d.recorder = newRecorder(o.Trace, o.Job)
	}
	return d, nil
}

// Refit tells the driver of the graph that the next runs begin with: the one it was made for or, in
// a plan, what the phases before have left.
func (d *Driver) Refit(facts []*Facts) error {
	first := facts[0]
	loads := append([]delivery.Load{first.Load}, first.Ways...)
	absent := first.Absent
	for _, f := range facts[1:] {
		if len(f.Ways) != len(first.Ways) {
			return fmt.Errorf("%s: the processes do not agree about its direction", d.name)
		}
		absent += f.Absent
		loads[0].Add(&f.Load)
		for i := range f.Ways {
			loads[1+i].Add(&f.Ways[i])
		}
	}
	c := &d.c
	c.loaded, c.loads, c.load = nil, loads, &loads[0]
	c.ids, c.edges = uint64(first.Load.Vertices), first.Edges
	c.vertices = c.ids - uint64(absent)
	c.view.NumVertices, c.view.NumEdges = c.vertices, c.edges
	return nil
}

// Restart replaces the program by another of the same type for the next runs.
func (d *Driver) Restart(p *Program) {
	d.c.program, d.own, d.most = p.Coordinate, p.Own,
		LeastLimit(d.options.MaxSupersteps, p.MaxSupersteps)
}

// Aggregates are the program's; they encode cells for other processes.
func (d *Driver) Aggregates() Aggregates { return d.c.aggregates }

// Outcome is that of the last run, or the progress of the current one. Own is the program's part,
// without what came before.
func (d *Driver) Outcome() Outcome { return d.before.Then(d.c.outcome) }
func (d *Driver) Own() Outcome     { return d.c.outcome }

// Follow says what has come before the program in the same run: its supersteps are counted from
// there.
func (d *Driver) Follow(before Outcome) {
	d.before, d.c.first = before, before.Supersteps
	if d.recorder != nil && before.Phase > 0 {
		d.recorder.of(d.name, before.Phase)
	}
}

// Superstep is the number in the run of the last superstep that began.
func (d *Driver) Superstep() int { return d.c.first + d.c.command.Superstep }

// Times returns the seconds of each superstep of the last run.
func (d *Driver) Times() []float64 { return d.times }

// ObserverOverhead is the time that the last run spent on the records of its beginning and its end,
// and on those left at its end.
func (d *Driver) ObserverOverhead() time.Duration { return d.observerOverhead }

// Run drives a run to its end. It returns an error when ctx ends, the program panics, or the
// journal fails.
func (d *Driver) Run(ctx context.Context, p Partitions) (_ *Outcome, err error) {
	d.c.command, d.c.outcome, d.times, d.observerOverhead, d.final, d.last = Command{}, Outcome{},
		d.times[:0], 0, nil, 0
	d.summary, d.summaryTime = nil, 0
	if d.recorder == nil {
		err = d.drive(ctx, p)
	} else {
		err = d.recorded(func() error { return d.drive(ctx, p) })
	}
	if err != nil {
		return nil, err
	}
	o := d.Outcome()
	return &o, nil
}

// drive runs all supersteps, on a goroutine of its own if the program may end it by runtime.Goexit.
func (d *Driver) drive(ctx context.Context, p Partitions) error {
	if d.options.Trusted {
		return d.whole(ctx, p)
	}
	err := Contain(d.name, &d.c.command.Superstep, func() error { return d.whole(ctx, p) })
	if errors.Is(err, parallel.ErrExited) {
		if failed := p.Failed(); failed != nil {
			return failed
		}
	}
	return err
}

// whole runs what comes before the program, and then the program.
func (d *Driver) whole(ctx context.Context, p Partitions) error {
	if d.options.Before != nil {
		before, times, err := d.options.Before(ctx)
		d.Follow(before)
		if d.times = times; err != nil || !before.Ended.Complete() {
			return err
		}
	}
	return d.steps(ctx, p)
}

// Last returns how many seconds the last superstep took.
func (d *Driver) Last() float64 { return d.last }

// Took is how long the last run's supersteps and what is between them took, without what came
// before the program.
func (d *Driver) Took() time.Duration { return d.took }

func (d *Driver) steps(ctx context.Context, p Partitions) error {
	c, began := &d.c, time.Now()
	command, outcome, err := d.first()
	if err != nil {
		return err
	}
	next := outcome.Supersteps // also counts a last superstep that turns out to be empty
	for outcome.Ended == "" {
		if err := d.save(command); err != nil {
			return err
		}
		start := time.Now()
		reports, err := d.superstep(ctx, p, command)
		if err != nil {
			_ = d.stored(reports) // what was stored meanwhile is whole, and can be gone on from
			return err
		}
		ended := time.Now()
		took := ended.Sub(start)
		next = command.Superstep + 1
		if err := d.balance(reports); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		if err := cmp.Or(d.stored(reports), d.flushed(ctx, command)); err != nil {
			return err
		}
		superstep, scheme := command.Superstep, command.Scheme
		if d.recorder != nil {
			if err := d.recorder.add(c, reports, took, ended); err != nil {
				return err
			}
		}
		seconds := took.Seconds()
		command, outcome = c.next(reports, seconds)
		command.Took, d.last = seconds, seconds
		if outcome.Supersteps <= superstep {
			break // no vertex ran: the superstep does not count
		}
		d.times = append(d.times, seconds)
		if d.options.Progress != nil {
			at := d.c.first + superstep
			d.options.Progress(Progress{at, c.sum.Computed, c.sum.Delivered, scheme, seconds})
		}
	}
	if c.requests > 0 {
		if err := d.changeAtEnd(ctx, p, next); err != nil {
			return err
		}
		next++
	}
	d.took = time.Since(began)
	if d.summarizes && next > 0 {
		return d.summarize(ctx, p, next)
	}
	return nil
}

// superstep runs one superstep on the partitions, within the time limit.
func (d *Driver) superstep(ctx context.Context, p Partitions, c *Command) ([]*Report, error) {
	if limit := d.options.SuperstepTimeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, &TimeoutError{c.Superstep, limit})
		defer cancel()
		if d.options.Late != nil {
			ends := ctx
			stop := context.AfterFunc(ends, func() {
				if late := new(TimeoutError); errors.As(context.Cause(ends), &late) {
					d.options.Late(fmt.Errorf("%s: %w", d.name, late))
				}
			})
			defer stop()
		}
	}
	reports, err := p.Superstep(ctx, c)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return reports, err
}

// balance checks that each partition reported once, and that each pair agrees on what was sent and
// received.
func (d *Driver) balance(reports []*Report) error {
	if len(reports) != d.c.load.Partitions {
		return fmt.Errorf("superstep %d: found reports of %d partitions, expected %d",
			d.c.command.Superstep, len(reports), d.c.load.Partitions)
	}
	d.accounts = d.accounts[:0]
	for i, p := range reports {
		if p == nil || p.Partition.Partition != i {
			return fmt.Errorf("superstep %d: nothing was heard of partition %d",
				d.c.command.Superstep, i)
		}
		d.accounts = append(d.accounts, p.Account)
	}
	if len(reports) == 1 {
		return nil
	}
	return d.sums.Check(d.accounts)
}
