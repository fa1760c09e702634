package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/transport/pack"
)

// drive takes part in a run of what was prepared, to its end: the first worker of the job drives it, the others follow.
func (j *job) drive(r *run, d *control.Drive) (*control.DriveReport, error) {
	j.run, j.first, j.reported = r, int(d.Before.GetSupersteps()), nil
	if j.link.Rank() == 0 {
		return j.lead(r, d)
	}
	return &control.DriveReport{}, j.follow(r.ctx, r.task)
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
func (j *job) lead(r *run, d *control.Drive) (*control.DriveReport, error) {
	if j.driver == nil {
		if err := j.newDriver(d); err != nil {
			return nil, &runError{err}
		}
	}
	ctx := r.ctx
	j.driver.Follow(resolve.OutcomeOf(d.Before))
	if err := j.gather(ctx); err != nil {
		return nil, err
	}
	_, err := j.driver.Run(ctx, j)
	var end *control.RunEnd
	if err == nil {
		end, err = j.ended(d.Totals)
	}
	if plan := j.attempt.plan; err == nil && j.phase && plan != nil {
		plan.Add(bsp.RanOf(j.of.Name(), j.driver.Own(), end.Totals, j.driver.Times()))
	}
	r.Flush()
	if err == nil {
		return &control.DriveReport{Outcome: resolve.Outcome(j.driver.Outcome()), End: end}, j.dismiss(r)
	}
	var step *stepError
	if errors.As(err, &step) || ctx.Err() != nil {
		return nil, err
	}
	return nil, &runError{err}
}

// newDriver makes the driver of a job's runs; d has the facts of each worker.
func (j *job) newDriver(d *control.Drive) error {
	n := len(j.graph.Parts)
	facts := make([]*bsp.Facts, len(d.Facts))
	for i, data := range d.Facts {
		facts[i] = new(bsp.Facts)
		if err := json.Unmarshal(data, facts[i]); err != nil {
			return fmt.Errorf("facts: %w", err)
		}
		if f := facts[i]; f.Partitions != n || f.Load.Partitions != n {
			return fmt.Errorf("a worker has a graph of %d partitions, the job one of %d", f.Partitions, n)
		}
	}
	o, a := j.options, j.attempt
	if limit := time.Duration(d.SuperstepLimit); limit > 0 && (o.SuperstepTimeout == 0 || limit < o.SuperstepTimeout) {
		o.SuperstepTimeout = limit
	}
	o.Trace, o.Label, o.Name, o.Decides = j, j.label, j.name, a.decides
	o.Log, o.Late = func(line string) { j.run.log(line) }, func(err error) { j.run.late(err) }
	o.Progress = func(bsp.Progress) { j.run.progress(j.driver.Outcome()) }
	if a.keep != nil {
		o.Checkpoints, o.Spec, o.Plan = a.keeperOf(j), a.keep.Spec, a.plan
		o.Account = func() json.RawMessage { return a.meter.Account(a.began) }
	}
	driver, err := j.of.Driver(o, facts)
	if err != nil {
		return err
	}
	if j.from != nil {
		if err := driver.GoOn(j.from, facts); err != nil {
			return err
		}
	}
	j.driver, j.reports, j.cells = driver, make([]*bsp.Report, n), make([][]kernel.Cell, n)
	for i := range j.cells {
		if j.layout.Owner[i] != 0 {
			j.cells[i] = driver.Aggregates().Cells()
		}
	}
	return nil
}

// maxFinal bounds what is told of the values of a job's aggregators, in bytes, as a message with them has to hold, and as long as the
// job is remembered.
const maxFinal = 1 << 20

// ended is what the run ended with: aggregators as JSON for those who watch the job, and as they travel for clients in Go. totalled says that
// the master asks for all of them as they travel between processes.
func (j *job) ended(totalled bool) (*control.RunEnd, error) {
	aggregates, totals, texts := j.driver.Aggregates(), j.driver.Totals(), j.driver.Final()
	e := &control.RunEnd{Own: resolve.Outcome(j.driver.Own()), Seconds: j.driver.Took().Seconds()}
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
			j.run.log(fmt.Sprintf("aggregator %s does not reach clients in Go: %v", a.Name, err))
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
