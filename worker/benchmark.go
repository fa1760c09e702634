package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph500"
	"github.com/superstep-go/superstep/internal/graph500/validate"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/job/resolve/benchmark"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/netbench"
	"github.com/superstep-go/superstep/internal/trace"
)

// graph500 runs this worker's rank of the benchmark. Its searches are runs of jobs with sessions of
// their own.
func (a *attempt) graph500(ctx context.Context) (*control.DriveReport, error) {
	spec, was := a.spec.Graph500, a.asked.Searched
	a.enter("generating")
	a.since = time.Now()
	generator, err := resolve.Generator(spec)
	if err != nil {
		return nil, err
	}
	if err := a.calibrate(ctx, a.group, &a.places, 0); err != nil {
		return nil, err
	}
	a.rank = graph500.NewRank(a.group, 0, graph500.Config{
		Generator: generator, Roots: int(spec.Roots), SSSP: spec.SSSP, Validate: !spec.NoValidate,
		Grid:  graph.Grid{Rows: int(a.asked.Rows), Columns: int(a.asked.Columns)},
		Owner: a.places.layout.Owner,
		Team:  a.threads, Progress: a.task.progress,
	})
	a.report = &graph500.Report{
		Restarts: was.GetRestarts(), BFS: benchmark.Searched(was.GetBfs()),
		SSSP: benchmark.Searched(was.GetSssp()),
	}
	err = a.report.Coordinate(ctx, a.rank, a.options.Registry.New("bfs"), a, a.tell)
	var broken *validate.Violation
	switch found := errors.As(err, &broken); {
	case found && a.leads():
		err = ofRun(err)
	case found: // the first worker reports it, with its results
		err = nil
	}
	if a.leads() {
		a.finds(a.figures(broken))
	}
	return &control.DriveReport{End: &control.RunEnd{Seconds: time.Since(a.since).Seconds()}}, err
}

// tell reports the current stage of the benchmark. If the stage adds results, it reports the
// figures too.
func (a *attempt) tell(stage string, done, total int, search *trace.Search) {
	a.enter(stage)
	built := stage == graph500.Constructing && done == total
	now := &control.BenchmarkStage{Stage: stage, Done: uint32(done), Total: uint32(total)}
	switch {
	case search != nil:
		now.Note = graph500.Note(stage, done, total, search)
		now.Search = control.NewSearch(search)
	case built:
		now.Note = fmt.Sprintf("generated in %.3g s, constructed in %.3g s", a.report.Generation,
			a.report.Construction)
	}
	load := time.Since(a.since).Seconds()
	if built {
		a.since = time.Now()
	}
	if !a.leads() {
		return
	}
	if built || search != nil && (search.Valid == nil || *search.Valid) {
		a.finds(a.figures(nil))
	}
	a.add(0, func(news *control.DriveReport) {
		if g := a.rank.Graph(); built {
			news.Loads = []*control.LoadReport{{
				Vertices: uint64(g.N), Edges: uint64(g.Tuples), Arcs: g.Arcs, Seconds: load,
			}}
		}
		news.Stages = append(news.Stages, now)
	})
	a.Flush()
}

// figures returns the results so far.
func (a *attempt) figures(v *validate.Violation) *control.Graph500Result {
	r := &control.Graph500Result{
		Generation: a.report.Generation, Construction: a.report.Construction,
		Roots: slices.Clone(a.report.Roots),
		Bfs:   kernelResult(a.report.BFS), Sssp: kernelResult(a.report.SSSP),
		Restarts: a.report.Restarts,
	}
	if v != nil {
		r.Violation = &control.Violation{Rule: uint32(v.Rule), Name: v.Name, Text: v.Text}
	}
	return r
}

// kernelResult returns nil for a kernel without searches.
func kernelResult(k graph500.Kernel) *control.KernelResult {
	if len(k.Time) == 0 {
		return nil
	}
	r := &control.KernelResult{
		Time: slices.Clone(k.Time), Translate: slices.Clone(k.Translate),
		Validate: slices.Clone(k.Validate),
	}
	for _, n := range k.Nedge {
		r.Nedge = append(r.Nedge, uint64(n))
	}
	return r
}

// Search runs a search on all workers. For another root it reuses the job.
func (a *attempt) Search(
	ctx context.Context, program *engine.Program, again bool, name string,
) (_ *engine.Job, seconds float64, err error) {
	if again {
		if err = program.Restart(a.job.program); err == nil {
			err = a.job.restart()
		}
		if err == nil {
			err = a.barrier(ctx)
		}
	} else {
		a.replace(nil)
		g := &localGraph{Graph: a.rank.Graph(), Refs: mem.NewRefs(func() {})}
		err = a.ready(ctx, &job{graph: g, of: program}, false)
	}
	if err != nil {
		return nil, 0, err
	}
	a.search, a.ran = name, 0
	err = a.drive(bsp.Outcome{})
	return a.job.program, a.ran, err
}

// netbench measures the network between the workers. The first worker has the report.
func (a *attempt) netbench(ctx context.Context) (*control.DriveReport, error) {
	began, link, names := time.Now(), a.group.Link(), a.places.names()
	if len(names) < 2 {
		return nil, ofRun(errors.New("found one worker, expected two or more: " +
			"start another with superstep worker --master ADDR"))
	}
	a.enter("netbench")
	if a.leads() {
		a.begins()
	}
	o := resolve.Netbench(a.spec.Netbench)
	if host, _, err := net.SplitHostPort(a.places.layout.Workers[link.Size()-1].Addr); err == nil {
		o.Raw = net.JoinHostPort(host, "0")
	}
	o.Progress = func(stage string, done, all int) {
		if a.leads() { // the other workers are at the same point
			a.task.progress(stage, int64(done), int64(all))
		}
	}
	report, err := netbench.Measure(ctx, link, sitesOf(a.places.labels), o)
	if raw := (*netbench.RawError)(nil); errors.As(err, &raw) {
		err = &fault{error: err, lost: names[raw.Rank]}
	}
	end := &control.DriveReport{End: &control.RunEnd{Seconds: time.Since(began).Seconds()}}
	if err != nil || !a.leads() {
		return end, err
	}
	report.Loopback = a.places.oneMachine()
	if report.Workers = names; report.Model.Sites != nil {
		report.Sites = a.places.labels
	}
	text, err := json.MarshalIndent(report, "", "  ")
	a.text = append(text, '\n')
	return end, err
}

// sitesOf numbers the sites of workers by their labels. It returns nil if all have the same label.
func sitesOf(labels []string) []int {
	var known []string
	sites := make([]int, len(labels))
	for i, label := range labels {
		if sites[i] = slices.Index(known, label); sites[i] < 0 {
			sites[i] = len(known)
			known = append(known, label)
		}
	}
	if len(known) < 2 {
		return nil
	}
	return sites
}
