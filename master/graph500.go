package master

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	layout "github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph500"
	"github.com/superstep-go/superstep/internal/graph500/validate"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/pregel"
)

func init() {
	register(kind{
		alone: true, again: true,
		asked: func(spec *jobspec.Spec) bool { return spec.Graph500 != nil },
		check: resolve.CheckGraph500, shape: layout.Squarest, coordinate: coordinateGraph500,
	})
}

// graph500Ranks are the workers as the ranks of a run of Graph500. What takes all workers is timed here; what a worker does by
// itself it times itself, and the slowest counts.
type graph500Ranks struct {
	*run
	report graph500.Report
	began  time.Time // the run, then the searches
	kernel string    // that the workers have prepared
	facts  [][]byte  // of its searches
}

// coordinateGraph500 runs the benchmark with the workers as its ranks.
func coordinateGraph500(ctx context.Context, r *run) error {
	w := &graph500Ranks{run: r, began: time.Now()}
	if was := r.job.searched; was != nil { // by an attempt before
		why := "the master was started anew"
		if n := len(r.job.losses); n > 0 {
			why = r.job.losses[n-1]
		}
		w.report.Generation, w.report.Construction, w.report.Roots = was.Generation, was.Construction, was.Roots
		w.report.BFS, w.report.SSSP = resolve.Searched(was.Bfs), resolve.Searched(was.Sssp)
		w.report.Restarts = append(slices.Clone(was.Restarts), fmt.Sprintf(
			"%s; the graph was made again after %d BFS and %d SSSP searches", why, len(was.Bfs.GetTime()), len(was.Sssp.GetTime())))
		w.publish(nil)
	}
	err := w.report.Coordinate(ctx, w, r.spec.Graph500.SSSP, !r.spec.Graph500.NoValidate, func(stage string, done, total int, note string) {
		if note != "" {
			w.publish(nil)
		}
		w.stage(stage, done, total, note)
	})
	var broken *validate.Violation
	errors.As(err, &broken)
	w.publish(broken)
	w.set(func(a *control.Job) {
		seconds := time.Since(w.began).Seconds()
		if a.LoadSeconds == 0 {
			a.LoadSeconds = seconds
		} else {
			a.RunSeconds = seconds
		}
	})
	return err
}

// publish shows what is known so far to those who ask for the job.
func (w *graph500Ranks) publish(broken *validate.Violation) {
	r := &control.Graph500Result{
		Generation: w.report.Generation, Construction: w.report.Construction, Roots: w.report.Roots,
		Bfs: kernelResult(w.report.BFS), Sssp: kernelResult(w.report.SSSP), Restarts: w.report.Restarts,
	}
	if broken != nil {
		r.Violation = &control.Violation{Rule: uint32(broken.Rule), Name: broken.Name, Text: broken.Text}
	}
	w.set(func(a *control.Job) { a.Graph500 = proto.CloneOf(r) })
}

// kernelResult is nil for a kernel that has not searched.
func kernelResult(k graph500.Kernel) *control.KernelResult {
	if len(k.Time) == 0 {
		return nil
	}
	r := &control.KernelResult{Time: k.Time, Translate: k.Translate, Validate: k.Validate}
	for _, n := range k.Nedge {
		r.Nedge = append(r.Nedge, uint64(n))
	}
	return r
}

// stage shows those who watch the job what is being done.
func (w *graph500Ranks) stage(name string, done, total int, note string) {
	w.server.append(w.id, &control.JobEvent{Body: &control.JobEvent_Stage{Stage: &control.BenchmarkStage{
		Stage: name, Done: uint32(done), Total: uint32(total), Note: note,
	}}})
}

// step has every worker do a step and returns what they report.
func (w *graph500Ranks) step(ctx context.Context, what string, step *control.BenchmarkStep) ([]*control.BenchmarkReport, error) {
	answers, err := w.all(ctx, what, &control.Command{Body: &control.Command_Benchmark{Benchmark: step}},
		func(report *control.Report) bool { return report.GetBenchmark() != nil })
	if err != nil {
		return nil, err
	}
	reports := make([]*control.BenchmarkReport, len(answers))
	for i, a := range answers {
		reports[i] = a.GetBenchmark()
	}
	return reports, nil
}

// slowest returns the most seconds of the workers.
func slowest(reports []*control.BenchmarkReport, seconds func(*control.BenchmarkReport) float64) float64 {
	most := 0.
	for _, r := range reports {
		most = max(most, seconds(r))
	}
	return most
}

func (w *graph500Ranks) Generate(ctx context.Context) (float64, error) {
	w.stage("generating", 0, 1, "")
	reports, err := w.step(ctx, "generate", &control.BenchmarkStep{Step: &control.BenchmarkStep_Generate{Generate: &control.Generate{
		SpecJson: jobspec.Text(w.spec.Graph500), Placements: w.job.placements, Rows: w.job.rows, Columns: w.job.columns,
	}}})
	return slowest(reports, (*control.BenchmarkReport).GetSeconds), err
}

func (w *graph500Ranks) Construct(ctx context.Context) (float64, []graph500.Root, error) {
	w.stage("constructing", 0, 1, "")
	reports, err := w.step(ctx, "construct", &control.BenchmarkStep{Step: &control.BenchmarkStep_Construct{Construct: &control.Construct{}}})
	if err != nil {
		return 0, nil, err
	}
	seconds, first := slowest(reports, (*control.BenchmarkReport).GetSeconds), reports[0]
	var roots []graph500.Root
	for _, v := range first.Roots {
		roots = append(roots, graph500.Root{Vertex: v.Label, ID: pregel.VertexID(v.Id)})
	}
	w.set(func(a *control.Job) {
		a.Vertices, a.Edges, a.Arcs, a.LoadSeconds = first.Vertices, first.Edges, first.Arcs, time.Since(w.began).Seconds()
	})
	w.stage("constructing", 1, 1, fmt.Sprintf("generated in %.3g s, constructed in %.3g s", w.report.Generation, seconds))
	w.advance(control.JobState_JOB_STATE_RUNNING)
	w.began = time.Now()
	return seconds, roots, nil
}

func (w *graph500Ranks) Search(ctx context.Context, kernel string, root graph500.Root, name string) (float64, error) {
	reports, err := w.step(ctx, name, &control.BenchmarkStep{Step: &control.BenchmarkStep_Search{Search: &control.Search{
		Kernel: kernel, Root: &control.Vertex{Label: root.Vertex, Id: uint64(root.ID)}, OptionsJson: jobspec.Text(w.spec.Options),
	}}})
	if err != nil {
		return 0, err
	}
	if w.kernel != kernel {
		w.kernel, w.facts = kernel, nil
		for _, r := range reports {
			w.facts = append(w.facts, r.Facts)
		}
	}
	end, err := w.drive(ctx, w.facts, bsp.Outcome{}, name, false)
	return end.GetSeconds(), err
}

func (w *graph500Ranks) Judge(ctx context.Context, root graph500.Root) (graph500.Judged, error) {
	reports, err := w.step(ctx, "judging", &control.BenchmarkStep{Step: &control.BenchmarkStep_Judge{Judge: &control.Judge{Root: root.Vertex}}})
	if err != nil {
		return graph500.Judged{}, err
	}
	j := graph500.Judged{
		Translate: slowest(reports, (*control.BenchmarkReport).GetTranslateSeconds),
		Validate:  slowest(reports, (*control.BenchmarkReport).GetValidateSeconds), Nedge: int64(reports[0].Nedge),
	}
	if v := reports[0].Violation; v != nil {
		return j, &validate.Violation{Rule: int(v.Rule), Name: v.Name, Text: v.Text}
	}
	return j, nil
}
