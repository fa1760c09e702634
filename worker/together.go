package worker

import (
	"context"
	"errors"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/mem"
)

// work runs the worker's part of a job to the end.
func (a *attempt) work(c *control.Run) (answer *control.DriveReport, err error) {
	a.asked = c
	if a.spec, err = jobspec.Read[jobspec.Spec](c.SpecJson); err != nil {
		return nil, err
	}
	if a.engine, err = resolve.Options(a.spec.Options); err != nil {
		return nil, err
	}
	answer, err = a.byKind()
	a.Flush()
	known := &fault{}
	errors.As(err, &known)
	switch broken := a.session.Err(); {
	case errors.Is(err, errToldByFirst):
		return &control.DriveReport{}, nil
	case err == nil || known.run || errors.As(err, new(*bsp.ProgramError)):
		return answer, err
	case lostPeer(a.options.Name, err) == "" && lostPeer(a.options.Name, broken) != "":
		err, known = broken, &fault{} // takes precedence over consequent errors
	}
	if known.step == "" {
		err = &fault{error: err, step: a.step, lost: known.lost}
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

// barrier waits for the other workers.
func (a *attempt) barrier(ctx context.Context) error {
	return a.group.Barrier(ctx, collective.Call{Tag: tagFacts})
}

// leads reports whether this worker drives the run and reports to the master.
func (a *attempt) leads() bool { return a.group.Link().Rank() == 0 }
