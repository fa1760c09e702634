package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/pregel"
)

// Job is a program bound to a graph: its columns are made, and it can be run, and run again with other parameters.
type Job[V, M any] struct {
	graph     *graph.Graph
	options   Options
	methods   *methods[V, M]
	name      string
	identity  M
	direction pregel.Direction

	arena   *mem.Arena
	runners []*runner[V, M]  // of the partitions of this process
	owners  []*runner[V, M]  // by partition; nil of those of others
	teams   []*parallel.Team // those the job made
	stop    atomic.Bool
	fresh   bool // no superstep has run since Prepare

	coordinator *coordinator
	times       []float64
	process     vitals
	keeper      *keeper       // nil if nothing is recorded
	telling     time.Duration // before the first superstep, and after the last
	seconds     float64       // of the last run
}

// NewJob binds a program to a graph. The graph must stay open while the job is.
func NewJob[V, M any](g *graph.Graph, p pregel.Program[V, M], o Options) (_ *Job[V, M], err error) {
	defer caught(&err, programName(p), &noSuperstep)
	j, err := newJob(g, p, o)
	if err != nil {
		return nil, err
	}
	if j.coordinator, err = newCoordinator(j.methods, o, []*Facts{j.facts()}); err != nil {
		j.Close()
		return nil, fmt.Errorf("%s: %w", j.name, err)
	}
	return j, nil
}

// newJob is NewJob without a coordinator.
func newJob[V, M any](g *graph.Graph, p pregel.Program[V, M], o Options) (_ *Job[V, M], err error) {
	defer caught(&err, programName(p), &noSuperstep)
	if err := o.validate(); err != nil {
		return nil, err
	}
	m, err := inspect(p)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(m.validate(), m.fits(g)); err != nil {
		return nil, fmt.Errorf("%s: %w", programName(p), err)
	}
	if o.Deterministic {
		m.block = nil // whose sums over 64 vertices would depend on which partition these are in
	}
	j := &Job[V, M]{graph: g, options: o, methods: m, name: programName(p), arena: new(mem.Arena)}
	if j.options.Job == "" {
		j.options.Job = j.name
	}
	if o.Trace != nil {
		j.keeper = newKeeper(o.Trace, j.options.Job)
	}
	if g.Directed {
		j.direction = m.direction
	}
	if j.direction != pregel.Out {
		if err := g.Turn(context.Background(), o.Team); err != nil {
			return nil, fmt.Errorf("%s: %w", j.name, err)
		}
	}
	if m.combiner != nil {
		j.identity = m.combiner.Identity()
	}
	if err := j.makeRunners(); err != nil {
		j.Close()
		return nil, fmt.Errorf("%s: %w", j.name, err)
	}
	runtime.AddCleanup(j, func(a *mem.Arena) { a.Close() }, j.arena)
	return j, nil
}

func programName[V, M any](p pregel.Program[V, M]) string {
	if l, ok := pregel.Unlist(p); ok {
		return Name(l)
	}
	return Name(p)
}

func (j *Job[V, M]) makeRunners() error {
	team := j.options.Team
	if team == nil {
		team = parallel.NewTeam(1, false)
	}
	j.owners = make([]*runner[V, M], len(j.graph.Parts))
	here := 0
	for _, p := range j.graph.Parts {
		if p != nil {
			here++
		}
	}
	for _, p := range j.graph.Parts {
		if p == nil {
			continue // another process has it
		}
		own := team
		if here > 1 {
			// Partitions share the threads: some workers each, or one each and some partitions at a time.
			own = parallel.NewTeam(max(1, portion(team.Size(), here, len(j.runners))), false)
			j.teams = append(j.teams, own)
		}
		r, err := newRunner(j, p, own)
		if err != nil {
			return err
		}
		j.runners, j.owners[r.part.Index] = append(j.runners, r), r
	}
	return nil
}

// portion returns the i-th of n shares of total.
func portion(total, n, i int) int { return (total*(i+1))/n - total*i/n }

// Restart gives the job another program of the same type, with other parameters.
func (j *Job[V, M]) Restart(p pregel.Program[V, M]) error {
	m, err := inspect(p)
	if err != nil {
		return err
	}
	if err := m.validate(); err != nil {
		return fmt.Errorf("%s: %w", j.name, err)
	}
	if programName(p) != j.name || m.direction != j.methods.direction {
		return fmt.Errorf("%s: a job of %s cannot be restarted with it", programName(p), j.name)
	}
	if j.options.Deterministic {
		m.block = nil
	}
	// What the job's columns and kernels were made for stays.
	m.combiner, m.aggregates, m.columns = j.methods.combiner, j.methods.aggregates, j.methods.columns
	j.methods = m
	if j.coordinator != nil {
		j.coordinator.program = m.coordinate
	}
	j.fresh = false
	return nil
}

// Prepare gives every vertex its first value, which Graph500 does not time; Run does it unless it was done. All else
// that a run begins with is made in Run.
func (j *Job[V, M]) Prepare() {
	for _, r := range j.runners {
		r.fill()
	}
	j.fresh = true
}

// Run runs the program to its end. It returns an error when ctx ends, the program panics, or a sink fails.
func (j *Job[V, M]) Run(ctx context.Context) (_ *Outcome, err error) {
	start := time.Now()
	j.coordinator.command, j.telling = Command{}, 0
	defer caught(&err, j.name, &j.coordinator.command.Superstep)
	ctx, late := context.WithCancelCause(ctx)
	defer late(nil)
	if !j.fresh {
		j.Prepare()
	}
	j.fresh = false
	j.stop.Store(false)
	for _, r := range j.runners {
		r.reset()
		r.watchMessages(ctx)
	}
	j.times = j.times[:0]
	defer runtime.KeepAlive(j)
	defer runtime.KeepAlive(j.graph)
	defer afterFunc(ctx, func() { j.stop.Store(true) })()
	err = j.recorded(func() (err error) {
		defer caught(&err, j.name, &j.coordinator.command.Superstep)
		if len(j.runners) == 1 {
			j.vitals()
			err = j.drive(ctx, j.timed(j.runAlone, late), nil)
		} else {
			crew := j.start(j.meet(ctx))
			defer crew.stop()
			err = j.drive(ctx, j.timed(crew.step, late), crew.audit)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: superstep %d: %w", j.name, j.coordinator.command.Superstep, context.Cause(ctx))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	o := j.coordinator.outcome
	j.seconds = (time.Since(start) - j.telling).Seconds()
	return &o, nil
}

// afterFunc is context.AfterFunc, but stop waits until f, if it was started, has returned. Otherwise the f of a run that was
// cancelled could stop the next run.
func afterFunc(ctx context.Context, f func()) (stop func()) {
	done := make(chan struct{})
	stopped := context.AfterFunc(ctx, func() {
		defer close(done)
		f()
	})
	return func() {
		if !stopped() {
			<-done
		}
	}
}

// meet returns where the partitions meet in a run.
func (j *Job[V, M]) meet(ctx context.Context) (_ context.Context, endpoint func(int) transport.Endpoint, broken func()) {
	if j.options.Meet != nil {
		endpoint, broken = j.options.Meet()
	} else {
		local := transport.NewLocal(len(j.runners))
		endpoint, broken = local.Endpoint, local.Close
	}
	return ctx, endpoint, broken
}

// timed is step, which ends the run when it takes too long.
func (j *Job[V, M]) timed(step func(context.Context, *Command) []*Report, end context.CancelCauseFunc) func(context.Context, *Command) []*Report {
	limit := j.options.SuperstepTimeout
	if limit == 0 {
		return step
	}
	return func(ctx context.Context, c *Command) []*Report {
		superstep := c.Superstep
		defer time.AfterFunc(limit, func() {
			err := fmt.Errorf("it took longer than %v", limit)
			end(err)
			if j.options.Late != nil {
				j.options.Late(fmt.Errorf("%s: superstep %d: %w", j.name, superstep, err))
			}
		}).Stop()
		return step(ctx, c)
	}
}

// drive takes the coordinator and the partitions through the run, step by step.
func (j *Job[V, M]) drive(ctx context.Context, step func(context.Context, *Command) []*Report, audit func([]*Report) error) error {
	c := j.coordinator
	for command, outcome := c.begin(); !outcome.Done; {
		start := time.Now()
		reports := step(ctx, command)
		ended := time.Now()
		took := ended.Sub(start)
		if err := firstError(reports); err != nil || ctx.Err() != nil {
			return err
		}
		if audit != nil {
			if err := audit(reports); err != nil {
				return fmt.Errorf("%s: %w", j.name, err)
			}
		}
		superstep, scheme := command.Superstep, command.Scheme
		if j.keeper != nil {
			if err := j.keeper.keep(c, reports, took, ended); err != nil {
				return err
			}
		}
		seconds := took.Seconds()
		command, outcome = c.next(reports, seconds)
		if outcome.Supersteps <= superstep {
			break // nobody ran: it was none
		}
		j.times = append(j.times, seconds)
		if j.options.Progress != nil {
			j.options.Progress(Progress{superstep, c.sum.Active, c.sum.Senders, scheme, seconds})
		}
	}
	return nil
}

// Seconds returns how long the last run took, but for telling who observes it that it begins and, once it was over, what
// was still to be told.
func (j *Job[V, M]) Seconds() float64 { return j.seconds }

// Times returns the seconds of each superstep of the last run.
func (j *Job[V, M]) Times() []float64 { return j.times }

// Graph returns the graph the job is bound to.
func (j *Job[V, M]) Graph() *graph.Graph { return j.graph }

// Value returns the value of a vertex.
func (j *Job[V, M]) Value(id pregel.VertexID) V {
	n := uint64(len(j.owners))
	return j.owners[uint64(id)%n].values[uint64(id)/n]
}

// Close frees the job's columns. It is idempotent.
func (j *Job[V, M]) Close() {
	for _, t := range j.teams {
		t.Close()
	}
	j.arena.Close()
}

func (j *Job[V, M]) noSource(id pregel.VertexID) error {
	if id == pregel.None {
		return fmt.Errorf("%s: the source is not a vertex of %s", j.name, j.graph.Name)
	}
	return fmt.Errorf("%s: source %d: the graph has vertices 0..%d", j.name, id, j.graph.N-1)
}
