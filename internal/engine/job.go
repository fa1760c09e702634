package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

// Job is a program bound to the partitions of a graph in this process, with its columns allocated.
// It can run several times, with different parameters. If all partitions are in this process, Run
// drives it. Otherwise a driver in another process does, through Begin and Superstep.
type Job struct {
	graph     *graph.Graph
	options   Options
	methods   *Program
	name      string
	direction pregel.Direction

	arena   *mem.Arena
	runners []*runner        // of the partitions in this process
	owners  []*runner        // by partition; nil for partitions of other processes
	teams   []*parallel.Team // the teams that the job has made
	stop    atomic.Bool
	over    atomic.Pointer[error] // the error if there is no memory for the job
	fresh   bool                  // no superstep has run since Prepare
	settled bool                  // the last superstep succeeded, so nothing writes to the arena

	ownsShared bool // the job closes options.Shared
	generation int  // generation of the shared graph that runners and driver use

	driver  *bsp.Driver // nil if other processes have partitions
	phases  phases      // of the program's plan; the driver runs them before the program
	process processStats
	seconds float64         // of the last run
	rates   *delivery.Rates // nil until measured
	// standing is the state of the partitions that continue from a checkpoint; nil after the run
	// begins.
	standing *bsp.Standing

	// These fields are set from Begin to End.
	running   context.Context
	broken    func()
	command   *bsp.Command   // of the current step
	first     func()         // runs the command on the first partition
	wake      []chan bool    // starts the command on the other partitions
	reports   []*bsp.Report  // of the partitions
	busy      sync.WaitGroup // partitions that are running the command
	others    sync.WaitGroup // goroutines of the other partitions
	unwatched func()         // removes the function of Budget.OnOver
	stopped   func()         // releases the AfterFunc on the run's context
}

// NewJob binds a program to a graph, which must stay open until the job is closed. ctx can cancel
// NewJob; it is not used later.
func NewJob(ctx context.Context, g *graph.Graph, p Erased, o Options) (j *Job, err error) {
	err = bsp.Contain(Name(p.Program), &bsp.NoSuperstep, func() (err error) {
		j, err = newJob(ctx, g, p, o)
		return err
	})
	if err != nil && j != nil {
		j.Close()
		return nil, err
	}
	return j, err
}

// newJob may return a job together with an error. The caller then closes the job.
func newJob(ctx context.Context, g *graph.Graph, p Erased, o Options) (j *Job, err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	m, err := methodsOf(p)
	if err != nil {
		return nil, err
	}
	err = m.validate()
	if err == nil && !o.AnyGraph {
		err = m.Fits(g)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Name(), err)
	}
	j = &Job{graph: g, options: o, methods: m, name: m.Name()}
	if o.Decides == nil {
		j.options.Decides = m.Decides(o, g.Weights)
	}
	j.arena = j.newArena()
	j.options.Job = cmp.Or(j.options.Job, j.name)
	if o.Parts != nil || o.From != nil {
		if err := m.Checkpointable(); err != nil {
			return nil, err
		}
	}
	if o.Shared == nil {
		j.options.Shared, j.ownsShared = &Shared{parts: map[int]*sharedPart{}}, true
	}
	if m.plan != nil {
		if err := j.preparePhases(); err != nil {
			return nil, fmt.Errorf("%s: %w", j.name, err)
		}
	}
	j.generation = j.options.Shared.generation
	if g.Directed {
		j.direction = m.traits.Direction
	}
	if err = j.makeRunners(ctx); err == nil {
		err = j.fitsBase()
	}
	if err != nil {
		return j, fmt.Errorf("%s: %w", j.name, err)
	}
	runtime.AddCleanup(j, func(a *mem.Arena) { a.Close() }, j.arena)
	for _, r := range j.runners {
		runtime.AddCleanup(j, func(a *mem.Arena) { a.Close() }, r.store)
	}
	if len(j.runners) < len(j.owners) {
		return j, nil
	}
	driven := j.options.driver(g)
	driven.Room, driven.Label = j.hasMemory, j.find
	if m.plan != nil {
		driven.Before = j.before
	}
	j.driver, err = bsp.New(m.describe(j.options.Deterministic), driven, []*bsp.Facts{j.Facts()})
	if err == nil && m.plan != nil && j.options.From == nil && m.plan.certain() {
		_, err = j.phase(ctx, 0, j.phaseOptions())
	}
	return j, err
}

func (j *Job) makeRunners(ctx context.Context) error {
	team := j.options.Team
	j.owners = make([]*runner, len(j.graph.Parts))
	here := slices.DeleteFunc(slices.Clone(j.graph.Parts), // without those of other processes
		func(p *graph.Partition) bool { return p == nil })
	for _, p := range here {
		own := team
		if len(here) > 1 {
			// Partitions share the threads: each gets some threads, or each gets one and not all
			// run at the same time.
			own = parallel.NewTeam(max(1, portion(team.Size(), len(here), len(j.runners))), false)
			j.teams = append(j.teams, own)
		}
		r, err := newRunner(ctx, j, p, own)
		if err != nil {
			return err
		}
		j.runners, j.owners[r.part.Index] = append(j.runners, r), r
	}
	return nil
}

// portion returns the i-th of n nearly equal parts of total.
func portion(total, n, i int) int { return (total*(i+1))/n - total*i/n }

// Restart replaces the job's program by one of the same type, with other parameters.
func (j *Job) Restart(p Erased) error {
	m, err := NewProgram(p)
	if err != nil {
		return err
	}
	if err := m.validate(); err != nil {
		return fmt.Errorf("%s: %w", j.name, err)
	}
	if !j.options.AnyGraph {
		if err := m.Fits(j.graph); err != nil {
			return fmt.Errorf("%s: %w", j.name, err)
		}
	}
	own := j.methods.program
	if m.Name() != j.name || p.Value != own.Value || p.Message != own.Message ||
		m.traits.Direction != j.methods.traits.Direction || !m.compatible(j.methods) {
		return fmt.Errorf("%s: a job of %s cannot be restarted with it", m.Name(), j.name)
	}
	// the job's columns and kernels were made for these
	m.aggregates, m.properties = j.methods.aggregates, j.methods.properties
	j.methods = m
	for _, r := range j.runners {
		r.instance.Rebind(m.Methods)
		r.changing.create = m.traits.CreateOnMessage
	}
	if j.driver != nil {
		j.driver.Restart(m.describe(j.options.Deterministic))
	}
	j.fresh = false
	return nil
}

// Prepare sets every vertex's initial value. Graph500 does not time this step. Run calls Prepare if
// necessary, and does the rest of the initialization.
func (j *Job) Prepare() {
	for _, r := range j.runners {
		r.revert()
		r.instance.BeginFill()
		r.team.For(r.instance.Values().Len(), 1<<14,
			func(_, lo, hi int) { r.instance.Fill(lo, hi) })
	}
	j.fresh = true
}

// Run runs the program to its end. It returns an error if ctx ends, a superstep exceeds its time
// limit, the program fails, or a record cannot be written (Options.Trace).
func (j *Job) Run(ctx context.Context) (*bsp.Outcome, error) {
	if j.driver == nil {
		return nil, fmt.Errorf("%s: other processes have partitions of %s", j.name, j.graph.Name)
	}
	start := time.Now()
	if o := j.methods.own; o != nil && !j.methods.HasState() {
		o.watcher, _ = ctx.Value(watching{}).(Watcher)
	}
	endpoint, broken := j.connect()
	if err := j.Begin(ctx, endpoint, broken); err != nil {
		return nil, err
	}
	defer j.End()
	defer runtime.KeepAlive(j)
	defer runtime.KeepAlive(j.graph)
	if from := j.options.From; from != nil && j.methods.plan == nil { // else see before
		j.options.From = nil // the next run starts from the beginning
		if err := j.resume(ctx, from); err != nil {
			return nil, err
		}
	}
	o, err := j.driver.Run(ctx, j)
	if cause := cmp.Or(context.Cause(ctx), j.options.Checkpoints.Left()); cause != nil {
		return nil, fmt.Errorf("%s: superstep %d: %w", j.name, j.driver.Superstep(), cause)
	}
	var slow *bsp.TimeoutError
	if errors.As(err, &slow) {
		return nil, fmt.Errorf("%s: %w", j.name, err)
	}
	j.seconds = (time.Since(start) - j.driver.ObserverOverhead() - j.driver.SummaryTime()).Seconds()
	return o, err
}

// Seconds returns the time of the last run, without bsp.Driver.ObserverOverhead and SummaryTime.
func (j *Job) Seconds() float64 { return j.seconds }

// SummaryTime is bsp.Driver.SummaryTime.
func (j *Job) SummaryTime() time.Duration { return j.driver.SummaryTime() }

func (j *Job) Times() []float64 { return j.driver.Times() }

// Totals returns the aggregators' values after the last run, indexed by their numbers. Final
// returns them for reports.
func (j *Job) Totals() []kernel.Cell { return j.driver.Totals() }

// Final returns the final values of the last run's aggregators, for reports.
func (j *Job) Final() trace.Aggregates { return j.driver.Final() }

func (j *Job) Graph() *graph.Graph { return j.graph }

// at returns the runner that owns a vertex, and the vertex's local index.
func (j *Job) at(id pregel.VertexID) (*runner, uint32) {
	q, local := j.graph.Deal.Of(uint32(id))
	return j.owners[q], local
}

// Owned returns the number of vertices that a partition owns.
func (j *Job) Owned(partition int) int { return j.owners[partition].part.Owned }

// Values returns the values of a partition's vertices, by their local indices. They are valid until
// the next run or until the job is closed. Arena returns the arena of the partition's columns.
func (j *Job) Values(partition int) kernel.Column { return j.owners[partition].instance.Values() }
func (j *Job) Arena(partition int) *mem.Arena     { return j.owners[partition].arena }

// Close ends the run and frees the job's columns. It is idempotent.
func (j *Job) Close() {
	j.End()
	for _, phase := range j.phases.jobs {
		phase.Close()
	}
	j.phases.jobs = nil
	for _, r := range j.runners {
		if r.arena != j.arena {
			r.arena.Close()
			r.freeRetired()
		}
		r.store.Close()
	}
	if j.ownsShared {
		j.options.Shared.Close()
	}
	for _, t := range j.teams {
		t.Close()
	}
	if j.settled {
		j.arena.Keep()
	}
	j.arena.Close()
}
