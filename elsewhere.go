package superstep

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/superstep-go/superstep/internal/backend"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/transport/pack"
)

func init() {
	backend.Source = func(o any, name string) *job.Source { return o.(LoadOptions).source(name) }
	backend.New = func(g *graph.Graph, elsewhere backend.Graph, free func(), account,
		skipped []string,
	) any {
		return &Graph{
			g: g, elsewhere: elsewhere, refs: mem.NewRefs(free), Account: account, Skipped: skipped,
		}
	}
}

// jobOf returns the program as a job for the backend, without what depends on the type of its
// values.
func (o *Options) jobOf(
	g *Graph, given any, program *engine.Program, sink *recorder,
) (*backend.Job, error) {
	switch {
	case o.Threads != 0:
		return nil, errors.New("superstep: Options.Threads are only for runs in this process")
	case o.Checkpoints.Place != "" || o.Checkpoints.Keep || o.Checkpoints.Resume ||
		o.Checkpoints.Fork:
		return nil, errors.New("superstep: Options.Checkpoints: Place, Keep and Resume are only for runs in this process")
	}
	if err := o.engine().Validate(); err != nil {
		return nil, fmt.Errorf("superstep: %w", err)
	}
	to := &backend.Job{
		Given: given, Zero: o.Zero, Program: program, File: o.Trace, Record: sink,
		Complete: o.Trace != nil || o.KeepTrace, Log: o.Log,
		Options: job.Options{
			Delivery: o.Delivery.String(), Deterministic: o.Deterministic,
			MaxSupersteps: uint32(min(o.MaxSupersteps, math.MaxUint32)), Seed: o.Seed,
			SuperstepTimeout: job.Duration(o.SuperstepTimeout), Trace: o.Trace != nil,
		},
	}
	if when := o.Checkpoints.policy(); when != (checkpoint.Policy{}) {
		to.KeepWhen = &when
	}
	if o.Progress != nil {
		to.Progress = func(p bsp.Progress) { o.Progress(Progress(p)) }
	}
	taken := map[string]bool{}
	for i := range o.Columns {
		in, err := o.Columns[i].elsewhere(g, program, taken)
		if err != nil {
			return nil, err
		}
		to.Inputs = append(to.Inputs, in)
	}
	return to, nil
}

// elsewhere returns an input for the backend. It sends nothing yet.
func (in *Input) elsewhere(
	g *Graph, program *engine.Program, given map[string]bool,
) (to backend.Input, err error) {
	if err := in.valid(given); err != nil {
		return to, err
	}
	switch column, err := program.Column(in.column.Name); {
	case err != nil:
		return to, err
	case column.Number != in.column.Number:
		return to, in.another()
	case in.result && in.changed:
		return to,
			fmt.Errorf("superstep: column %s: the result is of a program that has changed the "+
				"graph on the cluster, where the graph of this run has other vertices: give "+
				"superstep.From a function that reads it by Result.At", in.column.Name)
	case in.result && (in.job == "" || in.cluster != g.elsewhere.Cluster()):
		return to,
			fmt.Errorf("superstep: column %s: the result is from another cluster", in.column.Name)
	}
	to = backend.Input{Column: in.column, Job: in.job, File: in.file}
	if in.send != nil {
		err = in.send(g, program.Name(), &to)
	}
	return to, err
}

// runElsewhere runs a program on the graph's backend.
func runElsewhere[V any](
	ctx context.Context, g *Graph, p engine.Erased, o Options,
) (*Result[V], error) {
	given := p.Program
	encoding, err := pack.NewValues(p.Value, mem.PointerFreeType(p.Value))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", engine.Name(given), err)
	}
	if p, err = engine.Complete(p, o.Zero); err != nil {
		return nil, err
	}
	program, err := engine.NewProgram(p)
	if err != nil {
		return nil, err
	}
	sink := &recorder{keep: o.KeepTrace}
	job, err := o.jobOf(g, given, program, sink)
	if err != nil {
		return nil, err
	}
	var column *pack.Column[V]
	job.Values = encoding.Type()
	job.NewColumn = func(ids int, gaps bool) backend.Column {
		column = pack.NewColumn[V](ids, g.g.Deal, gaps)
		return column
	}
	out, err := g.elsewhere.Run(ctx, job)
	if err != nil {
		return nil, err
	}
	r := newResult[V](g, &out.Outcome, out.Seconds, sink.records,
		program.Aggregates(o.Deterministic), out.Totals)
	r.job, r.values = out.Job, column.Values
	if out.Left != nil { // closed with g
		r.changed = true
		r.graph = &Graph{g: g.g.WithVertices(int(out.IDs), out.Left.Arcs,
			column.Has), elsewhere: g.elsewhere, refs: g.refs}
	}
	r.NumVertices, r.NumEdges = r.graph.g.Vertices(), r.graph.g.Arcs
	return r, nil
}
