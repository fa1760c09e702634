// Package bsp drives a run of a vertex program, superstep by superstep, over partitions in this
// process or on workers. Its coordinator, a pure state machine, takes the partitions' reports and
// decides on the next superstep. Package engine runs the partitions.
//
//	begin --Command--> Partitions.Superstep --Reports--> balance, record, next --Command--> ...
//
// Read driver.go first, then coordinator.go and command.go.
package bsp

import (
	"cmp"
	"context"
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

// Partitions run the supersteps of a run. They must be ready for superstep 0 when Driver.Run is
// called.
type Partitions interface {
	// Superstep runs a command on every partition and returns their reports by partition. The
	// reports are valid until the next call. If a partition fails or ctx ends, the error is the
	// first cause, not a consequence of it.
	Superstep(ctx context.Context, c *Command) ([]*Report, error)
	// Failed returns the error of a superstep in which the program called runtime.Goexit, or nil.
	Failed() error
}

// Program has the facts about a vertex program that a driver needs.
type Program struct {
	Name       string
	Types      []string // descriptions of its types, for checkpoints
	Own        Own      // its own state, or nil
	Combiner   string   // its name in errors
	List       bool     // it gets every message, and has no combiner
	Sized      bool     // messages have different sizes
	Mutates    bool     // it changes the graph
	Converges  bool     // it has converged when all vertices sleep and no message is left
	Coordinate coordinating
	// MaxSupersteps is the program's own limit of supersteps, for estimates of the time left; 0
	// means unknown.
	MaxSupersteps int
	Aggregates    []kernel.Aggregate
}

// Options are the parameters of a driver.
type Options struct {
	// Delivery forces a scheme of delivery.
	Delivery delivery.Choice
	delivery.Experiment
	// Deterministic makes results independent of partitions, threads and delivery, including
	// floats.
	Deterministic bool
	// MaxSupersteps is the limit of supersteps; 0 means no limit.
	MaxSupersteps int
	// SuperstepTimeout ends the run with a TimeoutError if a superstep takes longer; 0 means no
	// limit.
	SuperstepTimeout time.Duration
	// Trace gets a record of every superstep, some time after the superstep, or is nil. The records
	// name Job, Graph and Threads.
	Trace      trace.Journal
	Job, Graph string
	Threads    int
	// Progress, if not nil, is called after each superstep.
	Progress func(Progress)
	// Log gets the lines of Coordinator.Logf, or is nil.
	Log func(line string)
	// Before, if not nil, runs the earlier phases of the same run, and returns their outcome and
	// the seconds of their supersteps. The program runs only if they completed.
	Before func(ctx context.Context) (Outcome, []float64, error)
	// Room, if not nil, reports whether memory is enough for a number of messages of a list program
	// that are pushed separately.
	Room func(messages int) bool
	// Fork allows the run to continue from a checkpoint with another Decides.
	Fork bool
	Host
}

// Progress is the state of a run after a superstep.
type Progress struct {
	Superstep       int
	Active, Senders int     // see record.Superstep
	Scheme          string  // by which messages to all neighbours were delivered
	Seconds         float64 // of the superstep
}

// LeastLimit returns the smaller of two limits of supersteps, where 0 means no limit.
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
	// limit of a run's supersteps, by the options and the program; 0 if unknown
	maxSupersteps int
	recorder      *recorder        // nil if nothing is recorded
	final         trace.Aggregates // of the last run; set by Final
	// The summary of the values at the end of the last run, if the program wants one, and the time
	// that it took.
	summarizes  bool
	vertexGroup bool // groups of the summary are vertices
	summary     *trace.Summary
	summaryTime time.Duration

	loadedVertices   uint64
	loadedArcs       uint64
	program          checkpoint.Program
	own              Own
	from             *checkpoint.Manifest // the checkpoint that the next run continues from, or nil
	standing         *Standing            // of all partitions, for that checkpoint
	before           Outcome              // the outcome of earlier phases in the same run
	accounts         []*transport.Account
	times            []float64
	took             time.Duration
	last             float64 // seconds of the last superstep
	observerOverhead time.Duration
}

// New makes a driver of a program over the partitions of all processes; there must be at least one.
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
		name: p.Name, options: o, maxSupersteps: LeastLimit(o.MaxSupersteps,
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

// Refit tells the driver which graph the next runs begin with: the loaded graph or, in a plan, the
// graph after the earlier phases.
func (d *Driver) Refit(facts []*Facts) error {
	first := facts[0]
	loads := append([]delivery.Load{first.Load}, first.Ways...)
	absent := first.Absent
	for _, f := range facts[1:] {
		if len(f.Ways) != len(first.Ways) {
			return fmt.Errorf("%s: the processes have different directions of messages", d.name)
		}
		absent += f.Absent
		loads[0].Add(&f.Load)
		for i := range f.Ways {
			loads[1+i].Add(&f.Ways[i])
		}
	}
	c := &d.c
	c.loaded, c.loads, c.load = nil, loads, &loads[0]
	ids := uint64(first.Load.Vertices)
	c.setSize(size{ids, ids - uint64(absent), first.Edges})
	return nil
}

// Restart replaces the program for the next runs. The new program must have the same type.
func (d *Driver) Restart(p *Program) {
	d.c.program, d.own, d.maxSupersteps = p.Coordinate, p.Own,
		LeastLimit(d.options.MaxSupersteps, p.MaxSupersteps)
}

// Aggregates returns the program's aggregators, which encode cells for other processes.
func (d *Driver) Aggregates() Aggregates { return d.c.aggregates }

// Outcome returns the outcome of the last run, or the progress of the current one. Own returns the
// program's part, without earlier phases.
func (d *Driver) Outcome() Outcome { return d.before.Then(d.c.outcome) }
func (d *Driver) Own() Outcome     { return d.c.outcome }

// Follow sets the outcome of earlier phases in the same run. Supersteps are numbered from there.
func (d *Driver) Follow(before Outcome) {
	d.before, d.c.first = before, before.Supersteps
	if d.recorder != nil && before.Phase > 0 {
		d.recorder.setPhase(d.name, before.Phase)
	}
}

// Superstep returns the number, in the run, of the last superstep that began.
func (d *Driver) Superstep() int { return d.c.first + d.c.command.Superstep }

// Times returns the seconds of each superstep of the last run.
func (d *Driver) Times() []float64 { return d.times }

// ObserverOverhead returns the time that the last run spent on the records of its beginning and its
// end, and on the records left at its end.
func (d *Driver) ObserverOverhead() time.Duration { return d.observerOverhead }

// Run drives a run to its end. It fails if ctx ends, the program panics, or the journal fails.
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

// drive runs all supersteps, on a separate goroutine if the program may call runtime.Goexit.
func (d *Driver) drive(ctx context.Context, p Partitions) error {
	if d.options.Trusted {
		return d.runAll(ctx, p)
	}
	return Run(d.name, &d.c.command.Superstep, p, func() error { return d.runAll(ctx, p) })
}

// Run is Contain for a function that runs supersteps. After runtime.Goexit in a superstep, it returns
// the error of p.Failed.
func Run(program string, superstep *int, p Partitions, f func() error) error {
	err := Contain(program, superstep, f)
	if errors.Is(err, parallel.ErrExited) {
		return cmp.Or(p.Failed(), err)
	}
	return err
}

// runAll runs the earlier phases, and then the program.
func (d *Driver) runAll(ctx context.Context, p Partitions) error {
	if d.options.Before != nil {
		before, times, err := d.options.Before(ctx)
		d.Follow(before)
		if d.times = times; err != nil || !before.Ended.Complete() {
			return err
		}
	}
	return d.steps(ctx, p)
}

// Last returns the time of the last superstep in seconds.
func (d *Driver) Last() float64 { return d.last }

// Took returns the time of the last run's supersteps, with all that is between them and the changes
// of the graph at the end. It does not include earlier phases and the summary.
func (d *Driver) Took() time.Duration { return d.took }

func (d *Driver) steps(ctx context.Context, p Partitions) error {
	c, began := &d.c, time.Now()
	command, outcome, err := d.first()
	if err != nil {
		return err
	}
	next := outcome.Supersteps // counts a last superstep without running vertices too
	for outcome.Ended == "" {
		if err := d.save(command); err != nil {
			return err
		}
		start := time.Now()
		reports, err := d.superstep(ctx, p, command)
		if err != nil {
			_ = d.stored(reports) // parts stored so far are complete and usable
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
		superstep, scheme, seconds := command.Superstep, command.Scheme, took.Seconds()
		command, outcome, err = d.next(reports, seconds, ended)
		if err != nil {
			return err
		}
		command.Took, d.last = seconds, seconds
		if outcome.Supersteps <= superstep {
			break // no vertex ran: the superstep does not count
		}
		d.times = append(d.times, seconds)
		if d.options.Progress != nil {
			at := d.c.first + superstep
			d.options.Progress(Progress{
				at, c.sum.Computed, c.sum.Delivered, scheme.String(), seconds,
			})
		}
	}
	if c.requests > 0 { // no superstep follows that would change the graph
		reports, err := d.atEnd(ctx, p, &Command{Superstep: next, Change: true})
		if err != nil {
			return err
		}
		c.resize(reports)
		c.requests = 0
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

// balance checks that each partition reported once, and that the accounts of each pair of
// partitions agree.
func (d *Driver) balance(reports []*Report) error {
	if len(reports) != d.c.load.Partitions {
		return fmt.Errorf("superstep %d: found reports of %d partitions, expected %d",
			d.c.command.Superstep, len(reports), d.c.load.Partitions)
	}
	d.accounts = d.accounts[:0]
	for i, p := range reports {
		if p == nil || p.Partition.Partition != i {
			return fmt.Errorf("superstep %d: no report from partition %d", d.c.command.Superstep, i)
		}
		d.accounts = append(d.accounts, p.Account)
	}
	if len(reports) == 1 {
		return nil
	}
	return transport.Balance(d.accounts)
}
