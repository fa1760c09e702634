package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph500"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/mem"
)

// part is the worker's part in a job that workers do together: all do the same steps. The first of
// them drives what one must lead, and tells the master.
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
	job     *job    // that was prepared last
	ran     float64 // seconds of supersteps

	// Of a program.
	graph    *localGraph
	of       engine.Program
	phases   []engine.Program   // of its plan
	sequence int                // of what is prepared
	from     *checkpoint.Reader // that it goes on from, or nil

	// Of Graph500.
	report *graph500.Report
	kernel string    // of the job that there is
	began  time.Time // the graph, then the searches
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
	answer, err = p.do()
	r.Flush()
	var program *bsp.ProgramError
	var step *stepError
	var whole *runError
	switch broken := a.session.Err(); {
	case errors.Is(err, errToldByFirst):
		return &control.DriveReport{}, nil
	case err == nil || errors.As(err, &program) || errors.As(err, &whole):
		return answer, err
	case lostPeer(x.options.Name, err) == "" && lostPeer(x.options.Name, broken) != "":
		err = broken // whatever others made of it
	}
	if !errors.As(err, &step) {
		err = &stepError{p.step, err}
	}
	return nil, err
}

// do is the kind of job that it is.
func (p *part) do() (_ *control.DriveReport, err error) {
	defer mem.Recover(&err)
	switch {
	case p.spec.Graph500 != nil:
		return p.graph500(p.run.ctx)
	case p.spec.Netbench != nil:
		return p.netbench(p.run.ctx)
	}
	return p.program(p.run.ctx)
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

// ready makes a job ready for superstep 0 on all workers, of which the first has the facts of all.
func (p *part) ready(ctx context.Context, j *job, goOn bool) error {
	o, err := resolve.Options(p.spec.Options)
	if err != nil {
		return err
	}
	p.sequence++
	j.attempt, j.options, j.trace, j.placements = p.attempt, o, p.spec.Options.Trace,
		p.asked.Placements
	if err := p.executor.begin(ctx, p.task, j,
		fmt.Sprintf("%s phase %d", p.task.job, p.sequence)); err != nil {
		return err
	}
	if goOn {
		// Nobody sends before all have begun: they change the graph together, if the run had.
		if err := p.barrier(ctx); err != nil {
			return err
		}
		if err := j.goOn(ctx, p.from); err != nil {
			return err
		}
	}
	facts, err := json.Marshal(j.program.Facts())
	if err != nil {
		return err
	}
	all, err := p.group.Gather(ctx, collective.Call{Tag: tagFacts}, 0, facts)
	if err != nil {
		return err
	}
	for _, data := range all {
		f := &bsp.Facts{}
		if err := json.Unmarshal(data, f); err != nil {
			return fmt.Errorf("facts: %w", err)
		}
		j.facts = append(j.facts, f)
	}
	j.limit, p.job = time.Duration(p.asked.Limit), j
	return nil
}

// barrier waits for the other workers.
func (p *part) barrier(ctx context.Context) error {
	return p.group.Barrier(ctx, collective.Call{Tag: tagFacts})
}

// leads reports whether this is the worker that drives and tells.
func (p *part) leads() bool { return p.group.Link().Rank() == 0 }
