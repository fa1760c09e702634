package worker

import (
	"errors"
	"fmt"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/graph500"
	jobspec "github.com/superstep-go/superstep/internal/job"
)

// part is the worker's part in a job that workers do together: all do the same steps. The first of them drives what
// one must lead, and tells the master.
type part struct {
	*run
	*executor
	attempt *attempt
	asked   *control.Run
	spec    *jobspec.Spec
	group   *collective.Group
	places  places
	step    string // under way, for errors
	limit   *time.Timer

	// Of Graph500.
	report *graph500.Report
	kernel string // of the job that there is
}

// run does the worker's part in a job.
func (x *executor) run(r *run, a *attempt, c *control.Run) (answer *control.DriveReport, err error) {
	p := &part{run: r, executor: x, attempt: a, asked: c, places: placesOf(c.Placements)}
	if p.spec, err = jobspec.Read[jobspec.Spec](c.SpecJson); err != nil {
		return nil, err
	}
	if p.group, err = p.places.group(a.session.Link()); err != nil {
		return nil, err
	}
	defer p.enter("")
	answer, err = p.graph500(r.ctx)
	r.Flush()
	if broken := a.session.Err(); err != nil && lostPeer(x.options.Name, broken) != "" {
		return nil, broken // whatever others made of it
	}
	var step *stepError
	var whole *runError
	if err != nil && !errors.As(err, &step) && !errors.As(err, &whole) {
		err = &stepError{p.step, err}
	}
	return answer, err
}

// enter begins a step, and has the run end if it takes too long; the empty one ends the last.
func (p *part) enter(step string) {
	if p.limit != nil {
		p.limit.Stop()
		p.limit = nil
	}
	if step == "" {
		return
	}
	p.step = step
	if limit := time.Duration(p.asked.Limit); limit > 0 {
		p.limit = time.AfterFunc(limit, func() {
			late := fmt.Errorf("%s: it took longer than %v", step, limit)
			p.late(late)
			p.stop(late)
		})
	}
}

// leads reports whether this is the worker that drives and tells.
func (p *part) leads() bool { return p.group.Link().Rank() == 0 }
