package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/plans"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

// Plan is a plan whose phases are programs that the engine knows.
type Plan struct {
	plans.Step
	phase Program // of a phase; nil if Err says what is wrong with it
	plans []Plan
}

// PlanOf returns the steps of a plan.
func PlanOf(p pregel.Plan) Plan {
	step, _ := p.Steps.(plans.Step)
	return planOf(step)
}

func planOf(step plans.Step) Plan {
	p := Plan{Step: step}
	if step.Kind == plans.Phase {
		// whose Plan is not called: it may be that which makes this phase
		if _, ok := step.Phase.Program.(Planned); ok {
			p.Err = fmt.Errorf("%s: a phase has no plan of its own: use plan.Sequence",
				Name(step.Phase.Program))
		} else {
			p.phase, p.Err = NewProgram(step.Phase)
		}
	}
	for _, inner := range step.Plans {
		p.plans = append(p.plans, planOf(inner))
	}
	return p
}

// Phases returns the phases in the order in which the plan names them, and what is wrong with any.
func (p *Plan) Phases() (all []Program, err error) {
	errs := []error{p.Err}
	if p.Kind == plans.Phase && p.Err == nil {
		all = append(all, p.phase)
	}
	for i := range p.plans {
		inner, err := p.plans[i].Phases()
		all, errs = append(all, inner...), append(errs, err)
	}
	return all, errors.Join(errs...)
}

// Ran is how a phase ended.
type Ran struct {
	Outcome bsp.Outcome
	Totals  []kernel.Cell
}

// Walk runs the phases of a program's plan in the plan's order, by their places in Phases, until
// one ends at the limit of supersteps, or is stopped. It returns the sum of their outcomes.
func (p *Plan) Walk(ctx context.Context, program string, run func(phase int,
	before bsp.Outcome) (*Ran, error),
) (bsp.Outcome, error) {
	w := walk{ctx: ctx, program: program, run: run, sum: bsp.Outcome{Ended: trace.Converged}}
	w.last.Totals = kernel.Pregel.Coordinator(0, 0, nil, nil).(pregel.Context)
	w.sum.Phase = 1
	err := w.plan(p, 0)
	return w.sum, err
}

// walk is how far a plan is.
type walk struct {
	ctx     context.Context
	program string
	run     func(phase int, before bsp.Outcome) (*Ran, error)
	sum     bsp.Outcome
	phases  int // that ran
	last    plans.Round
}

// plan runs a plan whose first phase has the number first.
func (w *walk) plan(p *Plan, first int) error {
	switch p.Kind {
	case plans.Phase:
		return w.phase(first)
	case plans.Repeat:
		return w.repeat(p, first)
	case plans.Choose:
		then, err := w.holds(p, "plan.Choose")
		switch {
		case err != nil:
			return err
		case then:
			return w.plan(&p.plans[0], first)
		}
		return w.plan(&p.plans[1], first+p.plans[0].Count())
	default:
		return w.sequence(p.plans, first)
	}
}

func (w *walk) repeat(p *Plan, first int) error {
	for number := 0; ; number++ {
		before := w.phases
		if err := w.sequence(p.plans, first); err != nil || !w.sum.Ended.Complete() {
			return err
		}
		w.last.Number = number
		if done, err := w.holds(p, "plan.Repeat"); done || err != nil {
			return err
		}
		if w.phases == before {
			return fmt.Errorf("%s: round %d of plan.Repeat ran no phase: it would go on for ever",
				w.program, number)
		}
	}
}

// holds asks a plan's condition.
func (w *walk) holds(p *Plan, of string) (holds bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			e := bsp.NewProgramError(w.program, v, bsp.NoSuperstep)
			if e.Method = "condition of " + of; w.phases == 0 {
				e.Method += ", before any phase"
			}
			err = e
		}
	}()
	return p.Test(&w.last), context.Cause(w.ctx)
}

func (w *walk) sequence(plans []Plan, first int) error {
	for i := range plans {
		if !w.sum.Ended.Complete() {
			return nil
		}
		if err := w.plan(&plans[i], first); err != nil {
			return err
		}
		first += plans[i].Count()
	}
	return nil
}

func (w *walk) phase(i int) error {
	ran, err := w.run(i, w.sum)
	if err != nil {
		return fmt.Errorf("%s: phase %d, after %d supersteps: %w", w.program, w.phases+1,
			w.sum.Supersteps, err)
	}
	w.phases++
	w.sum = w.sum.Then(ran.Outcome)
	w.sum.Phase = w.phases + 1
	w.last.Supersteps = ran.Outcome.Supersteps
	w.last.Totals = kernel.Pregel.Coordinator(0, 0, ran.Totals, nil).(pregel.Context)
	return nil
}

// certain reports whether the plan begins with the first of its phases, whatever its conditions
// say.
func (p *Plan) certain() bool {
	for p.Kind != plans.Phase {
		if p.Kind == plans.Choose || len(p.plans) == 0 {
			return false
		}
		p = &p.plans[0]
	}
	return true
}
