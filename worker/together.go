package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/mem"
)

// work runs the worker's part of a job to the end.
func (a *attempt) work(c *control.Run) (answer *control.DriveReport, err error) {
	a.asked, a.places = c, placesOf(c.Placements)
	if a.spec, err = jobspec.Read[jobspec.Spec](c.SpecJson); err != nil {
		return nil, err
	}
	if a.group, err = a.places.group(a.session.Link()); err != nil {
		return nil, err
	}
	answer, err = a.byKind()
	a.Flush()
	var program *bsp.ProgramError
	var step *stepError
	var whole *runError
	switch broken := a.session.Err(); {
	case errors.Is(err, errToldByFirst):
		return &control.DriveReport{}, nil
	case err == nil || errors.As(err, &program) || errors.As(err, &whole):
		return answer, err
	case lostPeer(a.options.Name, err) == "" && lostPeer(a.options.Name, broken) != "":
		err = broken // takes precedence over consequent errors
	}
	if !errors.As(err, &step) {
		err = &stepError{a.step, err}
	}
	return nil, err
}

// byKind runs the job by its kind.
func (a *attempt) byKind() (_ *control.DriveReport, err error) {
	defer mem.Recover(&err)
	switch {
	case a.spec.Graph500 != nil:
		return a.graph500(a.ctx)
	case a.spec.Netbench != nil:
		return a.netbench(a.ctx)
	}
	return a.program(a.ctx)
}

// enter sets the current step, for errors.
func (a *attempt) enter(step string) { a.step = step }

// ready prepares a job for superstep 0 on all workers. The first worker gets the facts of all.
func (a *attempt) ready(ctx context.Context, j *job, goOn bool) error {
	o, err := resolve.Options(a.spec.Options)
	if err != nil {
		return err
	}
	a.sequence++
	j.attempt, j.options = a, o
	if err := a.begin(ctx, j, fmt.Sprintf("%s phase %d", a.task.job, a.sequence)); err != nil {
		return err
	}
	if goOn {
		// No worker may send before all have begun, because resuming may need messages between all
		// workers: they apply the run's earlier changes of the graph together.
		if err := a.barrier(ctx); err != nil {
			return err
		}
		if err := j.goOn(ctx, a.from); err != nil {
			return err
		}
	}
	call := collective.Call{Tag: tagFacts, Bytes: 1 << 10}
	facts, err := collective.Gather(ctx, a.group, call, j.program.Facts())
	for i := range facts {
		j.facts = append(j.facts, &facts[i])
	}
	return err
}

// barrier waits for the other workers.
func (a *attempt) barrier(ctx context.Context) error {
	return a.group.Barrier(ctx, collective.Call{Tag: tagFacts})
}

// leads reports whether this worker drives the run and reports to the master.
func (a *attempt) leads() bool { return a.group.Link().Rank() == 0 }
