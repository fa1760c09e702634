package master

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	layout "github.com/superstep-go/superstep/internal/graph"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/pregel"
)

// kind is a kind of job.
type kind struct {
	// check refuses a job that cannot be run, before it is queued, and completes its spec. grid is
	// the job's or that of its graph of the catalog, if either is known.
	check func(programs engine.Registry, spec *jobspec.Spec, grid layout.Grid) error
	// shape makes the grid of a job that asks for none, of so many partitions.
	shape func(partitions int) layout.Grid
	// alone says that no other job runs beside it.
	alone bool
	// again says that a job which loses a worker begins again.
	again bool
}

var (
	programKind  = kind{again: true, check: resolve.CheckProgram, shape: layout.Of}
	graph500Kind = kind{
		alone: true, again: true, check: resolve.CheckGraph500, shape: layout.Squarest,
	}
	netbenchKind = kind{alone: true, check: resolve.CheckNetbench, shape: layout.Of}
)

func kindOf(spec *jobspec.Spec) *kind {
	switch {
	case spec.Graph500 != nil:
		return &graph500Kind
	case spec.Netbench != nil:
		return &netbenchKind
	}
	return &programKind
}

// work has the workers do the job, and collects its result. What an earlier master has begun it
// takes up where the workers are.
func (r *run) work(ctx context.Context) (err error) {
	if r.job.takenUp {
		err = r.takeUp(ctx)
	} else {
		c := &control.Run{}
		if r.spec.Graph500 != nil {
			r.searched(c)
		}
		if err = r.keeping(ctx, c); err == nil {
			err = r.together(ctx, c)
		}
	}
	if err != nil || !r.spec.KeepResult && r.spec.Netbench == nil {
		return err
	}
	r.advance(control.JobState_JOB_STATE_WRITING)
	began := time.Now()
	defer func() { r.set(func(a *control.Job) { a.WriteSeconds = time.Since(began).Seconds() }) }()
	return r.storeResult(ctx, &control.Values{
		Sorted: !r.spec.Unsorted, Raw: r.spec.Values != "", Report: r.spec.Netbench != nil,
	})
}

// suits refuses a program that does not want its graph, if that is of the catalog; one that is
// loaded for the job its workers know.
func (s *server) suits(spec *jobspec.Spec) error {
	s.mu.Lock()
	g := s.cluster.graphs[spec.Graph]
	if g == nil || g.report.Vertices == 0 {
		s.mu.Unlock()
		return nil
	}
	about := pregel.GraphInfo{
		NumVertices: g.report.Vertices, NumEdges: g.report.Arcs, Directed: g.report.Directed,
		Weighted:   g.report.Weighted,
		Partitions: len(g.placements),
	}
	named := g.report.Named && spec.Values == ""
	s.mu.Unlock()
	p, err := s.options.Registry.Find(spec.Program)
	if err != nil {
		return err
	}
	parameters := spec.Parameters
	if named {
		parameters = resolve.AsNames(p.Parameters, parameters)
	}
	if err := engine.Check(p.Parameters, parameters); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	program, err := p.New(parameters, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return program.ValidateGraph(spec.Graph, about)
}

// searched says what attempts before this one have of the benchmark, which its workers need not
// search again.
func (r *run) searched(c *control.Run) {
	if was := r.job.searched; was != nil {
		why := "the master was started anew"
		if n := len(r.job.losses); n > 0 {
			why = r.job.losses[n-1]
		}
		if broken := was.Violation; broken != nil { // all is searched again
			why = "a search was not valid: " + broken.Text + "; " + why
			was = &control.Graph500Result{Restarts: was.Restarts}
		}
		c.Searched = proto.CloneOf(was)
		c.Searched.Restarts = append(c.Searched.Restarts, fmt.Sprintf(
			"%s; the graph was made again after %d BFS and %d SSSP searches", why,
			len(was.Bfs.GetTime()), len(was.Sssp.GetTime())))
		r.set(func(a *control.Job) { a.Graph500 = c.Searched })
	}
	r.server.append(r.id, &control.JobEvent{Body: &control.JobEvent_Stage{
		Stage: &control.BenchmarkStage{Stage: "generating", Total: 1},
	}})
}
