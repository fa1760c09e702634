package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/transport/pack"
)

// drive takes part in a run of what was prepared, before which so much has run in the same job: the
// first worker of the job drives it, the others follow.
func (j *job) drive(r *run, before bsp.Outcome) error {
	j.run, j.first, j.reported = r, before.Supersteps, nil
	if j.link.Rank() > 0 {
		return j.follow(r.ctx, r.task)
	}
	return j.lead(r, before)
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
func (j *job) lead(r *run, before bsp.Outcome) error {
	if j.driver == nil {
		if err := j.newDriver(); err != nil {
			return &runError{err}
		}
	}
	j.driver.Follow(before)
	r.begins()
	_, err := j.driver.Run(r.ctx, j)
	r.Flush()
	if err == nil {
		return j.dismiss(r)
	}
	var step *stepError
	if errors.As(err, &step) || r.ctx.Err() != nil {
		return err
	}
	return &runError{err}
}

// newDriver makes the driver of a job's runs.
func (j *job) newDriver() error {
	n := len(j.graph.Parts)
	for _, f := range j.facts {
		if f.Partitions != n || f.Load.Partitions != n {
			return fmt.Errorf("a worker has a graph of %d partitions, the job one of %d",
				f.Partitions, n)
		}
	}
	o, a := j.options, j.attempt
	if j.limit > 0 && (o.SuperstepTimeout == 0 || j.limit < o.SuperstepTimeout) {
		o.SuperstepTimeout = j.limit
	}
	o.Trace, o.Label, o.Name, o.Decides = j, j.label, j.name, a.decides
	o.Log, o.Late = func(line string) { j.run.log(line) }, func(err error) { j.run.late(err) }
	o.Progress = func(bsp.Progress) { j.run.progress(j.driver.Outcome()) }
	if a.keep != nil {
		o.Checkpoints, o.Spec, o.Plan = a.keeperOf(j), a.keep.Spec, a.plan
		o.Account = func() json.RawMessage { return a.meter.Account(a.began) }
	}
	driver, err := j.of.Driver(o, j.facts)
	if err != nil {
		return err
	}
	if j.from != nil {
		if err := driver.GoOn(j.from, j.facts); err != nil {
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

// maxFinal bounds what is told of the values of a job's aggregators, in bytes, as a message with
// them has to hold, and as long as the job is remembered.
const maxFinal = 1 << 20

// aggregators are those of the program as the run has left them: as JSON for those who watch the
// job, and as they travel for clients in Go.
func (j *job) aggregators() (all []*control.Aggregator) {
	aggregates, totals, texts := j.driver.Aggregates(), j.driver.Totals(), j.driver.Final()
	size := 0
	for _, a := range aggregates.All {
		value, err := totals[a.Number].Encode(pack.Value)
		if size += len(value); err == nil && size > maxFinal {
			size -= len(value)
			err = fmt.Errorf("it has %d bytes, and there is room for %d of all aggregators",
				len(value), maxFinal)
		}
		if err != nil {
			value = nil
			j.run.log(fmt.Sprintf("aggregator %s does not reach clients in Go: %v", a.Name, err))
		}
		// A message has no other text.
		name, text := strings.ToValidUTF8(a.Name, "?"), string(texts[a.Name])
		all = append(all, &control.Aggregator{Name: name, Json: text, Value: value})
	}
	for _, name := range []string{trace.GroupsName, trace.TopName, trace.TopByName, trace.ReachedName} {
		if text, ok := texts[name]; ok && !slices.ContainsFunc(aggregates.All, func(a kernel.Aggregate) bool { return a.Name == name }) {
			all = append(all, &control.Aggregator{Name: name, Json: string(text)})
		}
	}
	return all
}
