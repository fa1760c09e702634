package master

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/graph500/validate"
)

// benchmark leads Graph500: generation, kernel 1, roots, and of each kernel the searches. The master times what has to do
// with all workers; what a worker does by itself it times itself, and the slowest counts.
//
//	generate, all -> construct, all together -> roots -> { search ready -> supersteps, timed -> judge } for each root
type benchmark struct {
	*run
	spec   *control.Graph500
	result *control.Graph500Result
	roots  []*control.Vertex
}

func (r *run) benchmark(ctx context.Context) error {
	b := &benchmark{run: r, spec: r.job.spec.Graph500, result: &control.Graph500Result{}}
	err := b.work(ctx)
	b.publish()
	return err
}

func (b *benchmark) work(ctx context.Context) error {
	if err := b.build(ctx); err != nil {
		return err
	}
	b.advance(control.JobState_JOB_STATE_RUNNING)
	began := time.Now()
	defer func() { b.set(func(a *control.Job) { a.RunSeconds = time.Since(began).Seconds() }) }()
	b.result.Bfs = &control.KernelResult{}
	if err := b.kernel(ctx, "bfs", "BFS", b.result.Bfs); err != nil {
		return err
	}
	if !b.spec.Sssp {
		return nil
	}
	b.result.Sssp = &control.KernelResult{}
	return b.kernel(ctx, "sssp", "SSSP", b.result.Sssp)
}

// publish shows what is known so far to those who ask for the job.
func (b *benchmark) publish() {
	result := proto.CloneOf(b.result)
	b.set(func(a *control.Job) { a.Graph500 = result })
}

// stage tells those who watch what is done now.
func (b *benchmark) stage(name string, done, total int, note string) {
	b.server.append(b.id, &control.JobEvent{Body: &control.JobEvent_Stage{Stage: &control.BenchmarkStage{
		Stage: name, Done: uint32(done), Total: uint32(total), Note: note,
	}}})
}

// step has every worker do a step and returns what they report.
func (b *benchmark) step(ctx context.Context, what string, step *control.BenchmarkStep) ([]*control.BenchmarkReport, error) {
	answers, err := b.run.all(ctx, what, &control.Command{Body: &control.Command_Benchmark{Benchmark: step}},
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

// build makes the tuples, the graph and the list of roots.
func (b *benchmark) build(ctx context.Context) error {
	began := time.Now()
	defer func() { b.set(func(a *control.Job) { a.LoadSeconds = time.Since(began).Seconds() }) }()
	b.stage("generating", 0, 1, "")
	reports, err := b.step(ctx, "generate", &control.BenchmarkStep{Step: &control.BenchmarkStep_Generate{
		Generate: &control.Generate{Spec: b.spec, Placements: b.job.placements, Rows: b.job.rows, Columns: b.job.columns},
	}})
	if err != nil {
		return err
	}
	b.result.Generation = slowest(reports, (*control.BenchmarkReport).GetSeconds)
	b.stage("constructing", 0, 1, "")
	reports, err = b.step(ctx, "construct", &control.BenchmarkStep{Step: &control.BenchmarkStep_Construct{Construct: &control.Construct{}}})
	if err != nil {
		return err
	}
	b.result.Construction = slowest(reports, (*control.BenchmarkReport).GetSeconds)
	b.set(func(a *control.Job) {
		a.Vertices, a.Edges, a.Arcs = reports[0].Vertices, reports[0].Edges, reports[0].Arcs
	})
	b.stage("constructing", 1, 1, fmt.Sprintf("generated in %.3g s, constructed in %.3g s", b.result.Generation, b.result.Construction))
	reports, err = b.step(ctx, "roots", &control.BenchmarkStep{Step: &control.BenchmarkStep_Roots{Roots: &control.FindRoots{}}})
	if err != nil {
		return err
	}
	b.roots = reports[0].Roots
	for i, r := range reports {
		if !slices.EqualFunc(r.Roots, b.roots, func(x, y *control.Vertex) bool { return proto.Equal(x, y) }) {
			return fmt.Errorf("roots: workers %s and %s found different ones", b.team[0].Worker, b.team[i].Worker)
		}
	}
	for _, v := range b.roots {
		b.result.Roots = append(b.result.Roots, v.Label)
	}
	if len(b.roots) == 0 {
		return errors.New("roots: the workers found none")
	}
	return nil
}

// kernel searches from every root. The first is searched once before, untimed, as a warm-up.
func (b *benchmark) kernel(ctx context.Context, name, title string, k *control.KernelResult) error {
	var t *team
	for i := -1; i < len(b.roots); i++ {
		root := b.roots[max(i, 0)]
		b.stage(title, max(i, 0), len(b.roots), "")
		reports, err := b.step(ctx, fmt.Sprintf("%s from root %d", title, root.Label), &control.BenchmarkStep{
			Step: &control.BenchmarkStep_Search{Search: &control.Search{Kernel: name, Root: root, Options: b.run.spec.Options}},
		})
		if err != nil {
			return err
		}
		search := fmt.Sprintf("%s root %d", name, root.Label)
		if i < 0 {
			search += " warm-up"
			if t, err = b.leader(name, root, reports); err != nil {
				return err
			}
		}
		start := time.Now()
		if err := t.lead(ctx, search); err != nil {
			return err
		}
		seconds := time.Since(start).Seconds()
		if i < 0 {
			continue
		}
		if err := b.judge(ctx, title, root, seconds, k); err != nil {
			return err
		}
		nedge := k.Nedge[i]
		b.publish()
		b.stage(title, i+1, len(b.roots), fmt.Sprintf("%s %d/%d: %.4g ms, %.0f MTEPS", title, i+1, len(b.roots), seconds*1e3, float64(nedge)/seconds/1e6))
	}
	return nil
}

// leader makes the team of a kernel of what the workers tell of their partitions.
func (b *benchmark) leader(kernel string, root *control.Vertex, reports []*control.BenchmarkReport) (*team, error) {
	spec := proto.CloneOf(b.run.spec)
	spec.Program = kernel
	spec.Parameters = map[string]string{"source": fmt.Sprint(root.Label)}
	prepared := make([]*control.PrepareReport, len(reports))
	for i, r := range reports {
		prepared[i] = &control.PrepareReport{Facts: r.Facts}
	}
	return b.gatherTeam(Task{
		ID: b.id, Epoch: b.epoch, Spec: spec, Vertices: []*control.Vertex{root},
		Rows: b.job.rows, Columns: b.job.columns, Placements: b.job.placements,
	}, prepared)
}

// judge has what a search found judged, and books the search.
func (b *benchmark) judge(ctx context.Context, title string, root *control.Vertex, seconds float64, k *control.KernelResult) error {
	what := fmt.Sprintf("%s from root %d", title, root.Label)
	reports, err := b.step(ctx, "judging "+what, &control.BenchmarkStep{Step: &control.BenchmarkStep_Judge{Judge: &control.Judge{Root: root.Label}}})
	if err != nil {
		return err
	}
	k.Time = append(k.Time, seconds)
	k.Translate = append(k.Translate, slowest(reports, (*control.BenchmarkReport).GetTranslateSeconds))
	if b.spec.Validate {
		k.Validate = append(k.Validate, slowest(reports, (*control.BenchmarkReport).GetValidateSeconds))
	}
	k.Nedge = append(k.Nedge, reports[0].Nedge)
	for i, r := range reports {
		if v := r.Violation; v != nil {
			b.result.Violation = v
			return fmt.Errorf("%s: %w", what, &validate.Violation{Rule: int(v.Rule), Name: v.Name, Text: v.Text})
		}
		if r.Nedge != reports[0].Nedge {
			return fmt.Errorf("%s: worker %s counts %d edges, worker %s %d", what, b.team[0].Worker, reports[0].Nedge, b.team[i].Worker, r.Nedge)
		}
	}
	return nil
}
