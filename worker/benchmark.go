package worker

import (
	"context"
	"errors"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph500"
	"github.com/superstep-go/superstep/internal/graph500/validate"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/transport/mesh"
	"github.com/superstep-go/superstep/pregel"
)

// benchmark is a worker's part in an attempt at Graph500: its rank in the run. Its searches are runs of jobs, which have sessions of
// their own.
type benchmark struct {
	placements []*control.Placement
	threads    *parallel.Team
	places     places
	session    *mesh.Session
	group      *collective.Group
	rank       *graph500.Rank
	kernel     string // of the job that there is
}

func (b *benchmark) free() {
	if b.session != nil {
		b.session.Close()
	}
	if b.rank != nil {
		b.rank.Close()
	}
	b.threads.Close()
}

// benchmark does a step of Graph500.
func (x *executor) benchmark(ctx context.Context, t task, s *control.BenchmarkStep) (r *control.BenchmarkReport, err error) {
	defer mem.Recover(&err)
	if g := s.GetGenerate(); g != nil {
		return x.generate(ctx, t, g)
	}
	a, err := x.find(t)
	if err != nil {
		return nil, err
	}
	defer a.Release()
	b := a.benchmark
	if b == nil {
		return nil, x.unprepared(t)
	}
	b.rank.Progress = t.progress
	switch step := s.Step.(type) {
	case *control.BenchmarkStep_Construct:
		if err = x.calibrate(ctx, b.group, &b.places, 0); err == nil {
			r, err = b.construct(ctx)
		}
	case *control.BenchmarkStep_Search:
		r, err = x.search(ctx, t, a, step.Search)
	case *control.BenchmarkStep_Judge:
		r, err = x.judge(ctx, t, b, step.Judge)
	default:
		err = errors.New("a step of Graph500 that this version does not know")
	}
	if broken := b.session.Err(); err != nil && lostPeer(x.options.Name, broken) != "" {
		err = broken // whatever others made of it
	}
	return r, err
}

func (x *executor) generate(ctx context.Context, t task, g *control.Generate) (*control.BenchmarkReport, error) {
	spec, err := jobspec.Read[jobspec.Graph500](g.SpecJson)
	if err != nil {
		return nil, err
	}
	generator, err := resolve.Generator(spec)
	if err != nil {
		return nil, err
	}
	a, err := x.attempt(ctx, t, false)
	if err != nil {
		return nil, err
	}
	defer a.Release()
	a.benchmark = &benchmark{placements: g.Placements, threads: x.threads()}
	if err := x.take(ctx, t, a.benchmark, generator, spec, g); err != nil {
		return nil, err
	}
	seconds, err := a.benchmark.rank.Generate(ctx)
	return &control.BenchmarkReport{Seconds: seconds}, err
}

// take takes part in a run, with the other workers.
func (x *executor) take(
	ctx context.Context, t task, b *benchmark, generator generate.Kronecker, spec *jobspec.Graph500, g *control.Generate,
) (err error) {
	b.places = placesOf(b.placements)
	if b.session, err = x.connect(ctx, t.job+" together", t.epoch, b.places.layout, nil); err != nil {
		return err
	}
	if b.group, err = b.places.group(b.session.Link()); err != nil {
		return err
	}
	b.rank = graph500.NewRank(b.group, 0, graph500.Config{
		Generator: generator, Roots: int(spec.Roots), SSSP: spec.SSSP, Validate: !spec.NoValidate,
		Grid: graph.Grid{Rows: int(g.Rows), Columns: int(g.Columns)}, Owner: b.places.layout.Owner,
		Team: b.threads, Progress: t.progress,
	})
	return nil
}

func (b *benchmark) construct(ctx context.Context) (*control.BenchmarkReport, error) {
	seconds, roots, err := b.rank.Construct(ctx)
	if err != nil {
		return nil, err
	}
	g := b.rank.Graph()
	r := &control.BenchmarkReport{Seconds: seconds, Vertices: uint64(g.N), Edges: uint64(g.Tuples), Arcs: g.Arcs}
	for _, root := range roots {
		r.Roots = append(r.Roots, &control.Vertex{Label: root.Vertex, Id: uint64(root.ID)})
	}
	return r, nil
}

// search makes ready to search from a root: with a new job, if the one before was of another kernel, else with that.
func (x *executor) search(ctx context.Context, t task, a *attempt, s *control.Search) (*control.BenchmarkReport, error) {
	b := a.benchmark
	program, err := graph500.Program(s.Kernel, x.options.Registry.New("bfs"), pregel.VertexID(s.GetRoot().GetId()))
	if err != nil {
		return nil, err
	}
	if b.kernel == s.Kernel {
		j, err := x.job(t)
		if err != nil {
			return nil, err
		}
		defer j.Release()
		if err := program.Restart(j.program); err != nil {
			return nil, err
		}
		return &control.BenchmarkReport{}, j.restart()
	}
	a.replace(nil)
	asked, err := jobspec.Read[jobspec.Options](s.OptionsJson)
	if err != nil {
		return nil, err
	}
	o, err := resolve.Options(*asked)
	if err != nil {
		return nil, err
	}
	g := &localGraph{Graph: b.rank.Graph(), Refs: a.Refs}
	j := &job{attempt: a, graph: g, of: program, options: o, trace: asked.Trace, placements: b.placements}
	facts, err := x.begin(ctx, t, j, t.job+" "+s.Kernel)
	if err != nil {
		return nil, err
	}
	b.kernel = s.Kernel
	return &control.BenchmarkReport{Facts: facts}, nil
}

// judge judges what the search found that ended last.
func (x *executor) judge(ctx context.Context, t task, b *benchmark, s *control.Judge) (*control.BenchmarkReport, error) {
	j, err := x.job(t)
	if err != nil {
		return nil, err
	}
	defer j.Release()
	found, err := graph500.FoundBy(j.program)
	if err != nil {
		return nil, err
	}
	judged, err := b.rank.Judge(ctx, s.Root, found)
	r := &control.BenchmarkReport{TranslateSeconds: judged.Translate, ValidateSeconds: judged.Validate, Nedge: uint64(judged.Nedge)}
	var broken *validate.Violation
	if errors.As(err, &broken) {
		r.Violation = &control.Violation{Rule: uint32(broken.Rule), Name: broken.Name, Text: broken.Text}
		err = nil
	}
	return r, err
}
