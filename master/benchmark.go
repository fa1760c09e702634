package master

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
)

// Benchmark is a job of Graph500, as the engine leads it over the job's workers.
type Benchmark struct {
	r       *run
	kernel  string
	workers *team // that have prepared the kernel
}

// benchmark has the engine lead Graph500.
func (r *run) benchmark(ctx context.Context) error {
	return r.server.options.Engine.Benchmark(ctx, &Benchmark{r: r})
}

// Task returns the job.
func (b *Benchmark) Task() Task {
	j := b.r.job
	return Task{ID: b.r.id, Epoch: b.r.epoch, Spec: b.r.spec, Rows: j.rows, Columns: j.columns, Placements: j.placements}
}

// Step has every worker do a step and returns what they report.
func (b *Benchmark) Step(ctx context.Context, what string, step *control.BenchmarkStep) ([]*control.BenchmarkReport, error) {
	answers, err := b.r.all(ctx, what, &control.Command{Body: &control.Command_Benchmark{Benchmark: step}},
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

// Search searches from a root with a kernel, and returns the seconds it took; name is what records call it.
func (b *Benchmark) Search(ctx context.Context, kernel string, root *control.Vertex, name string) (float64, error) {
	reports, err := b.Step(ctx, name, &control.BenchmarkStep{Step: &control.BenchmarkStep_Search{Search: &control.Search{
		Kernel: kernel, Root: root, Options: b.r.spec.Options,
	}}})
	if err != nil {
		return 0, err
	}
	if b.kernel != kernel {
		task := b.Task()
		task.Spec, task.Vertices = proto.CloneOf(task.Spec), []*control.Vertex{root}
		task.Spec.Program = kernel
		prepared := make([]*control.PrepareReport, len(reports))
		for i, r := range reports {
			prepared[i] = &control.PrepareReport{Facts: r.Facts}
		}
		if b.workers, err = b.r.gatherTeam(task, prepared); err != nil {
			return 0, err
		}
		b.kernel = kernel
	}
	start := time.Now()
	err = b.workers.lead(ctx, name)
	return time.Since(start).Seconds(), err
}

// Running says that the graph is made, and the searches begin.
func (b *Benchmark) Running() { b.r.advance(control.JobState_JOB_STATE_RUNNING) }

// Set changes what is known of the job.
func (b *Benchmark) Set(f func(*control.Job)) { b.r.set(f) }

// Stage tells those who watch what is done now.
func (b *Benchmark) Stage(name string, done, total int, note string) {
	b.r.server.append(b.r.id, &control.JobEvent{Body: &control.JobEvent_Stage{Stage: &control.BenchmarkStage{
		Stage: name, Done: uint32(done), Total: uint32(total), Note: note,
	}}})
}
