package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/trace"
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
	runners []*runner[V, M]
	teams   []*parallel.Team // those the job made
	stop    atomic.Bool
	fresh   bool // no superstep has run since Prepare

	coordinator coordinator
	times       []float64
	record      trace.Record
}

// NewJob binds a program to a graph. The graph must stay open while the job is.
func NewJob[V, M any](g *graph.Graph, p pregel.Program[V, M], o Options) (_ *Job[V, M], err error) {
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
	if g.Directed {
		j.direction = m.direction
	}
	if m.combiner != nil {
		j.identity = m.combiner.Identity()
	}
	if err := j.makeRunners(); err != nil {
		j.Close()
		return nil, fmt.Errorf("%s: %w", j.name, err)
	}
	if err := j.makeCoordinator(); err != nil {
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
	n := len(j.graph.Parts)
	for i, p := range j.graph.Parts {
		own := team
		if n > 1 {
			// Partitions share the threads: some workers each, or one each and some partitions at a time.
			own = parallel.NewTeam(max(1, share(team.Size(), n, i)), false)
			j.teams = append(j.teams, own)
		}
		r, err := newRunner(j, p, own)
		if err != nil {
			return err
		}
		j.runners = append(j.runners, r)
	}
	return nil
}

// share returns the i-th of n shares of total.
func share(total, n, i int) int { return (total*(i+1))/n - total*i/n }

func (j *Job[V, M]) makeCoordinator() error {
	o, r := j.options, j.runners[0]
	policy := delivery.Policy{Force: o.Delivery}
	if o.Deterministic && r.traits.Ordered {
		// Only a pull folds the messages of a vertex in the order of their senders.
		what := "a list program"
		if c := j.methods.combiner; c != nil {
			what = "combiner " + c.String()
		}
		if o.Delivery != delivery.ChooseAuto && o.Delivery != delivery.ChoosePull {
			return fmt.Errorf("a deterministic run with %s pulls: delivery %v cannot be had", what, o.Delivery)
		}
		if o.Uncombined {
			return fmt.Errorf("a deterministic run with %s pulls: messages cannot be pushed uncombined", what)
		}
		policy.Force = delivery.ChoosePull
	}
	if o.Uncombined {
		policy.Force = delivery.ChooseNaive
	}
	j.coordinator = coordinator{
		program: j.methods.coordinate, aggregates: j.methods.aggregates, totals: j.newCells(), policy: policy,
		limit: o.MaxSupersteps, vertices: uint64(j.graph.N), edges: j.graph.Arcs,
	}
	threads := 1
	if o.Team != nil {
		threads = o.Team.Size()
	}
	var m M
	load := delivery.Load{
		Vertices: j.graph.N, Partitions: len(j.runners), Threads: threads,
		AnyOne: r.traits.AnyOne, Bytes: r.traits.Bytes, FoldBytes: int(unsafe.Sizeof(m)),
	}
	for _, r := range j.runners {
		load.Arcs += r.outEdges
		for i, a := range r.pulls {
			if !r.part.HasBySender(a) {
				load.Untransposed += len(a.Adj)
			}
			for q := range r.pulls[i].Groups {
				load.Listed += int(r.pulls[i].Groups[q].Count)
				load.Ghosts += int(r.pushes[i].Groups[q].Count)
			}
		}
	}
	j.coordinator.load = load
	j.coordinator.policy.Rates = r.measure()
	return nil
}

// newCells makes cells for the program's aggregators, by their numbers.
func (j *Job[V, M]) newCells() []pregel.Cell {
	var cells []pregel.Cell
	for _, a := range j.methods.aggregates {
		for len(cells) <= a.Number() {
			cells = append(cells, nil)
		}
		cells[a.Number()] = a.NewCell(j.options.Deterministic)
	}
	return cells
}

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
	j.coordinator.program = m.coordinate
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
	j.coordinator.command = Command{}
	defer caught(&err, j.name, &j.coordinator.command.Superstep)
	if !j.fresh {
		j.Prepare()
	}
	j.fresh = false
	j.stop.Store(false)
	for _, r := range j.runners {
		r.reset()
	}
	j.times = j.times[:0]
	defer runtime.KeepAlive(j)
	defer runtime.KeepAlive(j.graph)
	defer context.AfterFunc(ctx, func() { j.stop.Store(true) })()
	if len(j.runners) == 1 {
		err = j.drive(ctx, j.runAlone)
	} else {
		err = j.runPartitions(ctx)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s: superstep %d: %w", j.name, j.coordinator.command.Superstep, context.Cause(ctx))
	}
	if err != nil {
		return nil, err
	}
	o := j.coordinator.outcome
	return &o, nil
}

// drive takes the coordinator and the partitions through the run, step by step.
func (j *Job[V, M]) drive(ctx context.Context, step func(context.Context, *Command) []*Report) error {
	c := &j.coordinator
	for command, outcome := c.begin(); !outcome.Done; {
		start := time.Now()
		reports := step(ctx, command)
		seconds := time.Since(start).Seconds()
		if err := firstError(reports); err != nil || ctx.Err() != nil {
			return err
		}
		if err := accounted(reports); err != nil {
			return fmt.Errorf("%s: superstep %d: %w", j.name, command.Superstep, err)
		}
		superstep, scheme := command.Superstep, command.Scheme
		if err := j.trace(reports, seconds); err != nil {
			return err
		}
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

// accounted reports whether all values that were sent came.
func accounted(reports []*Report) error {
	sent, received := 0, 0
	for _, p := range reports {
		sent += p.Sent
		received += p.Received
	}
	if sent != received {
		return fmt.Errorf("%d values were sent to other partitions, and %d came", sent, received)
	}
	return nil
}

func firstError(reports []*Report) error {
	var first error
	for _, p := range reports {
		if p.Err != nil && (first == nil || errors.Is(first, errStopped) || errors.Is(first, transport.ErrClosed)) {
			first = p.Err
		}
	}
	return first
}

func (j *Job[V, M]) runAlone(ctx context.Context, c *Command) []*Report {
	r := j.runners[0]
	r.alone[0] = r.superstep(ctx, c)
	return r.alone[:]
}

// runPartitions drives one goroutine for each partition.
func (j *Job[V, M]) runPartitions(ctx context.Context) error {
	n := len(j.runners)
	gate := make(chan struct{}, max(j.coordinator.load.Threads, 1))
	commands, done := make([]chan *Command, n), make(chan *Report, n)
	local := transport.NewLocal(n)
	var group sync.WaitGroup
	for i, r := range j.runners {
		commands[i] = make(chan *Command, 1)
		r.exchange.Connect(local.Endpoint(i), gate)
		group.Go(func() {
			for c := range commands[i] {
				gate <- struct{}{}
				p := r.superstep(ctx, c)
				<-gate
				if p.Err != nil {
					local.Close() // nobody waits for what will not come
				}
				done <- p
			}
		})
	}
	defer group.Wait()
	defer func() {
		for _, c := range commands {
			close(c)
		}
	}()
	reports := make([]*Report, n)
	return j.drive(ctx, func(_ context.Context, c *Command) []*Report {
		for _, ch := range commands {
			ch <- c
		}
		for range n {
			p := <-done
			reports[p.Partition] = p
		}
		return reports
	})
}

// Times returns the seconds of each superstep of the last run.
func (j *Job[V, M]) Times() []float64 { return j.times }

// Graph returns the graph the job is bound to.
func (j *Job[V, M]) Graph() *graph.Graph { return j.graph }

// Value returns the value of a vertex.
func (j *Job[V, M]) Value(id pregel.VertexID) V {
	n := uint64(len(j.runners))
	return j.runners[uint64(id)%n].values[uint64(id)/n]
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
