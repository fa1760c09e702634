package engine

import (
	"context"
	"fmt"
	"reflect"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/trace"
)

// phases runs the phases of a job's plan in this process, where all partitions are. A job is kept for each type of program.
type phases struct {
	programs []Program
	jobs     map[reflect.Type]Bound
}

func (p *phases) close() {
	for _, j := range p.jobs {
		j.Close()
	}
	p.jobs = nil
}

// following is a Bound whose run is a part of a longer one.
type following interface {
	Bound
	follow(before bsp.Outcome)
	ran() *Ran
}

// before runs the phases of the job's plan.
func (j *Job[V, M]) before(ctx context.Context) (bsp.Outcome, []float64, error) {
	var times []float64
	j.options.Shared.clear()
	j.Shared()
	o := j.options
	o.Summary = false // the values of phases are no results
	if o.Trace != nil {
		o.Trace = recordsOnly{o.Trace}
	}
	sum, err := j.methods.plan.Walk(ctx, j.name, func(i int, before bsp.Outcome) (*Ran, error) {
		phase, err := j.phase(i, o)
		if err != nil {
			return nil, err
		}
		phase.follow(before)
		if _, err := phase.Run(ctx); err != nil {
			return nil, err
		}
		times = append(times, phase.Times()...)
		return phase.ran(), nil
	})
	return sum, times, err
}

// Shared returns the columns that the phases of the plan share, with what this job's begin with; nil if there is no plan.
func (j *Job[V, M]) Shared() *Shared {
	shared := j.options.Shared
	if shared == nil {
		return nil
	}
	for _, r := range j.runners {
		for _, c := range j.methods.properties {
			if _, ok := r.prefilled[c.Number]; ok {
				shared.set(r.part.Index, c, j.direction, r.beginProperty(c, r.elements(c)))
			}
		}
	}
	return shared
}

// phase returns the job of a phase, ready to run.
func (j *Job[V, M]) phase(i int, o Options) (following, error) {
	program := j.phases.programs[i]
	kind := program.Type()
	if bound := j.phases.jobs[kind]; bound != nil {
		if err := program.Restart(bound); err == nil {
			return bound.(following), nil
		}
		delete(j.phases.jobs, kind) // one of another direction, say
		bound.Close()
	}
	bound, err := program.Bind(j.graph, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", j.name, err)
	}
	if j.phases.jobs == nil {
		j.phases.jobs = map[reflect.Type]Bound{}
	}
	j.phases.jobs[kind] = bound
	return bound.(following), nil
}

// follow says what has run before this run, of which it is a part.
func (j *Job[V, M]) follow(before bsp.Outcome) { j.driver.Follow(before) }

// ran is what conditions of a plan see of the last run.
func (j *Job[V, M]) ran() *Ran { return &Ran{j.driver.Own(), j.driver.Totals()} }

// recordsOnly hides that a sink is a journal: the run that a phase is a part of begins and ends it.
type recordsOnly struct{ trace.Sink }
