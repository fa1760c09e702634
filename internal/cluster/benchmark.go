package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph500"
	"github.com/superstep-go/superstep/internal/graph500/validate"
	"github.com/superstep-go/superstep/internal/jobspec"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/transport/mesh"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/worker"
)

// benchmark is a worker's part in an attempt at Graph500: its share of the run, by which workers meet in collectives. Its
// searches are jobs, which have sessions of their own. It counts the commands and jobs that use it.
type benchmark struct {
	*mem.Refs
	epoch      uint32
	placements []*control.Placement
	team       *parallel.Team
	session    *mesh.Session
	share      *graph500.Share
	kernel     string // of the job that there is
}

func (b *benchmark) free() {
	if b.session != nil {
		b.session.Close()
	}
	if b.share != nil {
		b.share.Close()
	}
	b.team.Close()
}

// Benchmark does a step of Graph500.
func (x *Executor) Benchmark(ctx context.Context, t worker.Task, s *control.BenchmarkStep) (r *control.BenchmarkReport, err error) {
	defer mem.Recover(&err)
	if g := s.GetGenerate(); g != nil {
		return x.generate(ctx, t, g)
	}
	x.mu.Lock()
	b := x.benchmarks[t.Job]
	found := b != nil && b.epoch == t.Epoch && b.Acquire()
	x.mu.Unlock()
	if !found {
		return nil, fmt.Errorf("worker %s has no part in attempt %d of job %s", x.options.Name, t.Epoch, t.Job)
	}
	defer b.Release()
	b.share.Progress = t.Progress
	switch step := s.Step.(type) {
	case *control.BenchmarkStep_Construct:
		r, err = b.construct(ctx)
	case *control.BenchmarkStep_Search:
		r, err = x.search(ctx, t, b, step.Search)
	case *control.BenchmarkStep_Judge:
		r, err = x.judge(ctx, t, b, step.Judge)
	default:
		err = errors.New("a step of Graph500 that this version does not know")
	}
	return r, lost(x.options.Name, err)
}

func (x *Executor) generate(ctx context.Context, t worker.Task, g *control.Generate) (*control.BenchmarkReport, error) {
	if err := x.Drop(ctx, t, ""); err != nil { // of an attempt before
		return nil, err
	}
	generator, err := jobspec.Generator(g.Spec)
	if err != nil {
		return nil, err
	}
	b := &benchmark{epoch: t.Epoch, placements: g.Placements, team: x.team()}
	b.Refs = mem.NewRefs(b.free)
	if err := x.take(ctx, t, b, generator, g); err != nil {
		b.Close()
		return nil, lost(x.options.Name, err)
	}
	seconds, err := b.share.Generate(ctx)
	if err != nil {
		b.Close()
		return nil, err
	}
	return &control.BenchmarkReport{Seconds: seconds}, put(ctx, x, x.benchmarks, t.Job, b)
}

// take takes part in a run, with the other workers.
func (x *Executor) take(ctx context.Context, t worker.Task, b *benchmark, generator generate.Kronecker, g *control.Generate) (err error) {
	if b.session, err = x.meet(ctx, t.Job+" together", t.Epoch, b.placements, nil); err != nil {
		return err
	}
	group, err := collective.NewGroup(b.session.Link(), nil, nil)
	if err != nil {
		return err
	}
	b.share = graph500.NewShare(group, 0, graph500.Config{
		Generator: generator, Roots: int(g.Spec.GetRoots()), SSSP: g.Spec.GetSssp(), Validate: g.Spec.GetValidate(),
		Grid: graph.Grid{Rows: int(g.Rows), Columns: int(g.Columns)}, Owner: layoutOf(b.placements).Owner,
		Team: b.team, Progress: t.Progress,
	})
	return nil
}

func (b *benchmark) construct(ctx context.Context) (*control.BenchmarkReport, error) {
	seconds, roots, err := b.share.Construct(ctx)
	if err != nil {
		return nil, err
	}
	g := b.share.Graph()
	r := &control.BenchmarkReport{Seconds: seconds, Vertices: uint64(g.N), Edges: uint64(g.Tuples), Arcs: g.Arcs}
	for _, root := range roots {
		r.Roots = append(r.Roots, &control.Vertex{Label: root.Vertex, Id: uint64(root.ID)})
	}
	return r, nil
}

// search makes ready to search from a root: with a new job, if the one before was of another kernel, else with that.
func (x *Executor) search(ctx context.Context, t worker.Task, b *benchmark, s *control.Search) (*control.BenchmarkReport, error) {
	program, err := graph500.Program(s.Kernel, x.options.Programs.New("bfs"), pregel.VertexID(s.GetRoot().GetId()))
	if err != nil {
		return nil, err
	}
	if b.kernel == s.Kernel {
		j, err := x.job(t)
		if err != nil {
			return nil, err
		}
		defer j.Release()
		if err := program.Restart(j.share); err != nil {
			return nil, err
		}
		return &control.BenchmarkReport{}, j.again()
	}
	x.mu.Lock()
	old := x.jobs[t.Job]
	delete(x.jobs, t.Job)
	x.mu.Unlock()
	if old != nil {
		old.Close()
	}
	j, err := x.begin(ctx, t, t.Job+" "+s.Kernel, program, s.Options, b.placements, &loaded{share: &share{Graph: b.share.Graph()}, Refs: b.Refs})
	if err != nil {
		return nil, err
	}
	b.kernel = s.Kernel
	facts, err := j.facts()
	if err != nil {
		j.Close()
		return nil, err
	}
	return &control.BenchmarkReport{Facts: facts}, put(ctx, x, x.jobs, t.Job, j)
}

// judge judges what the search found that ended last.
func (x *Executor) judge(ctx context.Context, t worker.Task, b *benchmark, s *control.Judge) (*control.BenchmarkReport, error) {
	j, err := x.job(t)
	if err != nil {
		return nil, err
	}
	defer j.Release()
	found, err := graph500.FoundBy(j.share)
	if err != nil {
		return nil, err
	}
	judged, err := b.share.Judge(ctx, s.Root, found)
	r := &control.BenchmarkReport{TranslateSeconds: judged.Translate, ValidateSeconds: judged.Validate, Nedge: uint64(judged.Nedge)}
	var broken *validate.Violation
	if errors.As(err, &broken) {
		r.Violation = &control.Violation{Rule: uint32(broken.Rule), Name: broken.Name, Text: broken.Text}
		err = nil
	}
	return r, err
}
