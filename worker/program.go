package worker

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

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
		return nil, &runError{err}
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
		return &runError{err}
	}
	report, err := a.loadTogether(ctx, a.task, a.session, &control.Load{
		Graph: resolve.OwnGraph(a.task.job), SourceJson: jobspec.Text(source),
		Rows: a.asked.Rows, Columns: a.asked.Columns, Placements: a.asked.Placements,
	})
	if err != nil {
		return err
	}
	data, err := proto.Marshal(report)
	if err != nil {
		return err
	}
	all, err := a.group.Allgather(ctx, collective.Call{Tag: tagFacts, Bytes: 1 << 10}, data)
	if err != nil || !a.leads() {
		return err
	}
	shares := make([]*control.LoadReport, len(all))
	for rank, data := range all {
		shares[rank] = &control.LoadReport{}
		if err := proto.Unmarshal(data, shares[rank]); err != nil {
			return err
		}
	}
	a.add(0, func(news *control.DriveReport) { news.Loads = shares })
	a.Flush()
	return nil
}

// vertices returns the program's parameters with vertex names replaced by input ids, and a function
// that finds these vertices. Each vertex is known to one worker only, so all workers exchange what
// they found.
func (a *attempt) vertices(
	ctx context.Context, known engine.Registered,
) (map[string]string, engine.Find, error) {
	parameters := a.spec.Parameters
	l := &control.Locate{}
	byName := a.graph.directory.Names != nil && a.spec.Values == "" // clients in Go send input ids
	if byName {
		// This call only collects the names.
		_, _ = resolve.VertexParameters(known.Parameters, parameters,
			func(name string) (uint64, bool) {
				l.Names = append(l.Names, name)
				return 0, true
			})
	}
	if len(l.Names) > 0 {
		labels, err := a.labels(ctx, l.Names)
		if err != nil {
			return nil, nil, err
		}
		parameters, err = resolve.VertexParameters(known.Parameters, parameters,
			func(name string) (uint64, bool) {
				label, ok := labels[name]
				return label, ok
			})
		if err != nil {
			return nil, nil, &runError{fmt.Errorf("%s: %w", a.spec.Origin(), err)}
		}
	}
	l = &control.Locate{}
	_, err := known.New(parameters, func(label uint64) (pregel.VertexID, bool) {
		l.Labels = append(l.Labels, label)
		return pregel.None, true
	})
	if err != nil || len(l.Labels) == 0 {
		return parameters, resolve.Finder(nil), err
	}
	found, err := a.everywhere(ctx, l)
	if err != nil {
		return nil, nil, err
	}
	find := resolve.Finder(found.Vertices)
	// The error names the parameter whose vertex does not exist.
	if _, err := known.New(parameters, find); err != nil {
		return nil, nil, &runError{fmt.Errorf("%s: %w", a.spec.Origin(), err)}
	}
	return parameters, find, nil
}

// labels returns the input ids of the names that exist.
func (a *attempt) labels(ctx context.Context, names []string) (map[string]uint64, error) {
	found, err := a.everywhere(ctx, &control.Locate{Names: names})
	labels := map[string]uint64{}
	for _, n := range found.GetNames() {
		labels[n.Name] = n.Label
	}
	return labels, err
}

// everywhere returns what all workers know about vertices of the graph.
func (a *attempt) everywhere(ctx context.Context, l *control.Locate) (*control.Located, error) {
	data, err := proto.Marshal(a.graph.locate(l))
	if err != nil {
		return nil, err
	}
	all, err := a.group.Allgather(ctx, collective.Call{Tag: tagFacts}, data)
	found := &control.Located{}
	for _, data := range all {
		if err == nil {
			err = proto.UnmarshalOptions{Merge: true}.Unmarshal(data, found)
		}
	}
	return found, err
}

// keeping prepares the shared state of a plan's phases, and checkpoints.
func (a *attempt) keeping() error {
	plan := a.of.Plan()
	o, err := resolve.Options(a.spec.Options)
	if err != nil {
		return err
	}
	a.decides = a.of.Decides(o, a.graph.Weights)
	switch err := a.of.Checkpointable(); {
	case err != nil && a.asked.GoOn != nil:
		return &runError{err}
	case err == nil && a.asked.Keep != nil:
		if err := a.keeps(a.asked.Keep, a.options.Stores); err != nil {
			return err
		}
	}
	if most, err := a.of.MaxSupersteps(o.MaxSupersteps); err != nil {
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
		return &runError{fmt.Errorf("the checkpoint before superstep %d is not of the plan of %s",
			m.Superstep, name)}
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

// perform runs the phases of the program's plan, if there is one, and then the program. The first
// worker walks the plan and tells the others what to run.
func (a *attempt) perform(ctx context.Context) (*control.DriveReport, error) {
	if len(a.phases) > 0 && a.fills() { // the program's columns, which its phases share
		if err := a.prepare(ctx, a.of, &control.Step_Phase{}); err != nil {
			return nil, err
		}
		if err := a.fill(ctx); err != nil {
			return nil, err
		}
	}
	if a.leads() {
		before, goOn, err := a.walk(ctx)
		if err != nil {
			return nil, err
		}
		return a.last(ctx, before, &control.Step_Phase{GoOn: goOn, Idle: !before.Ended.Complete()})
	}
	for {
		step, err := nextStep(ctx, a.group.Link())
		if err != nil {
			return nil, err
		}
		next, before := step.GetPhase(), resolve.OutcomeOf(step.GetPhase().GetBefore())
		if next.GetPhase() == 0 {
			return a.last(ctx, before, next)
		}
		if _, err := a.phase(ctx, before, next); err != nil {
			return nil, fmt.Errorf("%s: phase %d, after %d supersteps: %w",
				a.of.Name(), before.Phase, before.Supersteps, err)
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
			return a.phase(ctx, before, &control.Step_Phase{Phase: uint32(i) + 1, GoOn: goOn})
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

// phase runs a phase of the plan.
func (a *attempt) phase(
	ctx context.Context, before bsp.Outcome, s *control.Step_Phase,
) (*engine.Ran, error) {
	if s.Phase > uint32(len(a.phases)) {
		return nil, fmt.Errorf("phase %d of a plan of %d: a worker has another version of %s",
			s.Phase, len(a.phases), a.spec.Program)
	}
	if err := a.announce(ctx, before, s); err != nil {
		return nil, err
	}
	if err := a.prepare(ctx, a.phases[s.Phase-1], s); err != nil {
		return nil, err
	}
	if err := a.drive(before); err != nil || !a.leads() {
		return nil, err
	}
	d := a.job.driver
	return &engine.Ran{Outcome: d.Own(), Totals: d.Totals(), Seconds: d.Times()}, nil
}

// last runs the program itself.
func (a *attempt) last(
	ctx context.Context, before bsp.Outcome, s *control.Step_Phase,
) (*control.DriveReport, error) {
	if err := a.announce(ctx, before, s); err != nil {
		return nil, err
	}
	if err := a.prepare(ctx, a.of, s); err != nil {
		return nil, err
	}
	if s.Idle { // a phase reached a limit or was stopped, so the values are the initial ones
		end := &control.RunEnd{Seconds: a.ran}
		return &control.DriveReport{Outcome: resolve.Outcome(before), End: end}, nil
	}
	// Otherwise the checkpoint or the phases have set the columns.
	if len(a.phases) == 0 && a.fills() {
		if err := a.fill(ctx); err != nil {
			return nil, err
		}
	}
	if err := a.drive(before); err != nil || !a.leads() {
		return &control.DriveReport{}, err
	}
	end := &control.RunEnd{Seconds: a.ran, Aggregators: a.job.aggregators()}
	return &control.DriveReport{Outcome: resolve.Outcome(a.job.driver.Outcome()), End: end}, nil
}

// announce makes the other workers run the same phase as the first one.
func (a *attempt) announce(ctx context.Context, before bsp.Outcome, s *control.Step_Phase) error {
	if !a.leads() {
		return nil
	}
	s.Before = resolve.Outcome(before)
	data, err := proto.Marshal(&control.Step{Body: &control.Step_Phase_{Phase: s}})
	for rank := 1; rank < a.group.Link().Size() && err == nil; rank++ {
		err = a.group.Link().Send(ctx, rank, tagStep, data)
	}
	return err
}

// prepare prepares a program, or a phase of its plan, in place of the previous job.
func (a *attempt) prepare(ctx context.Context, of *engine.Program, s *control.Step_Phase) error {
	a.enter("prepare")
	a.nextPhase()
	return a.ready(ctx, &job{graph: a.graph, of: of, phase: s.Phase > 0}, s.GoOn)
}
