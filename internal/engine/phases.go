package engine

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"sync"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/trace"
)

// phases runs the phases of a job's plan, if all partitions are in this process. It has a job for
// each type of program.
type phases struct {
	programs []*Program
	jobs     map[reflect.Type]*Job
}

// preparePhases gets the phases from the program's plan.
func (j *Job) preparePhases() (err error) {
	if j.phases.programs, err = j.methods.plan.Phases(); err != nil {
		return err
	}
	j.options.Shared.lasting = true
	for _, p := range j.phases.programs {
		j.options.Shared.Knows(p.Properties())
	}
	if j.options.Shared.Knows(j.methods.properties); j.options.Checkpoints != nil {
		j.options.Plan = &checkpoint.Plan{Program: j.name}
	}
	return nil
}

// phaseOptions returns the options of the plan's phases.
func (j *Job) phaseOptions() Options {
	o := j.options
	o.From = nil      // belongs to one phase
	o.Summary = false // the values of phases are not results
	if o.Trace != nil {
		o.Trace = recordsOnly{o.Trace}
	}
	return o
}

// before runs the phases of the job's plan.
func (j *Job) before(ctx context.Context) (bsp.Outcome, []float64, error) {
	from, o := j.options.From, j.phaseOptions()
	j.options.From = nil // the next run starts from the beginning
	w := Walk{
		Program: j.name, Phases: j.phases.programs, Deterministic: o.Deterministic, Ended: o.Plan,
	}
	if from == nil {
		j.shareColumns() // otherwise they are in the checkpoint
	} else if from.Plan == nil || from.Plan.Program != j.name {
		return bsp.Outcome{}, nil,
			fmt.Errorf("the checkpoint before superstep %d is from another plan than that of %s",
				from.Superstep, j.name)
	} else {
		w.From = from.Manifest
	}
	if o.Plan != nil {
		o.Plan.Ran = nil
	}
	w.Run = func(i int, before bsp.Outcome, goOn bool) (*Ran, error) {
		phase, err := j.phase(ctx, i, o)
		if err != nil {
			return nil, err
		}
		phase.driver.Follow(before)
		if goOn {
			phase.options.From = from
		}
		if _, err := phase.Run(ctx); err != nil {
			return nil, err
		}
		phase.shareGraph()
		return &Ran{phase.driver.Own(), phase.driver.Totals(), phase.Times()}, nil
	}
	sum, goOn, err := j.methods.plan.Walk(ctx, &w)
	if err != nil {
		return sum, w.Times, err
	}
	if err := j.rebase(); err != nil {
		return sum, w.Times, err
	}
	j.fresh = false
	if !goOn {
		return sum, w.Times, nil
	}
	j.driver.Follow(sum) // all phases had ended
	return sum, w.Times, j.resume(ctx, from)
}

// Shared returns the state that the phases of a plan share, after this job's run if it was one of
// them; nil if there is no plan. Columns given to the program are there before the first phase.
func (j *Job) Shared() *Shared {
	if !j.options.Shared.lasting {
		return nil
	}
	j.shareColumns()
	j.shareGraph()
	return j.options.Shared
}

// shareColumns makes the columns given to the program available to the phases.
func (j *Job) shareColumns() {
	for _, r := range j.runners {
		r.fillProperties()
	}
}

// shareGraph makes the graph, as changed by the last run, available to the following phases.
func (j *Job) shareGraph() {
	for _, r := range j.runners {
		c, p := &r.changing, r.shared
		if c.on && p.changed != nil {
			p.changed.Partition.Absent, p.counts = c.absent, c.graphCounts
			p.recount = p.recount || c.create // messages may have created vertices
			j.options.Shared.generation++
		}
	}
}

// rebase moves the job to the graph with which its next run begins, if that is another one, and
// prepares it.
func (j *Job) rebase() error {
	s := j.options.Shared
	if s.generation == j.generation {
		return nil
	}
	for _, r := range j.runners {
		r.revert()
	}
	j.fresh, j.generation = false, s.generation // not fresh, even if an error follows
	if j.driver != nil {
		if err := j.driver.Refit([]*bsp.Facts{j.facts()}); err != nil {
			return err
		}
	}
	if err := j.fitsBase(); err != nil {
		return fmt.Errorf("%s: %w", j.name, err)
	}
	j.Prepare()
	return nil
}

// fitsBase returns an error if the program does not accept the weights of the graph with which a
// run begins. Fits has checked the loaded graph for negative ones.
func (j *Job) fitsBase() error {
	for _, r := range j.runners {
		if least := r.part.LeastWeight(); r.part != r.loaded && j.methods.traits.NonNegative &&
			least < 0 {
			return fmt.Errorf(
				"an earlier phase has added an edge of weight %g: no weight may be negative", least)
		}
	}
	errs := make([]error, len(j.runners))
	var all sync.WaitGroup
	for i, r := range j.runners {
		all.Go(func() { errs[i] = r.checkWeights() })
	}
	all.Wait()
	return cmp.Or(errs...)
}

// countBase counts the vertices and arcs with which the run begins, if the previous phase could
// not.
func (r *runner) countBase(ctx context.Context) error {
	p := r.shared
	if !p.recount {
		return nil
	}
	if err := r.countAll(ctx, p.changed); err != nil {
		return err
	}
	p.counts, p.recount = r.changing.graphCounts, false
	for _, t := range r.threads {
		r.setChangeRules(t)
	}
	return nil
}

// phase returns the job of a phase, ready to run.
func (j *Job) phase(ctx context.Context, i int, o Options) (*Job, error) {
	program := j.phases.programs[i]
	kind := program.Type()
	if made := j.phases.jobs[kind]; made != nil {
		if err := program.Restart(made); err == nil {
			return made, nil
		}
		delete(j.phases.jobs, kind) // for example if its direction differs
		made.Close()
	}
	made, err := program.Bind(ctx, j.graph, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", j.name, err)
	}
	if j.phases.jobs == nil {
		j.phases.jobs = map[reflect.Type]*Job{}
	}
	j.phases.jobs[kind] = made
	return made, nil
}

// recordsOnly passes on only supersteps. The run that contains the phase records its own beginning
// and end.
type recordsOnly struct{ to trace.Journal }

func (r recordsOnly) Record(e trace.Event) error {
	switch e.(type) {
	case *trace.Job, *trace.End:
		return nil
	}
	return r.to.Record(e)
}
