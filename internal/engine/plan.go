package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// Plan is what a pregel.Plan holds: a phase, or a composition of plans.
type Plan struct {
	kind  planKind
	phase Program // of a phase; nil if err says what is wrong with it
	err   error
	test  func(r *Round) bool
	plans []Plan
}

type planKind uint8

const (
	planSequence planKind = iota
	planPhase
	planRepeat
	planChoose
)

// Round is plan.Round.
type Round struct {
	Number     int
	Supersteps int
	pregel.Totals
}

// PlanOf returns the steps of a plan.
func PlanOf(p pregel.Plan) Plan {
	steps, _ := pregel.Engine{}.Steps(p).(Plan)
	return steps
}

// Phase is plan.Phase.
func Phase(p pregel.Erased) Plan {
	if _, ok := p.Program.(Planned); ok { // whose Plan is not called: it may be that which makes this phase
		return Plan{kind: planPhase, err: fmt.Errorf("%s: a phase has no plan of its own: use plan.Sequence", Name(p.Program))}
	}
	program, err := NewProgram(p)
	return Plan{kind: planPhase, phase: program, err: err}
}

// Sequence is plan.Sequence.
func Sequence(plans ...Plan) Plan { return Plan{plans: plans} }

// Repeat is plan.Repeat.
func Repeat(until func(r *Round) bool, plans ...Plan) Plan {
	p := Plan{kind: planRepeat, test: until, plans: plans}
	if until == nil {
		p.err = errors.New("plan.Repeat: the condition is nil")
	} else if p.count() == 0 {
		p.err = errors.New("plan.Repeat: there is no phase to repeat")
	}
	return p
}

// Choose is plan.Choose.
func Choose(condition func(r *Round) bool, then, otherwise Plan) Plan {
	p := Plan{kind: planChoose, test: condition, plans: []Plan{then, otherwise}}
	if condition == nil {
		p.err = errors.New("plan.Choose: the condition is nil")
	}
	return p
}

// Phases returns the phases in the order in which the plan names them, and what is wrong with any.
func (p *Plan) Phases() (all []Program, err error) {
	errs := []error{p.err}
	if p.kind == planPhase && p.err == nil {
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

// Walk runs the phases of a program's plan in the plan's order, by their places in Phases, until one ends at the limit of supersteps. It
// returns the sum of their outcomes.
func (p *Plan) Walk(ctx context.Context, program string, run func(phase int, before bsp.Outcome) (*Ran, error)) (bsp.Outcome, error) {
	w := walk{ctx: ctx, program: program, run: run, sum: bsp.Outcome{Converged: true}}
	w.last.Totals = pregel.Engine{}.Totals(nil)
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
	last    Round
}

// plan runs a plan whose first phase has the number first.
func (w *walk) plan(p *Plan, first int) error {
	switch p.kind {
	case planPhase:
		return w.phase(first)
	case planRepeat:
		return w.repeat(p, first)
	case planChoose:
		then, err := w.holds(p, "plan.Choose")
		switch {
		case err != nil:
			return err
		case then:
			return w.plan(&p.plans[0], first)
		}
		return w.plan(&p.plans[1], first+p.plans[0].count())
	default:
		return w.sequence(p.plans, first)
	}
}

func (w *walk) repeat(p *Plan, first int) error {
	for number := 0; ; number++ {
		before := w.phases
		if err := w.sequence(p.plans, first); err != nil || !w.sum.Converged {
			return err
		}
		w.last.Number = number
		if done, err := w.holds(p, "plan.Repeat"); done || err != nil {
			return err
		}
		if w.phases == before {
			return fmt.Errorf("%s: round %d of plan.Repeat ran no phase: it would go on for ever", w.program, number)
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
	return p.test(&w.last), context.Cause(w.ctx)
}

func (w *walk) sequence(plans []Plan, first int) error {
	for i := range plans {
		if !w.sum.Converged {
			return nil
		}
		if err := w.plan(&plans[i], first); err != nil {
			return err
		}
		first += plans[i].count()
	}
	return nil
}

func (w *walk) phase(i int) error {
	ran, err := w.run(i, w.sum)
	if err != nil {
		return fmt.Errorf("%s: phase %d, after %d supersteps: %w", w.program, w.phases+1, w.sum.Supersteps, err)
	}
	w.phases++
	w.sum = w.sum.Then(ran.Outcome)
	w.sum.Phase = w.phases + 1
	w.last.Supersteps = ran.Outcome.Supersteps
	w.last.Totals = pregel.Engine{}.Totals(ran.Totals)
	return nil
}

// certain reports whether the plan begins with the first of its phases, whatever its conditions say.
func (p *Plan) certain() bool {
	for p.kind != planPhase {
		if p.kind == planChoose || len(p.plans) == 0 {
			return false
		}
		p = &p.plans[0]
	}
	return true
}

// count returns the number of phases.
func (p *Plan) count() int {
	n := 0
	if p.kind == planPhase {
		n = 1
	}
	for i := range p.plans {
		n += p.plans[i].count()
	}
	return n
}
