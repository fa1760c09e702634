package worker

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/trace"
)

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
