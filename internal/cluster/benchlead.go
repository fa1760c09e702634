package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/graph500"
	"github.com/superstep-go/superstep/internal/graph500/validate"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
)

// workers are the ranks of a run of Graph500 on a cluster, led from the master: what has to do with all workers is timed here,
// what a worker does by itself it times itself, and the slowest counts.
type workers struct {
	*master.Benchmark
	task   master.Task
	report graph500.Report
	began  time.Time // the run, then the searches
}

// Benchmark leads Graph500.
func (*Engine) Benchmark(ctx context.Context, b *master.Benchmark) error {
	w := &workers{Benchmark: b, task: b.Task(), began: time.Now()}
	spec := w.task.Spec.Graph500
	err := w.report.Lead(ctx, w, spec.Sssp, spec.Validate, func(stage string, done, total int, note string) {
		if note != "" {
			w.publish(nil)
		}
		w.Stage(stage, done, total, note)
	})
	var broken *validate.Violation
	errors.As(err, &broken)
	w.publish(broken)
	w.Set(func(a *control.Job) {
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
func (w *workers) publish(broken *validate.Violation) {
	r := &control.Graph500Result{
		Generation: w.report.Generation, Construction: w.report.Construction, Roots: w.report.Roots,
		Bfs: kernelResult(w.report.BFS), Sssp: kernelResult(w.report.SSSP),
	}
	if broken != nil {
		r.Violation = &control.Violation{Rule: uint32(broken.Rule), Name: broken.Name, Text: broken.Text}
	}
	w.Set(func(a *control.Job) { a.Graph500 = proto.CloneOf(r) })
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

// slowest returns the most seconds of the workers.
func slowest(reports []*control.BenchmarkReport, seconds func(*control.BenchmarkReport) float64) float64 {
	most := 0.
	for _, r := range reports {
		most = max(most, seconds(r))
	}
	return most
}

func (w *workers) Generate(ctx context.Context) (float64, error) {
	w.Stage("generating", 0, 1, "")
	reports, err := w.Step(ctx, "generate", &control.BenchmarkStep{Step: &control.BenchmarkStep_Generate{Generate: &control.Generate{
		Spec: w.task.Spec.Graph500, Placements: w.task.Placements, Rows: w.task.Rows, Columns: w.task.Columns,
	}}})
	return slowest(reports, (*control.BenchmarkReport).GetSeconds), err
}

func (w *workers) Construct(ctx context.Context) (float64, []graph500.Root, error) {
	w.Stage("constructing", 0, 1, "")
	reports, err := w.Step(ctx, "construct", &control.BenchmarkStep{Step: &control.BenchmarkStep_Construct{Construct: &control.Construct{}}})
	if err != nil {
		return 0, nil, err
	}
	seconds, first := slowest(reports, (*control.BenchmarkReport).GetSeconds), reports[0]
	var roots []graph500.Root
	for _, v := range first.Roots {
		roots = append(roots, graph500.Root{Vertex: v.Label, ID: pregel.VertexID(v.Id)})
	}
	w.Set(func(a *control.Job) {
		a.Vertices, a.Edges, a.Arcs, a.LoadSeconds = first.Vertices, first.Edges, first.Arcs, time.Since(w.began).Seconds()
	})
	w.Stage("constructing", 1, 1, fmt.Sprintf("generated in %.3g s, constructed in %.3g s", w.report.Generation, seconds))
	w.Running()
	w.began = time.Now()
	return seconds, roots, nil
}

func (w *workers) Search(ctx context.Context, kernel string, root graph500.Root, name string) (float64, error) {
	return w.Benchmark.Search(ctx, kernel, &control.Vertex{Label: root.Vertex, Id: uint64(root.ID)}, name)
}

func (w *workers) Judge(ctx context.Context, root graph500.Root) (graph500.Judged, error) {
	reports, err := w.Step(ctx, "judging", &control.BenchmarkStep{Step: &control.BenchmarkStep_Judge{Judge: &control.Judge{Root: root.Vertex}}})
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
