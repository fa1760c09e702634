package cli

import (
	"context"
	"log/slog"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph500"
	"github.com/superstep-go/superstep/internal/history"
)

// onCluster reports whether the command line means a cluster.
func (g *graph500Command) onCluster() bool { return g.run.flags.Changed("master") || g.detach }

// fits refuses flags that make no sense where the benchmark is to run.
func (g *graph500Command) fits() error {
	flags := g.run.flags
	if !g.onCluster() {
		if name, ok := changed(flags, []string{"token-file", "retry-for"}); ok {
			return usagef("--%s is of runs on a cluster: give --master too", name)
		}
		return nil
	}
	if name, ok := changed(flags, ofProcess); ok {
		return usagef("--%s is of a run in this process: the master serves the page of a cluster", name)
	}
	if flags.Changed("threads") {
		return usagef("--threads is of a run in this process: on a cluster each worker has its own, superstep worker --threads")
	}
	if name, ok := changed(flags, []string{"json", "trace"}); ok && g.detach {
		return usagef("--detach does not wait for the run: not with --%s; superstep watch shows what comes later", name)
	}
	return nil
}

// executeOnCluster submits the benchmark as a job, waits for it and prints its report.
func (g *graph500Command) executeOnCluster(ctx context.Context, generator generate.Kronecker) error {
	spec := &control.JobSpec{
		Program: control.Graph500Program,
		Graph500: &control.Graph500{
			Scale: uint32(generator.Scale), EdgeFactor: uint32(generator.EdgeFactor), Seed1: generator.Seed1, Seed2: generator.Seed2,
			Roots: uint32(g.roots), Sssp: g.sssp, Validate: !g.noValidate,
		},
		Options: g.run.remote(),
	}
	var err error
	if spec.Rows, spec.Columns, err = g.run.clusterGrid(graph.Squarest); err != nil {
		return err
	}
	if err := g.cluster.awaited(g.run.flags, g.run.workers); err != nil {
		return err
	}
	if err := writable(g.run.json, g.run.trace); err != nil {
		return err
	}
	return g.cluster.wait(ctx, g.app, func(ctx context.Context, w *waiting) error { return g.together(ctx, w, spec) })
}

// together submits the job and does what follows.
func (g *graph500Command) together(ctx context.Context, w *waiting, spec *control.JobSpec) error {
	f := &followed{whole: g.run.trace != ""}
	f.tell, f.finish = g.run.tellJob(new(history.Meter))
	job, err := w.job(ctx, spec, f, g.detach)
	if job == nil || err != nil {
		return err
	}
	w.display.done()
	return g.app.benchmarkEnded(ctx, job, g.run.json)
}

// benchmarkEnded prints the report of a job of Graph500 that is done, or whose last search was not valid, and returns an
// error unless it is done.
func (a *app) benchmarkEnded(ctx context.Context, job *control.Job, json string) error {
	err := outcome(job, false)
	if err != nil && job.GetGraph500().GetViolation() == nil {
		return err
	}
	report := benchmarkReport(job)
	if e := report.WriteText(a.text(json)); e != nil {
		return e
	}
	for _, issue := range graph500.SubmissionIssues(*report) {
		a.notices().say(slog.LevelInfo, "superstep: not a submission: "+issue)
	}
	if e := a.writeJSON(ctx, json, report); e != nil {
		return e
	}
	return err
}

// benchmarkReport is the report of a job of Graph500.
func benchmarkReport(job *control.Job) *graph500.Report {
	spec, result := job.Spec.GetGraph500(), job.GetGraph500()
	r := &graph500.Report{
		Scale: int(spec.GetScale()), EdgeFactor: int(spec.GetEdgeFactor()), Seeds: [2]uint64{spec.GetSeed1(), spec.GetSeed2()},
		Processes: len(job.Workers), Generation: result.GetGeneration(), Construction: result.GetConstruction(), Roots: result.GetRoots(),
		BFS: kernelOf(result.GetBfs()), SSSP: kernelOf(result.GetSssp()),
		Threads: int(job.Threads), Partitions: int(job.Rows * job.Columns), Rows: int(job.Rows), Columns: int(job.Columns), PeakRSS: int64(job.PeakMemory),
	}
	if spec.GetValidate() {
		valid := result.GetViolation() == nil
		r.Valid = &valid
	}
	return r
}

func kernelOf(k *control.KernelResult) graph500.Kernel {
	nedge := make([]int64, len(k.GetNedge()))
	for i, n := range k.GetNedge() {
		nedge[i] = int64(n)
	}
	return graph500.Kernel{Time: k.GetTime(), Translate: k.GetTranslate(), Nedge: nedge, Validate: k.GetValidate()}
}
