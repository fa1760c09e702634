package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/plans"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

// Plan is a plan, with its phases as type-erased programs.
type Plan struct {
	plans.Step
	phases []*Program // in the plan's order
	err    error      // the defects of all steps
}

// add adds the phases and the defects of a step.
func (p *Plan) add(s *plans.Step) {
	err := s.Err
	if s.Kind == plans.Phase {
		// its Plan is not called: it may be the one that makes this phase
		if _, ok := s.Phase.Program.(Planned); ok {
			err = fmt.Errorf("%s: a phase must not have a plan: use plan.Sequence",
				Name(s.Phase.Program))
		} else if phase, wrong := NewProgram(s.Phase); wrong != nil {
			err = wrong
		} else {
			p.phases = append(p.phases, phase)
		}
	}
	p.err = errors.Join(p.err, err)
	for i := range s.Plans {
		p.add(&s.Plans[i])
	}
}

// Phases returns the phases in the plan's order, and the defects of all phases. p may be nil.
func (p *Plan) Phases() ([]*Program, error) {
	if p == nil {
		return nil, nil
	}
	return p.phases, p.err
}

// Ran is the result of a phase.
type Ran struct {
	Outcome bsp.Outcome
	Totals  []kernel.Cell
	Seconds []float64 // times of its last supersteps
}

// Walk is a run of a plan's phases, one after the other.
type Walk struct {
	Program       string // name of the program that has the plan
	Phases        []*Program
	Deterministic bool
	From          *checkpoint.Manifest // of the checkpoint from which the run continues, or nil
	Ended         *checkpoint.Plan     // gets the ended phases; or nil
	// Run runs phase number phase of Phases. If goOn is set, the phase continues from the
	// checkpoint.
	Run func(phase int, before bsp.Outcome, goOn bool) (*Ran, error)
	// Times are the seconds of the ended phases' supersteps, 0 if unknown.
	Times []float64

	ctx    context.Context
	sum    bsp.Outcome
	phases int // number of phases that ran
	last   plans.Round
}

// Walk runs the phases of a program's plan in order, until one ends at the limit of supersteps or
// is stopped. For phases that ran before the checkpoint, it takes the results from there. It
// returns the sum of the phases' outcomes, and whether the program itself continues from the
// checkpoint.
func (p *Plan) Walk(ctx context.Context, w *Walk) (sum bsp.Outcome, goOn bool, err error) {
	w.ctx, w.sum = ctx, bsp.Outcome{Ended: trace.Converged, Phase: 1}
	w.last.Totals = kernel.Pregel.Coordinator(0, 0, nil, nil).(pregel.Context)
	err = w.plan(&p.Step, 0)
	kept := len(w.kept())
	if err == nil && w.sum.Ended.Complete() && w.phases < kept {
		err = fmt.Errorf("%s: the checkpoint before superstep %d was made after %d phases, but now the plan has run %d: it has taken another path",
			w.Program, w.From.Superstep, kept, w.phases)
	}
	return w.sum, w.From != nil && w.sum.Ended.Complete() && w.phases == kept, err
}

// kept returns the phases that had ended before the checkpoint.
func (w *Walk) kept() []checkpoint.Ran {
	if w.From == nil {
		return nil
	}
	return w.From.Plan.Ran
}

// plan runs a plan whose first phase has the number first.
func (w *Walk) plan(p *plans.Step, first int) error {
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
			return w.plan(&p.Plans[0], first)
		}
		return w.plan(&p.Plans[1], first+p.Plans[0].Count())
	default:
		return w.sequence(p.Plans, first)
	}
}

func (w *Walk) repeat(p *plans.Step, first int) error {
	for number := 0; ; number++ {
		before := w.phases
		if err := w.sequence(p.Plans, first); err != nil || !w.sum.Ended.Complete() {
			return err
		}
		w.last.Number = number
		if done, err := w.holds(p, "plan.Repeat"); done || err != nil {
			return err
		}
		if w.phases == before {
			return fmt.Errorf("%s: round %d of plan.Repeat ran no phase: it would never end",
				w.Program, number)
		}
	}
}

// holds evaluates a plan's condition.
func (w *Walk) holds(p *plans.Step, of string) (holds bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			e := bsp.NewProgramError(w.Program, v, bsp.NoSuperstep)
			if e.Method = "condition of " + of; w.phases == 0 {
				e.Method += ", before any phase"
			}
			err = e
		}
	}()
	return p.Test(&w.last), context.Cause(w.ctx)
}

func (w *Walk) sequence(all []plans.Step, first int) error {
	for i := range all {
		if !w.sum.Ended.Complete() {
			return nil
		}
		if err := w.plan(&all[i], first); err != nil {
			return err
		}
		first += all[i].Count()
	}
	return nil
}

func (w *Walk) phase(i int) error {
	ran, err := w.run(i)
	if err != nil {
		return fmt.Errorf("%s: phase %d, after %d supersteps: %w", w.Program, w.phases+1,
			w.sum.Supersteps, err)
	}
	w.phases++
	w.sum = w.sum.Then(ran.Outcome)
	w.sum.Phase = w.phases + 1
	w.last.Supersteps = ran.Outcome.Supersteps
	w.last.Totals = kernel.Pregel.Coordinator(0, 0, ran.Totals, nil).(pregel.Context)
	return nil
}

// run runs a phase, or takes its result from the checkpoint.
func (w *Walk) run(i int) (*Ran, error) {
	program, kept := w.Phases[i], w.kept()
	aggregates := program.Aggregates(w.Deterministic)
	if w.phases < len(kept) {
		was := kept[w.phases]
		if program.Name() != was.Program {
			return nil, fmt.Errorf("the checkpoint was made after %s, but now %s runs: the plan has taken another path",
				was.Program, program.Name())
		}
		w.ended(was)
		ran := &Ran{Outcome: bsp.OutcomeOf(&was), Totals: aggregates.Cells()}
		return ran, aggregates.Decode(was.Totals, ran.Totals)
	}
	ran, err := w.Run(i, w.sum, w.From != nil && w.phases == len(kept))
	if err != nil {
		return nil, err
	}
	var totals []byte
	if w.Ended != nil {
		if totals, err = aggregates.Encode(nil, ran.Totals); err != nil {
			return nil, fmt.Errorf("a checkpoint: %w", err)
		}
	}
	w.ended(bsp.RanOf(program.Name(), ran.Outcome, totals, ran.Seconds))
	return ran, nil
}

func (w *Walk) ended(r checkpoint.Ran) {
	w.Times = append(w.Times, make([]float64, r.Supersteps-len(r.Seconds))...)
	w.Times = append(w.Times, r.Seconds...)
	if w.Ended != nil {
		w.Ended.Add(r)
	}
}

// certain reports whether the plan begins with its first phase, whatever its conditions return.
func (p *Plan) certain() bool {
	s := &p.Step
	for s.Kind != plans.Phase {
		if s.Kind == plans.Choose || len(s.Plans) == 0 {
			return false
		}
		s = &s.Plans[0]
	}
	return true
}
