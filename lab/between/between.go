// Package between runs a program on a cluster with several sets of options, in turns. It reports
// how long each phase of a superstep took and what was sent. So it shows the effect of options on a
// network, which one process cannot show. Start with between.go.
//
//	cluster -> graph, loaded once -> each way once, results compared -> rounds by turns: records of supersteps -> Report
package between

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/client"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/record"
	"github.com/superstep-go/superstep/test/hosts/netns"
)

// Way is a set of options for the program.
type Way struct {
	Name    string
	Options *job.Options
}

// Options describe the measurement.
type Options struct {
	Program       string
	Parameters    map[string]string
	Source        *job.Source
	Rows, Columns int
	Ways          []Way
	Rounds        int
	// Compare compares the results of all ways in a round that does not count. They must be equal;
	// numbers may differ by a relative error of 1e-9.
	Compare bool
	// Carried, if not nil, returns the traffic of each worker so far.
	Carried func() ([]netns.Traffic, error)
	// Stage, if not nil, is called with the name of each stage.
	Stage func(name string)
}

// graphName is the graph's name in the cluster's catalog.
const graphName = "between"

// bench is a cluster with the loaded graph.
type bench struct {
	Options
	client *client.Client
}

// Run loads the graph and measures the ways on a cluster.
func (o Options) Run(ctx context.Context, address string, token control.Token) (*Report, error) {
	c, err := client.New(
		client.Options{Address: address, Credentials: control.Credentials{Token: token}})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if o.Stage == nil {
		o.Stage = func(string) {}
	}
	b := &bench{o, c}
	o.Stage("loading " + o.Source.Input)
	start := time.Now()
	g, err := c.LoadGraph(ctx, &control.LoadGraphRequest{Name: graphName, SourceJson: job.Text(o.Source), Rows: uint32(o.Rows), Columns: uint32(o.Columns)}, func(string, int64, int64) {})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Source.Input, err)
	}
	r := &Report{
		Program: o.Program, Parameters: o.Parameters, Graph: o.Source.Input, Vertices: g.Vertices,
		Edges: g.Edges, Load: time.Since(start).Seconds(), Rounds: o.Rounds,
	}
	if r.Compared, err = b.warm(ctx); err != nil {
		return nil, err
	}
	runs := make([][]*run, len(o.Ways))
	for round := range o.Rounds {
		o.Stage(fmt.Sprintf("round %d of %d", round+1, o.Rounds))
		for i := range o.Ways {
			if round%2 == 1 {
				i = len(o.Ways) - 1 - i
			}
			x, err := b.run(ctx, i, false)
			if err != nil {
				return nil, err
			}
			runs[i] = append(runs[i], x)
		}
	}
	for i, w := range o.Ways {
		r.Ways = append(r.Ways, summary(w.Name, runs[i], runs[0]))
	}
	return r, nil
}

// warm runs each way once and compares the results. It returns the number of equal values.
func (b *bench) warm(ctx context.Context) (compared int, err error) {
	var first *values
	for i, w := range b.Ways {
		b.Stage("first run of " + w.Name)
		x, err := b.run(ctx, i, b.Compare)
		if err != nil {
			return 0, err
		}
		if !b.Compare {
			continue
		}
		next := &values{against: first}
		if _, err = b.client.Result(ctx, x.job.Id, false, next); err == nil {
			err = next.end()
		} else if next.err != nil {
			err = next.err
		}
		if err != nil {
			return 0, fmt.Errorf("%s, and %s: %w", b.Ways[0].Name, w.Name, err)
		}
		if first == nil {
			first = next
		}
		compared = len(first.texts) + len(first.numbers)
	}
	return compared, nil
}

// run is the outcome of one run.
type run struct {
	job   *control.Job
	steps []*record.Superstep
	wire  int64 // bytes that the workers' cables carried
}

// run runs the program with one way's options.
func (b *bench) run(ctx context.Context, way int, keep bool) (*run, error) {
	w, x, mu := b.Ways[way], &run{}, sync.Mutex{}
	before, err := b.carried()
	if err != nil {
		return nil, err
	}
	spec := &job.Spec{Program: b.Program, Parameters: b.Parameters, Graph: graphName, Options: *w.Options, KeepResult: keep}
	x.job, err = b.client.Run(ctx, spec, func(e *control.JobEvent) error {
		mu.Lock()
		defer mu.Unlock()
		data := e.GetRecord()
		if data == nil {
			return nil
		}
		s, err := control.DecodeRecord(data)
		x.steps = append(x.steps, s)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.Name, err)
	}
	if x.job.State != control.JobState_JOB_STATE_DONE {
		return nil, fmt.Errorf("%s: the job is %s: %s", w.Name, x.job.State.Word(), x.job.Reason)
	}
	after, err := b.carried()
	x.wire = after - before
	if len(x.steps) < int(x.job.Supersteps) && err == nil {
		err = fmt.Errorf("%s: the master told of %d supersteps of %d", w.Name, len(x.steps),
			x.job.Supersteps)
	}
	slices.SortFunc(x.steps, func(a, b *record.Superstep) int { return a.Superstep - b.Superstep })
	return x, err
}

// carried returns the number of bytes that all workers have sent so far.
func (b *bench) carried() (sum int64, err error) {
	if b.Carried == nil {
		return 0, nil
	}
	all, err := b.Carried()
	for _, t := range all {
		sum += t.Sent
	}
	return sum, err
}
