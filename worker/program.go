package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/history"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	objects "github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

// program runs a vertex program: it loads the graph, finds vertices named by parameters, fills
// columns, and runs the phases of the plan and then the program. The values stay here until the job
// is dropped.
func (a *attempt) program(ctx context.Context) (*control.DriveReport, error) {
	known, err := a.options.Registry.Find(a.spec.Program)
	if err != nil {
		return nil, ofRun(err)
	}
	name := a.spec.Graph
	if name == "" {
		name = resolve.OwnGraph(a.task.job)
		if err := a.loadOwn(ctx, known); err != nil {
			return nil, err
		}
	}
	if a.graph, err = a.use(name); err != nil {
		return nil, err
	}
	defer a.graph.Release()
	if a.spec.Graph != "" && !a.straight() {
		if err := a.calibrate(ctx, a.group, &a.places, tagFacts); err != nil {
			return nil, err
		}
	}
	a.enter("locate")
	parameters, find, err := a.vertices(ctx, known)
	if err != nil {
		return nil, err
	}
	a.enter("prepare")
	if a.of, err = known.New(parameters, find); err == nil {
		err = a.keeping()
	}
	if err != nil {
		return nil, err
	}
	if g := a.asked.GoOn; g != nil {
		s, err := a.options.Stores(g.Place)
		if err != nil {
			return nil, fmt.Errorf("checkpoints: %w", &checkpoint.UnreadError{Err: err})
		}
		defer objects.Close(s)
		if err := a.goOn(ctx, s, g.Manifest); err != nil {
			return nil, err
		}
	}
	return a.perform(ctx)
}

// loadOwn loads the job's own graph. If the job does not specify the type of weights, the program
// decides.
func (a *attempt) loadOwn(ctx context.Context, known engine.Registered) error {
	a.enter("load " + a.spec.Source.Input)
	source, err := resolve.Weighted(a.spec.Source, known, a.spec.Parameters)
	if err != nil {
		return ofRun(err)
	}
	report, err := a.load(ctx, &control.Load{
		Graph: resolve.OwnGraph(a.task.job), SourceJson: jobspec.Text(source),
		Rows: a.asked.Rows, Columns: a.asked.Columns,
	})
	if err != nil {
		return err
	}
	call := collective.Call{Tag: tagFacts, Bytes: 1 << 10}
	shares, err := collective.Gather(ctx, a.group, call, &report)
	if err != nil || !a.leads() {
		return err
	}
	a.add(0, func(news *control.DriveReport) { news.Loads = shares })
	a.Flush()
	return nil
}

// vertices returns the program's parameters with vertex names and vertex sets replaced by input ids,
// and a function that finds these vertices.
func (a *attempt) vertices(
	ctx context.Context, known engine.Registered,
) (map[string]string, engine.Find, error) {
	sets, err := a.setsIn(ctx, known)
	if err != nil {
		return nil, nil, err
	}
	var byName func(name string) (uint64, bool)
	if a.graph.directory.Names != nil && a.spec.Values == "" { // clients in Go send input ids
		byName, err = a.findNames(ctx, resolve.Named(known.Parameters, a.spec.Parameters))
		if err != nil {
			return nil, nil, err
		}
	}
	parameters, err := engine.Vertices(known.Parameters, a.spec.Parameters,
		func(file string) ([]uint64, error) { return sets[file], nil }, byName)
	if err != nil {
		return nil, nil, ofRun(fmt.Errorf("%s: %w", a.spec.Origin(), err))
	}
	var labels []uint64
	_, err = known.New(parameters, func(label uint64) (pregel.VertexID, bool) {
		labels = append(labels, label)
		return pregel.None, true
	})
	if err != nil {
		return nil, nil, err
	}
	find, err := a.findVertices(ctx, labels)
	if err != nil {
		return nil, nil, err
	}
	// The error names the parameter whose vertex does not exist.
	if _, err := known.New(parameters, find); err != nil {
		return nil, nil, ofRun(fmt.Errorf("%s: %w", a.spec.Origin(), err))
	}
	return parameters, find, nil
}

// findVertices returns a function that finds the vertices with some input ids.
func (a *attempt) findVertices(ctx context.Context, labels []uint64) (engine.Find, error) {
	find, err := everywhere(ctx, a.group, labels, func(label uint64) (uint64, bool) {
		id, ok := a.graph.directory.Local(label)
		return uint64(id), ok
	})
	return func(label uint64) (pregel.VertexID, bool) {
		id, ok := find(label)
		return pregel.VertexID(id), ok
	}, err
}

// findNames returns a function that finds the input ids of some names.
func (a *attempt) findNames(
	ctx context.Context, names []string,
) (func(name string) (uint64, bool), error) {
	return everywhere(ctx, a.group, names, a.graph.directory.Names.Find)
}

// everywhere returns a function with the values of keys. Each key is known to one worker, if to
// any, which find asks. All workers call it with the same keys, and sort them.
func everywhere[K cmp.Ordered](
	ctx context.Context, group *collective.Group, keys []K, find func(K) (uint64, bool),
) (func(K) (uint64, bool), error) {
	slices.Sort(keys)
	keys = slices.Compact(keys)
	values := make([]uint64, len(keys)) // plus 1; 0 if unknown
	for i, key := range keys {
		if value, ok := find(key); ok {
			values[i] = value + 1
		}
	}
	var err error
	if len(keys) > 0 {
		values, err = collective.Combine(ctx, group,
			collective.Call{Tag: tagFacts, Bytes: 8 * len(keys)}, collective.MaxUint64, values...)
	}
	return func(key K) (uint64, bool) {
		i, ok := slices.BinarySearch(keys, key)
		if !ok || values[i] == 0 {
			return 0, false
		}
		return values[i] - 1, true
	}, err
}

// keeping prepares the shared state of a plan's phases, and checkpoints.
func (a *attempt) keeping() error {
	plan := a.of.Plan()
	a.decides = a.of.Decides(a.engine, a.graph.Weights)
	switch err := a.of.Checkpointable(); {
	case err != nil && a.asked.GoOn != nil:
		return ofRun(err)
	case err == nil && a.asked.Keep != nil:
		if err := a.keeps(a.asked.Keep); err != nil {
			return err
		}
	}
	most, err := a.of.MaxSupersteps(a.engine.MaxSupersteps)
	if err != nil {
		return err
	} else if a.leads() {
		a.add(0, func(news *control.DriveReport) { news.MaxSupersteps = uint64(most) })
	}
	if plan == nil {
		return nil
	}
	if a.phases, err = plan.Phases(); err != nil {
		return err
	}
	if err := a.of.Fits(a.graph.Graph); err != nil {
		return err
	}
	a.shared = engine.NewShared()
	for _, phase := range append(slices.Clone(a.phases), a.of) {
		a.shared.Knows(phase.Properties())
	}
	if a.keep != nil {
		a.plan = &checkpoint.Plan{Program: a.of.Name()}
	}
	return nil
}

// goOn reads the manifest of the checkpoint to resume from.
func (a *attempt) goOn(ctx context.Context, s objects.Store, name string) error {
	m, err := checkpoint.Find(ctx, s, name, func(string) {})
	if err != nil {
		return fmt.Errorf("checkpoints: %w", err)
	}
	planned, name := a.of.Plan() != nil, a.of.Name()
	if planned != (m.Plan != nil) || planned && m.Plan.Program != name {
		return ofRun(fmt.Errorf("the checkpoint before superstep %d is not of the plan of %s",
			m.Superstep, name))
	}
	a.from = &checkpoint.Reader{Store: s, Manifest: m}
	return nil
}

// goOn restores the state of a checkpoint. All workers of the job do so at the same time.
func (j *job) goOn(ctx context.Context, from *checkpoint.Reader) error {
	j.from = from.Manifest
	j.session.Begin(j.from.Own())
	if err := j.program.Restore(ctx, from); err != nil {
		return err
	}
	a := j.attempt
	if before, began := history.Before(j.from.Account); a.keep != nil && !began.IsZero() {
		a.meter.Summary, a.began = before, began
	}
	return nil
}

// phase is a phase of the program's plan, or the program itself, as the first worker tells the
// others to run it.
type phase struct {
	Number int         // in the plan, from 1; 0 means the program itself
	Before bsp.Outcome // what ran before in the same job
	GoOn   bool        // resume from the checkpoint
	Idle   bool        // do not run, because a phase reached a limit or was stopped
}

// perform runs the phases of the program's plan, if there is one, and then the program. The first
// worker walks the plan and tells the others what to run.
func (a *attempt) perform(ctx context.Context) (*control.DriveReport, error) {
	if len(a.phases) > 0 && a.fills() { // the program's columns, which its phases share
		if err := a.prepare(ctx, &phase{}); err != nil {
			return nil, err
		}
		if err := a.fill(ctx); err != nil {
			return nil, err
		}
	}
	if !a.leads() {
		return &control.DriveReport{}, a.followPhases(ctx)
	}
	before, goOn, err := a.walk(ctx)
	if err != nil {
		return nil, err
	}
	last := &phase{Before: before, GoOn: goOn, Idle: !before.Ended.Complete()}
	if err := a.runPhase(ctx, last); err != nil {
		return nil, err
	}
	end := &control.RunEnd{Seconds: a.ran}
	if !last.Idle { // otherwise the values are the initial ones
		before, end.Aggregators = a.job.driver.Outcome(), a.job.aggregators()
	}
	return &control.DriveReport{Outcome: resolve.Outcome(before), End: end}, nil
}

// followPhases runs what the first worker tells, until the program itself has run.
func (a *attempt) followPhases(ctx context.Context) error {
	for {
		next, err := a.ordered(ctx)
		p := next.Phase
		switch {
		case err != nil:
			return err
		case p == nil:
			return errors.New("found another step before the next phase")
		}
		if err = a.runPhase(ctx, p); p.Number == 0 {
			return err
		} else if err != nil {
			return fmt.Errorf("%s: phase %d, after %d supersteps: %w",
				a.of.Name(), p.Before.Phase, p.Before.Supersteps, err)
		}
	}
}

// drive runs the prepared job to its end. before describes earlier runs.
func (a *attempt) drive(before bsp.Outcome) error {
	err := a.job.drive(before)
	if err == nil && a.leads() {
		a.ran += a.job.driver.Took().Seconds()
	}
	return err
}

// walk runs the phases of the program's plan. goOn reports whether the program itself resumes from
// the checkpoint.
func (a *attempt) walk(ctx context.Context) (before bsp.Outcome, goOn bool, err error) {
	plan, name := a.of.Plan(), a.of.Name()
	if plan == nil {
		return bsp.Outcome{Ended: trace.Converged}, a.from != nil, nil
	}
	w := engine.Walk{
		Program: name, Phases: a.phases, Deterministic: a.spec.Options.Deterministic,
		Ended: a.plan,
		Run: func(i int, before bsp.Outcome, goOn bool) (*engine.Ran, error) {
			err := a.runPhase(ctx, &phase{Number: i + 1, Before: before, GoOn: goOn})
			if err != nil {
				return nil, err
			}
			d := a.job.driver
			return &engine.Ran{Outcome: d.Own(), Totals: d.Totals(), Seconds: d.Times()}, nil
		},
	}
	if a.from != nil {
		w.From = a.from.Manifest
	}
	// A panic of the plan's conditions counts as a program error.
	err = bsp.Contain(name, &bsp.NoSuperstep, func() (err error) {
		before, goOn, err = plan.Walk(ctx, &w)
		return err
	})
	return before, goOn, err
}

// runPhase runs a phase of the plan, or the program itself. The first worker makes the others run
// the same.
func (a *attempt) runPhase(ctx context.Context, p *phase) error {
	if p.Number < 0 || p.Number > len(a.phases) {
		return fmt.Errorf("phase %d of a plan of %d: a worker has another version of %s",
			p.Number, len(a.phases), a.spec.Program)
	}
	if a.leads() {
		if err := a.order(ctx, &step{Phase: p}); err != nil {
			return err
		}
	}
	if err := a.prepare(ctx, p); err != nil || p.Idle {
		return err
	}
	// Otherwise the checkpoint or the phases have set the columns.
	if len(a.phases) == 0 && a.fills() {
		if err := a.fill(ctx); err != nil {
			return err
		}
	}
	return a.drive(p.Before)
}

// prepare prepares a program, or a phase of its plan, in place of the previous job.
func (a *attempt) prepare(ctx context.Context, p *phase) error {
	a.enter("prepare")
	if a.job != nil { // of the previous phase
		a.shared = a.job.program.Shared()
		a.replace(nil)
	}
	of := a.of
	if p.Number > 0 {
		of = a.phases[p.Number-1]
	}
	return a.ready(ctx, &job{graph: a.graph, of: of, phase: p.Number > 0}, p.GoOn)
}
