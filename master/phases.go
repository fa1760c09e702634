package master

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/trace"
)

// perform runs the phases of the program's plan, if it has one, and then the program itself.
func (r *run) perform(ctx context.Context, p engine.Registered, vertices []*control.Vertex) error {
	program, err := p.New(r.parameters, resolve.Finder(vertices))
	if err != nil {
		return err
	}
	most, err := program.MaxSupersteps(int(r.spec.Options.MaxSupersteps))
	if err != nil {
		return err
	}
	r.set(func(a *control.Job) { a.MaxSupersteps = uint64(most) })
	prepare := &control.Prepare{
		Graph: r.job.graph(), Program: r.spec.Program, Parameters: r.parameters, OptionsJson: jobspec.Text(r.spec.Options), Placements: r.job.placements,
		Vertices: vertices,
	}
	goOn, from, err := r.keeping(ctx, prepare, program)
	if err != nil {
		return err
	}
	before := bsp.Outcome{Ended: trace.Converged}
	if program.Plan() != nil {
		w := walked{run: r, prepare: prepare, from: from, goOn: goOn}
		if before, goOn, err = w.plan(ctx, p, program); err != nil {
			return err
		}
	}
	// At the limit of supersteps: the values are those at the beginning.
	if !before.Ended.Complete() {
		_, err := r.prepare(ctx, prepare, nil)
		return err
	}
	facts, err := r.prepare(ctx, prepare, goOn)
	// Else its columns are in the checkpoint, or the phases have had them.
	if err == nil && program.Plan() == nil && from == nil {
		err = r.fill(ctx, p)
	}
	if err != nil {
		return err
	}
	r.begins = r.server.now() - r.since
	r.server.event(func() { r.server.cluster.drives(r.server.now(), r.id, r.epoch) })
	end, err := r.supersteps(ctx, facts, before, false)
	if err != nil {
		return err
	}
	r.end(end)
	return nil
}

// walked is how far the plan of a run's program is.
type walked struct {
	*run
	prepare *control.Prepare
	phases  []engine.Program
	from    *checkpoint.Manifest // of the checkpoint that the run goes on from, or nil
	goOn    *control.GoOn        // which one that is
	ended   int                  // phases that have, in this attempt or before the checkpoint
}

// plan runs the phases, and returns the checkpoint that the program itself goes on from, or nil.
func (w *walked) plan(ctx context.Context, p engine.Registered, program engine.Program) (before bsp.Outcome, goOn *control.GoOn, err error) {
	plan := program.Plan()
	if w.phases, err = plan.Phases(); err != nil {
		return before, nil, err
	}
	// The columns of the program itself, which its phases take over.
	if w.from == nil && len(w.spec.Inputs)+len(w.spec.ColumnData) > 0 {
		if _, err = w.run.prepare(ctx, w.prepare, nil); err == nil {
			err = w.fill(ctx, p)
		}
		if err != nil {
			return before, nil, err
		}
		w.prepare.Sequence++
	}
	// The plan's conditions.
	err = bsp.Contain(program.Name(), &bsp.NoSuperstep, func() (err error) {
		before, err = plan.Walk(ctx, program.Name(), func(i int, before bsp.Outcome) (*engine.Ran, error) { return w.phase(ctx, i, before) })
		return err
	})
	w.prepare.Phase = 0
	switch {
	case err != nil || w.from == nil || !before.Ended.Complete():
	case w.ended < len(w.from.Plan.Ran):
		err = fmt.Errorf("%s: the checkpoint before superstep %d was made after %d phases, and here the plan has %d: it has taken another way",
			program.Name(), w.from.Superstep, len(w.from.Plan.Ran), w.ended)
	case w.ended == len(w.from.Plan.Ran): // all phases had ended
		goOn = w.goOn
	}
	return before, goOn, err
}

// phase runs a phase, or takes from the checkpoint how it ended.
func (w *walked) phase(ctx context.Context, i int, before bsp.Outcome) (*engine.Ran, error) {
	deterministic, k := w.spec.Options.Deterministic, w.ended
	w.ended++
	if w.from != nil && k < len(w.from.Plan.Ran) {
		return engine.Replay(w.phases[i], &w.from.Plan.Ran[k], deterministic)
	}
	var goOn *control.GoOn
	if w.from != nil && k == len(w.from.Plan.Ran) {
		goOn = w.goOn
	}
	w.prepare.Phase = uint32(i) + 1
	facts, err := w.run.prepare(ctx, w.prepare, goOn)
	if err != nil {
		return nil, err
	}
	w.prepare.Sequence++
	end, err := w.supersteps(ctx, facts, before, true)
	if err != nil {
		return nil, err
	}
	aggregates := w.phases[i].Aggregates(deterministic)
	ran := &engine.Ran{Outcome: resolve.OutcomeOf(end.Own), Totals: aggregates.Cells()}
	return ran, aggregates.Decode(end.Totals, ran.Totals)
}
