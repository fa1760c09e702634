package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/jobspec"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/transport/pack"
)

// drive takes part in a run of what was prepared, to its end: the first worker of the job drives it, the others follow. tell takes
// reports to the master before the last.
func (j *job) drive(ctx context.Context, t task, d *control.Drive, tell func(*control.Report) error) (*control.DriveReport, error) {
	j.first = int(d.Before.GetSupersteps())
	if j.session.Link().Rank() == 0 {
		return j.lead(ctx, t, d, tell)
	}
	return &control.DriveReport{}, j.follow(ctx, t)
}

// stepError is the failure of a part of a command, in this worker.
type stepError struct {
	step string
	error
}

func (e *stepError) Unwrap() error { return e.error }

func failedIn(superstep int, err error) error {
	return &stepError{fmt.Sprintf("superstep %d", superstep), err}
}

// runError is the failure of a run, whichever worker it is found in.
type runError struct{ error }

func (e *runError) Unwrap() error { return e.error }

// lead drives a run over the partitions of all workers.
func (j *job) lead(ctx context.Context, t task, d *control.Drive, tell func(*control.Report) error) (*control.DriveReport, error) {
	if j.crew == nil {
		var err error
		if j.crew, err = j.newCrew(d); err != nil {
			return nil, &runError{err}
		}
	}
	c := j.crew
	c.ctx, c.task, c.tell = ctx, t, tell
	c.driver.Follow(jobspec.OutcomeOf(d.Before))
	if err := c.gather(ctx); err != nil {
		return nil, err
	}
	_, err := c.driver.Run(ctx, c)
	var end *control.RunEnd
	if err == nil {
		end, err = c.end(d.Totals)
	}
	if err == nil && j.phase {
		c.kept.ran(j.of.Name(), c.driver, end.Totals)
	}
	if err := c.Flush(); err != nil {
		return nil, err
	}
	if err == nil {
		return &control.DriveReport{Outcome: jobspec.Outcome(c.driver.Outcome()), End: end}, c.dismiss(ctx)
	}
	var step *stepError
	if errors.As(err, &step) || ctx.Err() != nil {
		return nil, err
	}
	return nil, &runError{err}
}

// newCrew makes the driver of a job's runs; reported are the facts of each worker.
func (j *job) newCrew(d *control.Drive) (*crew, error) {
	o, err := jobspec.Options(j.options)
	if err != nil {
		return nil, err
	}
	n := len(j.graph.Parts)
	facts := make([]*bsp.Facts, len(d.Facts))
	for i, data := range d.Facts {
		facts[i] = new(bsp.Facts)
		if err := json.Unmarshal(data, facts[i]); err != nil {
			return nil, fmt.Errorf("facts: %w", err)
		}
		if f := facts[i]; f.Partitions != n || f.Load.Partitions != n {
			return nil, fmt.Errorf("a worker has a graph of %d partitions, the job one of %d", f.Partitions, n)
		}
	}
	c := &crew{job: j, link: j.session.Link(), reports: make([]*bsp.Report, n), cells: make([][]kernel.Cell, n), layout: layoutOf(j.placements)}
	if limit := time.Duration(d.SuperstepLimit); limit > 0 && (o.SuperstepTimeout == 0 || limit < o.SuperstepTimeout) {
		o.SuperstepTimeout = limit
	}
	o.Trace, o.Progress, o.Log, o.Label, o.Name, o.Late = c, c.progress, c.log, c.label, c.name, c.late
	o.Decides = j.decides
	j.running.Lock()
	c.kept = j.kept
	from := j.from
	j.running.Unlock()
	if k := c.kept; k != nil {
		o.Checkpoints, o.Spec, o.Plan = k.keeperOf(c), k.keep.Spec, k.plan
		o.Account = func() json.RawMessage { return k.meter.Account(k.began) }
	}
	if c.driver, err = j.of.Driver(o, facts); err != nil {
		return nil, err
	}
	if from != nil {
		if err := c.driver.GoOn(from, facts); err != nil {
			return nil, err
		}
	}
	for i := range c.cells {
		if c.layout.Owner[i] != 0 {
			c.cells[i] = c.driver.Aggregates().Cells()
		}
	}
	return c, nil
}

// maxFinal bounds what is told of the values of a job's aggregators, in bytes, as a message with them has to hold, and as long as the
// job is remembered.
const maxFinal = 1 << 20

// end is what the run ended with: aggregators as JSON for those who watch the job, and as they travel for clients in Go. totalled says that
// the master asks for all of them as they travel between processes.
func (c *crew) end(totalled bool) (*control.RunEnd, error) {
	aggregates, totals, texts := c.driver.Aggregates(), c.driver.Totals(), c.driver.Final()
	e := &control.RunEnd{Own: jobspec.Outcome(c.driver.Own()), Seconds: c.driver.Took().Seconds()}
	if totalled {
		var err error
		if e.Totals, err = aggregates.Encode(nil, totals); err != nil {
			return nil, err
		}
	}
	size := 0
	for _, a := range aggregates.All {
		value, err := totals[a.Number].Encode(pack.Value)
		if size += len(value); err == nil && size > maxFinal {
			size -= len(value)
			err = fmt.Errorf("it has %d bytes, and there is room for %d of all aggregators", len(value), maxFinal)
		}
		if err != nil {
			value = nil
			c.log(fmt.Sprintf("aggregator %s does not travel to clients in Go: %v", a.Name, err))
		}
		// A message has no other text.
		name, text := strings.ToValidUTF8(a.Name, "?"), string(texts[a.Name])
		e.Aggregators = append(e.Aggregators, &control.Aggregator{Name: name, Json: text, Value: value})
	}
	for _, name := range []string{trace.GroupsName, trace.TopName, trace.TopByName, trace.ReachedName} {
		if text, ok := texts[name]; ok && !slices.ContainsFunc(aggregates.All, func(a kernel.Aggregate) bool { return a.Name == name }) {
			e.Aggregators = append(e.Aggregators, &control.Aggregator{Name: name, Json: string(text)})
		}
	}
	return e, nil
}
