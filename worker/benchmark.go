package worker

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph500"
	"github.com/superstep-go/superstep/internal/graph500/validate"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/netbench"
	"github.com/superstep-go/superstep/internal/trace"
)

// graph500 is a rank of a run of the benchmark. Its searches are runs of jobs, which have sessions
// of their own.
func (p *part) graph500(ctx context.Context) (*control.DriveReport, error) {
	spec, was := p.spec.Graph500, p.asked.Searched
	p.enter("generating")
	p.began = time.Now()
	generator, err := resolve.Generator(spec)
	if err != nil {
		return nil, err
	}
	if err := p.calibrate(ctx, p.group, &p.places, 0); err != nil {
		return nil, err
	}
	a := p.attempt
	a.threads = p.threads()
	a.rank = graph500.NewRank(p.group, 0, graph500.Config{
		Generator: generator, Roots: int(spec.Roots), SSSP: spec.SSSP, Validate: !spec.NoValidate,
		Grid:  graph.Grid{Rows: int(p.asked.Rows), Columns: int(p.asked.Columns)},
		Owner: p.places.layout.Owner,
		Team:  a.threads, Progress: p.task.progress,
	})
	p.report = &graph500.Report{
		Restarts: was.GetRestarts(), BFS: resolve.Searched(was.GetBfs()),
		SSSP: resolve.Searched(was.GetSssp()),
	}
	err = p.report.Coordinate(ctx, ranks{p}, spec.SSSP, !spec.NoValidate, p.tell)
	var broken *validate.Violation
	switch found := errors.As(err, &broken); {
	case found && p.leads():
		err = &runError{err}
	case found: // the first says so, after what it has found
		err = nil
	}
	if p.leads() {
		p.add(0, func(news *control.DriveReport) { news.Graph500 = p.found(broken) })
	}
	return &control.DriveReport{End: &control.RunEnd{Seconds: time.Since(p.began).Seconds()}}, err
}

// tell tells those who watch the job what is being done, and what is known then to those who ask
// for it.
func (p *part) tell(stage string, done, total int, search *trace.Search) {
	now := &control.BenchmarkStage{Stage: stage, Done: uint32(done), Total: uint32(total)}
	if search != nil {
		now.Note = graph500.Note(stage, done, total, search)
		now.Search = control.NewSearch(search)
	}
	p.stands(now)
}

// stands says where the run is.
func (p *part) stands(now *control.BenchmarkStage) {
	p.enter(now.Stage)
	if !p.leads() {
		return
	}
	p.add(0, func(news *control.DriveReport) {
		if s := now.Search; now.Note != "" && (s == nil || s.Valid == nil || *s.Valid) {
			news.Graph500 = p.found(nil)
		}
		news.Stages = append(news.Stages, now)
	})
	p.Flush()
}

// found is what is known so far.
func (p *part) found(broken *validate.Violation) *control.Graph500Result {
	r := &control.Graph500Result{
		Generation: p.report.Generation, Construction: p.report.Construction,
		Roots: slices.Clone(p.report.Roots),
		Bfs:   kernelResult(p.report.BFS), Sssp: kernelResult(p.report.SSSP),
		Restarts: p.report.Restarts,
	}
	if broken != nil {
		r.Violation = &control.Violation{Rule: uint32(broken.Rule), Name: broken.Name, Text: broken.Text}
	}
	return r
}

// kernelResult is nil for a kernel that has not searched.
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

// ranks are all ranks of the run, as each of them sees them. The first has the times of searches.
type ranks struct{ *part }

// Generate makes the tuples.
func (p ranks) Generate(ctx context.Context) (float64, error) {
	seconds, err := p.attempt.rank.Generate(ctx)
	if err == nil {
		err = p.slowest(ctx, &seconds)
	}
	return seconds, err
}

// Construct is kernel 1.
func (p ranks) Construct(ctx context.Context) (float64, []graph500.Root, error) {
	p.tell("constructing", 0, 1, nil)
	seconds, roots, err := p.attempt.rank.Construct(ctx)
	if err == nil {
		err = p.slowest(ctx, &seconds)
	}
	if err != nil {
		return 0, nil, err
	}
	if g := p.attempt.rank.Graph(); p.leads() {
		p.add(0, func(news *control.DriveReport) {
			news.Loads = []*control.LoadReport{{
				Vertices: uint64(g.N), Edges: uint64(g.Tuples), Arcs: g.Arcs,
				Seconds: time.Since(p.began).Seconds(),
			}}
		})
	}
	p.began = time.Now()
	p.stands(&control.BenchmarkStage{
		Stage: "constructing", Done: 1, Total: 1,
		Note: fmt.Sprintf("generated in %.3g s, constructed in %.3g s", p.report.Generation,
			seconds),
	})
	return seconds, roots, nil
}

// Search searches with a new job, if the one before was of another kernel, else with that.
func (p ranks) Search(ctx context.Context, kernel string, root graph500.Root, name string) (float64, error) {
	program, err := graph500.Program(kernel, p.options.Registry.New("bfs"), root.ID)
	if err != nil {
		return 0, err
	}
	if p.kernel == kernel {
		if err := program.Restart(p.job.program); err != nil {
			return 0, err
		}
		if err := p.job.restart(); err != nil {
			return 0, err
		}
		if err := p.barrier(ctx); err != nil {
			return 0, err
		}
	} else {
		p.attempt.replace(nil)
		g := &localGraph{Graph: p.attempt.rank.Graph(), Refs: mem.NewRefs(func() {})}
		if err := p.ready(ctx, &job{graph: g, of: program}, false); err != nil {
			return 0, err
		}
		p.kernel = kernel
	}
	p.attempt.search, p.ran = name, 0
	err = p.drive(bsp.Outcome{})
	p.enter(p.step) // what follows is bounded again
	return p.ran, err
}

// Judge judges what the search before has found.
func (p ranks) Judge(ctx context.Context, root graph500.Root) (graph500.Judged, error) {
	found, err := graph500.FoundBy(p.job.program)
	if err != nil {
		return graph500.Judged{}, err
	}
	j, err := p.attempt.rank.Judge(ctx, root.Vertex, found)
	if err == nil || errors.As(err, new(*validate.Violation)) { // which all have
		err = cmp.Or(p.slowest(ctx, &j.Translate, &j.Validate), err)
	}
	return j, err
}

// slowest puts the most of all ranks in place of this one's seconds.
func (p ranks) slowest(ctx context.Context, seconds ...*float64) error {
	bits := make([]uint64, len(seconds)) // those of larger numbers are larger
	for i, x := range seconds {
		bits[i] = math.Float64bits(*x)
	}
	bits, err := collective.Combine(ctx, p.group, collective.Call{Tag: tagFacts, Bytes: 8},
		collective.MaxUint64, bits...)
	for i, x := range seconds {
		*x = math.Float64frombits(bits[i])
	}
	return err
}

// netbench measures the network between the workers. The first keeps the report.
func (p *part) netbench(ctx context.Context) (*control.DriveReport, error) {
	began, link, names := time.Now(), p.group.Link(), p.places.names()
	if len(names) < 2 {
		return nil, &runError{errors.New("one worker has nobody to measure with: start another with superstep worker --master ADDR")}
	}
	p.enter("netbench")
	if p.leads() {
		p.begins()
	}
	o := resolve.Netbench(p.spec.Netbench)
	if host, _, err := net.SplitHostPort(p.places.layout.Workers[link.Size()-1].Addr); err == nil {
		o.Raw = net.JoinHostPort(host, "0")
	}
	report, err := netbench.Measure(ctx, link, sitesOf(p.places.labels), o,
		func(name string, done, all int) {
			if p.leads() { // the others are as far
				p.task.progress(name, int64(done), int64(all))
			}
		})
	if raw := (*netbench.RawError)(nil); errors.As(err, &raw) {
		err = &lostError{names[raw.Rank], err}
	}
	end := &control.DriveReport{End: &control.RunEnd{Seconds: time.Since(began).Seconds()}}
	if err != nil || !p.leads() {
		return end, err
	}
	if report.Workers = names; report.Model.Sites != nil {
		report.Sites = p.places.labels
	}
	var text bytes.Buffer
	err = report.JSON(&text)
	p.attempt.text = text.Bytes()
	return end, err
}

// sitesOf numbers the sites of workers, by their labels; nil when all have the same.
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
