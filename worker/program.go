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

// program runs a vertex program: load, find the vertices that are named, fill, the phases of its
// plan, and then its supersteps. Its values stay here until the job is dropped.
func (p *part) program(ctx context.Context) (*control.DriveReport, error) {
	known, err := p.options.Registry.Find(p.spec.Program)
	if err != nil {
		return nil, &runError{err}
	}
	name := p.spec.Graph
	if name == "" {
		name = resolve.OwnGraph(p.task.job)
		if err := p.loadOwn(ctx, known); err != nil {
			return nil, err
		}
	}
	if p.graph, err = p.use(name); err != nil {
		return nil, err
	}
	defer p.graph.Release()
	p.enter("locate")
	parameters, find, err := p.vertices(ctx, known)
	if err != nil {
		return nil, err
	}
	p.enter("prepare")
	if p.of, err = known.New(parameters, find); err == nil {
		err = p.keeping()
	}
	if err != nil {
		return nil, err
	}
	if g := p.asked.GoOn; g != nil {
		s, err := p.options.Stores(g.Place)
		if err != nil {
			return nil, fmt.Errorf("checkpoints: %w", &checkpoint.UnreadError{Err: err})
		}
		defer objects.Close(s)
		if err := p.goOn(ctx, s, g.Manifest); err != nil {
			return nil, err
		}
	}
	return p.perform(ctx)
}

// loadOwn loads the graph that the job brings. Where the job leaves open which weights it has, the
// program says so.
func (p *part) loadOwn(ctx context.Context, known engine.Registered) error {
	p.enter("load " + p.spec.Source.Input)
	source, err := resolve.Weighted(p.spec.Source, known, p.spec.Parameters)
	if err != nil {
		return &runError{err}
	}
	report, err := p.loadTogether(ctx, p.task, p.attempt.session, &control.Load{
		Graph: resolve.OwnGraph(p.task.job), SourceJson: jobspec.Text(source),
		Rows: p.asked.Rows, Columns: p.asked.Columns, Placements: p.asked.Placements,
	})
	if err != nil {
		return err
	}
	data, err := proto.Marshal(report)
	if err != nil {
		return err
	}
	all, err := p.group.Gather(ctx, collective.Call{Tag: tagFacts}, 0, data)
	if err != nil || !p.leads() {
		return err
	}
	shares := make([]*control.LoadReport, len(all))
	for rank, data := range all {
		shares[rank] = &control.LoadReport{}
		if err := proto.Unmarshal(data, shares[rank]); err != nil {
			return err
		}
	}
	p.add(0, func(news *control.DriveReport) { news.Loads = shares })
	p.Flush()
	return nil
}

// vertices returns the program's parameters, with input ids in place of the names of vertices, and
// the vertices that have these: each is known by one worker.
func (p *part) vertices(ctx context.Context, known engine.Registered) (map[string]string, engine.Find, error) {
	parameters := p.spec.Parameters
	l := &control.Locate{}
	byName := p.graph.directory.Names != nil && p.spec.Values == "" // a client in Go has input ids
	if byName {
		// which finds all
		_, _ = resolve.VertexParameters(known.Parameters, parameters,
			func(name string) (uint64, bool) {
				l.Names = append(l.Names, name)
				return 0, true
			})
	}
	if len(l.Names) > 0 {
		labels, err := p.labels(ctx, l.Names)
		if err != nil {
			return nil, nil, err
		}
		parameters, err = resolve.VertexParameters(known.Parameters, parameters,
			func(name string) (uint64, bool) {
				label, ok := labels[name]
				return label, ok
			})
		if err != nil {
			return nil, nil, &runError{fmt.Errorf("%s: %w", p.spec.Origin(), err)}
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
	found, err := p.everywhere(ctx, l)
	if err != nil {
		return nil, nil, err
	}
	find := resolve.Finder(found.Vertices)
	// It names the parameter whose vertex is not there.
	if _, err := known.New(parameters, find); err != nil {
		return nil, nil, &runError{fmt.Errorf("%s: %w", p.spec.Origin(), err)}
	}
	return parameters, find, nil
}

// labels returns the input ids of names, as far as there are such.
func (p *part) labels(ctx context.Context, names []string) (map[string]uint64, error) {
	found, err := p.everywhere(ctx, &control.Locate{Names: names})
	labels := map[string]uint64{}
	for _, n := range found.GetNames() {
		labels[n.Name] = n.Label
	}
	return labels, err
}

// everywhere returns what all workers know of vertices of the graph.
func (p *part) everywhere(ctx context.Context, l *control.Locate) (*control.Located, error) {
	data, err := proto.Marshal(p.graph.locate(l))
	if err != nil {
		return nil, err
	}
	all, err := p.group.Allgather(ctx, collective.Call{Tag: tagFacts}, data)
	found := &control.Located{}
	for _, data := range all {
		if err == nil {
			err = proto.UnmarshalOptions{Merge: true}.Unmarshal(data, found)
		}
	}
	return found, err
}

// keeping readies what the phases of a plan share, and has checkpoints be kept.
func (p *part) keeping() error {
	a, plan := p.attempt, p.of.Plan()
	o, err := resolve.Options(p.spec.Options)
	if err != nil {
		return err
	}
	a.decides = p.of.Decides(o, p.graph.Weights)
	switch err := p.of.Keepable(); {
	case err != nil && p.asked.GoOn != nil:
		return &runError{err}
	case err == nil && p.asked.Keep != nil:
		if err := a.keeps(p.asked.Keep, p.options.Stores); err != nil {
			return err
		}
	}
	if most, err := p.of.MaxSupersteps(o.MaxSupersteps); err != nil {
		return err
	} else if p.leads() {
		p.add(0, func(news *control.DriveReport) { news.MaxSupersteps = uint64(most) })
	}
	if plan == nil {
		return nil
	}
	if p.phases, err = plan.Phases(); err != nil {
		return err
	}
	if err := p.of.Fits(p.graph.Graph); err != nil {
		return err
	}
	a.shared = engine.NewShared()
	for _, phase := range append(slices.Clone(p.phases), p.of) {
		a.shared.Knows(phase.Properties())
	}
	if a.keep != nil {
		a.plan = &checkpoint.Plan{Program: p.of.Name()}
	}
	return nil
}

// goOn reads the manifest of the checkpoint that the run goes on from.
func (p *part) goOn(ctx context.Context, s objects.Store, name string) error {
	m, err := checkpoint.Find(ctx, s, name, func(string) {})
	if err != nil {
		return fmt.Errorf("checkpoints: %w", err)
	}
	planned, name := p.of.Plan() != nil, p.of.Name()
	if planned != (m.Plan != nil) || planned && m.Plan.Program != name {
		return &runError{fmt.Errorf("the checkpoint before superstep %d is not of the plan of %s",
			m.Superstep, name)}
	}
	p.from = &checkpoint.Reader{Store: s, Manifest: m}
	return nil
}

// goOn takes up the state of a checkpoint. The other workers of the job do so at the same time.
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

// perform runs the phases of the program's plan, if it has one, and then the program itself, as the
// first worker says, which walks the plan.
func (p *part) perform(ctx context.Context) (*control.DriveReport, error) {
	if len(p.phases) > 0 && p.fills() { // the program's columns, which its phases take over
		if err := p.prepare(ctx, p.of, &control.Step_Phase{}); err != nil {
			return nil, err
		}
		if err := p.fill(ctx); err != nil {
			return nil, err
		}
	}
	if p.leads() {
		before, goOn, err := p.walk(ctx)
		if err != nil {
			return nil, err
		}
		return p.last(ctx, before, &control.Step_Phase{GoOn: goOn, Idle: !before.Ended.Complete()})
	}
	for {
		step, err := nextStep(ctx, p.group.Link())
		if err != nil {
			return nil, err
		}
		next, before := step.GetPhase(), resolve.OutcomeOf(step.GetPhase().GetBefore())
		if next.GetPhase() == 0 {
			return p.last(ctx, before, next)
		}
		if _, err := p.phase(ctx, before, next); err != nil {
			return nil, fmt.Errorf("%s: phase %d, after %d supersteps: %w",
				p.of.Name(), before.Phase, before.Supersteps, err)
		}
	}
}

// drive runs what was prepared, before which so much has run, to its end. Its supersteps have
// limits of their own.
func (p *part) drive(before bsp.Outcome) error {
	p.enter("")
	err := p.job.drive(p.run, before)
	if err == nil && p.leads() {
		p.ran += p.job.driver.Took().Seconds()
	}
	return err
}

// walk runs the phases of the program's plan, and returns whether the program itself goes on from
// the checkpoint.
func (p *part) walk(ctx context.Context) (before bsp.Outcome, goOn bool, err error) {
	plan, name := p.of.Plan(), p.of.Name()
	if plan == nil {
		return bsp.Outcome{Ended: trace.Converged}, p.from != nil, nil
	}
	w := engine.Walk{
		Program: name, Phases: p.phases, Deterministic: p.spec.Options.Deterministic,
		Ended: p.attempt.plan,
		Run: func(i int, before bsp.Outcome, goOn bool) (*engine.Ran, error) {
			return p.phase(ctx, before, &control.Step_Phase{Phase: uint32(i) + 1, GoOn: goOn})
		},
	}
	if p.from != nil {
		w.From = p.from.Manifest
	}
	// The plan's conditions.
	err = bsp.Contain(name, &bsp.NoSuperstep, func() (err error) {
		before, goOn, err = plan.Walk(ctx, &w)
		return err
	})
	return before, goOn, err
}

// phase runs a phase of the plan.
func (p *part) phase(ctx context.Context, before bsp.Outcome, s *control.Step_Phase) (*engine.Ran, error) {
	if s.Phase > uint32(len(p.phases)) {
		return nil, fmt.Errorf("phase %d of a plan of %d: a worker has another version of %s",
			s.Phase, len(p.phases), p.spec.Program)
	}
	if err := p.announce(ctx, before, s); err != nil {
		return nil, err
	}
	if err := p.prepare(ctx, p.phases[s.Phase-1], s); err != nil {
		return nil, err
	}
	if err := p.drive(before); err != nil || !p.leads() {
		return nil, err
	}
	d := p.job.driver
	return &engine.Ran{Outcome: d.Own(), Totals: d.Totals(), Seconds: d.Times()}, nil
}

// last runs the program itself.
func (p *part) last(ctx context.Context, before bsp.Outcome, s *control.Step_Phase) (*control.DriveReport, error) {
	if err := p.announce(ctx, before, s); err != nil {
		return nil, err
	}
	if err := p.prepare(ctx, p.of, s); err != nil {
		return nil, err
	}
	if s.Idle { // at the limit of supersteps: the values are those at the beginning
		return &control.DriveReport{Outcome: resolve.Outcome(before), End: &control.RunEnd{Seconds: p.ran}}, nil
	}
	// Else its columns are in the checkpoint, or the phases have had them.
	if len(p.phases) == 0 && p.fills() {
		if err := p.fill(ctx); err != nil {
			return nil, err
		}
	}
	if err := p.drive(before); err != nil || !p.leads() {
		return &control.DriveReport{}, err
	}
	end := &control.RunEnd{Seconds: p.ran, Aggregators: p.job.aggregators()}
	return &control.DriveReport{Outcome: resolve.Outcome(p.job.driver.Outcome()), End: end}, nil
}

// announce has the other workers do what the first one does.
func (p *part) announce(ctx context.Context, before bsp.Outcome, s *control.Step_Phase) error {
	if !p.leads() {
		return nil
	}
	s.Before = resolve.Outcome(before)
	data, err := proto.Marshal(&control.Step{Body: &control.Step_Phase_{Phase: s}})
	for rank := 1; rank < p.group.Link().Size() && err == nil; rank++ {
		err = p.group.Link().Send(ctx, rank, tagStep, data)
	}
	return err
}

// prepare makes a program, or a phase of its plan, ready to run, in place of what there was.
func (p *part) prepare(ctx context.Context, of engine.Program, s *control.Step_Phase) error {
	p.enter("prepare")
	p.attempt.nextPhase()
	return p.ready(ctx, &job{graph: p.graph, of: of, phase: s.Phase > 0}, s.GoOn)
}
