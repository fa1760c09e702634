package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/history"
)

// catalogPrefix is what --graph of a graph of the cluster begins with.
const catalogPrefix = control.CatalogPrefix

// clusterRun is a `superstep run` on a cluster.
type clusterRun struct {
	*runCommand
	wait   *waiting
	report *runReport
	source *control.GraphSource // of the graph, to verify by
}

// onCluster reports whether the command line means a cluster.
func (r *runCommand) onCluster() bool {
	return r.cluster.wanted(r.run.flags) || strings.HasPrefix(r.graph, catalogPrefix)
}

// Flags that do not go together with others.
var (
	ofLoading = []string{"format", "directed", "undirected", "max-expand", "duplicates", "self-loops", "unit-weights", "partitions", "grid"}
	ofWaiting = []string{"output", "json", "trace", "verify", "stack"}
)

// fits refuses flags that make no sense where the program is to run.
func (r *runCommand) fits() error {
	err := r.cluster.fits(r.run.flags, r.onCluster(), "jobs", ofWaiting, "job: not with --%s; superstep watch and superstep result have what comes later")
	if err != nil {
		return err
	}
	if strings.HasPrefix(r.graph, catalogPrefix) {
		if name, ok := changed(r.run.flags, ofLoading); ok {
			return usagef("--%s is of loading a graph: %s is on the cluster as superstep graphs load has put it there", name, r.graph)
		}
	}
	return nil
}

// executeOnCluster submits the job, waits for it and fetches what it computed. Whether the program and its parameters
// make sense the master finds out, before anything is loaded.
func (r *runCommand) executeOnCluster(ctx context.Context, report *runReport) error {
	spec, err := r.spec(report)
	if err != nil {
		return err
	}
	if err := r.cluster.awaited(r.run.flags, r.run.workers); err != nil {
		return err
	}
	if err := writable(r.output, r.run.json, r.run.trace); err != nil {
		return err
	}
	return r.cluster.wait(ctx, r.app, func(ctx context.Context, w *waiting) error {
		return (&clusterRun{runCommand: r, wait: w, report: report}).all(ctx, spec)
	})
}

// spec is the job that the command line describes.
func (r *runCommand) spec(report *runReport) (_ *control.JobSpec, err error) {
	spec := &control.JobSpec{
		Program: report.Algorithm, Parameters: report.Parameters, KeepResult: r.output != "" || r.verify || r.cluster.detach, Unsorted: !r.sorted,
		Options: r.run.remote(),
	}
	if name, ok := strings.CutPrefix(r.graph, catalogPrefix); ok {
		if spec.Graph = name; name == "" {
			return nil, usagef("--graph %s: expected catalog:NAME, a graph that superstep graphs list shows", r.graph)
		}
		return spec, nil
	}
	if spec.Source, err = graphSource(r.graph, &r.input, r.store.options()); err != nil {
		return nil, err
	}
	spec.Rows, spec.Columns, err = r.run.clusterGrid(graph.Of)
	return spec, err
}

// graphSource says what the workers are to load. Files are those that they see under the same name.
func graphSource(name string, input *inputFlags, store graph.Options) (*control.GraphSource, error) {
	request, err := input.request(name, nil, nil)
	if err != nil {
		return nil, err
	}
	s := &control.GraphSource{
		Input: name, Format: string(request.Format), Directed: request.Directed, MaxExpand: uint64(request.MaxExpand),
		Duplicates: store.Duplicates.String(), DropLoops: store.DropLoops, UnitWeights: store.UnitWeights,
	}
	if generate.IsGenerator(name) {
		g, err := generate.Parse(name)
		if err != nil {
			return nil, usageError{err}
		}
		if err := generate.Loadable(g); err != nil {
			return nil, usageError{err}
		}
	} else {
		if s.Input, err = filepath.Abs(name); err != nil {
			return nil, fmt.Errorf("--graph %s: %w", name, err)
		}
	}
	return s, nil
}

// all submits the job and does what follows.
func (j *clusterRun) all(ctx context.Context, spec *control.JobSpec) error {
	if j.verify {
		if err := j.verifiable(ctx, spec); err != nil {
			return err
		}
	}
	var meter history.Meter
	f := &followed{whole: true}
	f.tell, f.finish = j.run.tellJob(&meter)
	job, err := j.wait.job(ctx, spec, f, j.cluster.detach)
	if job == nil || err != nil {
		return err
	}
	if err := outcome(job, j.stack); err != nil {
		return err
	}
	j.report.of(job)
	j.report.SuperstepTime = f.superstepTimes(job.Supersteps)
	began := time.Now()
	if err := j.fetch(ctx, job); err != nil {
		return err
	}
	j.report.WriteTime += time.Since(began).Seconds()
	j.wait.display.done()
	return j.finish(ctx, j.report, &meter)
}

// of takes the figures of a job.
func (p *runReport) of(j *control.Job) {
	p.Vertices, p.Edges, p.Directed = int(j.Vertices), int(j.Edges), j.Directed
	p.Supersteps, p.Converged = int(j.Supersteps), j.Converged
	p.LoadTime, p.RunTime, p.WriteTime = j.LoadSeconds, j.RunSeconds, j.WriteSeconds
	p.Messages, p.MessagesSent, p.BytesSent = int(j.Messages), int(j.MessagesSent), int(j.BytesSent)
	p.Aggregators = j.FinalAggregates()
	p.PeakRSS, p.Threads = int64(j.PeakMemory), int(j.Threads)
	p.Partitions, p.Workers = int(j.Rows*j.Columns), len(j.Workers)
	p.Grid = gridOf(j)
}

func gridOf(j *control.Job) string { return fmt.Sprintf("%dx%d", j.Rows, j.Columns) }
