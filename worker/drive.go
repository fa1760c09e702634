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

// drive takes part in a run of the prepared job. before describes earlier runs in the same job. The
// first worker drives the run, the others follow.
func (j *job) drive(before bsp.Outcome) error {
	j.reported = nil
	if j.link.Rank() > 0 {
		return bsp.Run(j.of.Name(), &bsp.NoSuperstep, j, func() error { return j.follow(j.attempt.ctx) })
	}
	return j.lead(before)
}

// fault is an error with what the master has to know about it.
type fault struct {
	error
	step string // the step of this worker that failed, or ""
	run  bool   // the run itself failed, whichever worker detects it
	lost string // the worker whose lost connection is the cause, or ""
}

func (f *fault) Unwrap() error { return f.error }

func failedIn(superstep int, err error) error {
	return &fault{error: err, step: fmt.Sprintf("superstep %d", superstep)}
}

func ofRun(err error) error { return &fault{error: err, run: true} }

// lead drives a run over the partitions of all workers.
func (j *job) lead(before bsp.Outcome) error {
	a := j.attempt
	if j.driver == nil {
		if err := j.newDriver(); err != nil {
			return ofRun(err)
		}
	}
	j.driver.Follow(before)
	a.begins()
	_, err := j.driver.Run(a.ctx, j)
	a.Flush()
	if err == nil {
		took := j.driver.Last()
		j.observe(took)
		return a.order(a.ctx, &step{End: true, Took: took}) // the end of the run
	}
	if errors.As(err, new(*fault)) || a.ctx.Err() != nil {
		return err
	}
	return ofRun(err)
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
	a := j.attempt
	o := a.engine
	o.Trace, o.Label, o.Name, o.Decides = j, j.label, j.name, a.decides
	o.Log, o.Late = a.log, a.late
	o.Progress = func(bsp.Progress) { a.progress(j.driver.Outcome()) }
	if a.keep != nil {
		o.Checkpoints, o.Spec, o.Plan = a.keeper.Load(), a.keep.Spec, a.plan
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

// maxFinal bounds the encoded values of a job's aggregators, in bytes, because they have to fit in
// one message and stay in memory while the job is remembered.
const maxFinal = 1 << 20

// aggregators returns the program's aggregators at the end of the run: as JSON for watchers, and
// encoded for clients in Go.
func (j *job) aggregators() (all []*control.Aggregator) {
	aggregates, totals, texts := j.driver.Aggregates(), j.driver.Totals(), j.driver.Final()
	size := 0
	for _, a := range aggregates.All {
		value, err := totals[a.Number].Encode(pack.Value)
		if size += len(value); err == nil && size > maxFinal {
			size -= len(value)
			err = fmt.Errorf("it has %d bytes, expected at most %d in all aggregators", len(value),
				maxFinal)
		}
		if err != nil {
			value = nil
			j.attempt.log(
				fmt.Sprintf("aggregator %s does not reach clients in Go: %v", a.Name, err))
		}
		// Strings of a message must be valid UTF-8.
		name, text := strings.ToValidUTF8(a.Name, "?"), string(texts[a.Name])
		all = append(all, &control.Aggregator{Name: name, Json: text, Value: value})
	}
	own := []string{trace.GroupsName, trace.TopName, trace.TopByName, trace.ReachedName}
	for _, name := range own {
		text, ok := texts[name]
		named := func(a kernel.Aggregate) bool { return a.Name == name }
		if ok && !slices.ContainsFunc(aggregates.All, named) {
			all = append(all, &control.Aggregator{Name: name, Json: string(text)})
		}
	}
	return all
}

// reportOf makes the report of a superstep for the driver, and resets the partitions' aggregators.
func reportOf(
	superstep int, reports []*bsp.Report, aggregates bsp.Aggregates,
) (*superstepReport, error) {
	sent := &superstepReport{Superstep: superstep, Reports: reports}
	for _, r := range reports {
		cells, err := aggregates.Encode(nil, r.Cells)
		if err != nil {
			return nil, err
		}
		aggregates.Reset(r.Cells)
		sent.Aggregates = append(sent.Aggregates, cells)
	}
	return sent, nil
}

// take takes the reports of another worker's partitions.
func (j *job) take(rank int, sent *superstepReport) error {
	if len(sent.Reports) != len(sent.Aggregates) {
		return fmt.Errorf("it reports %d partitions, and the aggregators of %d", len(sent.Reports),
			len(sent.Aggregates))
	}
	for n, r := range sent.Reports {
		if r == nil {
			return errors.New("the report of a partition is missing")
		}
		i := r.Partition.Partition
		if i < 0 || i >= len(j.reports) || j.layout.Owner[i] != rank || j.reports[i] != nil {
			return fmt.Errorf("it reported partition %d twice, or does not have it", i)
		}
		if r.Account == nil {
			return fmt.Errorf("it reports no account of partition %d", i)
		}
		r.Account.Partition, r.Account.Superstep = i, sent.Superstep
		r.Worker, r.Cells, j.reports[i] = j.layout.Workers[rank].Name, j.cells[i], r
		if err := j.driver.Aggregates().Decode(sent.Aggregates[n], r.Cells); err != nil {
			return fmt.Errorf("partition %d: %w", i, err)
		}
	}
	return nil
}
