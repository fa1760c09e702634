package master

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	layout "github.com/superstep-go/superstep/internal/graph"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/job/resolve/benchmark"
	"github.com/superstep-go/superstep/pregel"
)

// kind is a kind of job.
type kind struct {
	// check validates a job before it is queued, and completes its spec. grid is the grid of the
	// job or of its graph of the catalog, if known.
	check func(programs engine.Registry, spec *jobspec.Spec, grid layout.Grid) error
	// shape returns the grid for a number of partitions if the job does not request one.
	shape func(partitions int) layout.Grid
	// alone means that no other job may run at the same time.
	alone bool
	// again means that the job restarts after losing a worker.
	again bool
}

var (
	programKind  = kind{again: true, check: resolve.CheckThere, shape: layout.Of}
	graph500Kind = kind{alone: true, again: true, check: benchmark.Check, shape: layout.Squarest}
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

// work runs the job on the workers and stores its result. It continues an attempt of an earlier
// master.
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
		Numbered: r.spec.Numbered,
	})
}

// suits checks that a program accepts its graph of the catalog. Workers check this for a graph
// loaded for the job.
func (s *server) suits(spec *jobspec.Spec) error {
	s.mu.Lock()
	g := s.cluster.graphs[spec.Graph]
	if g == nil || g.report.Vertices == 0 {
		s.mu.Unlock()
		return nil
	}
	about := pregel.GraphInfo{
		NumVertices: g.report.Vertices, NumEdges: g.report.Arcs, Directed: g.report.Directed,
		Weighted: g.report.Weighted, Partitions: len(g.placements),
	}
	named := g.report.Named && spec.Values == ""
	s.mu.Unlock()
	p, err := s.options.Registry.Find(spec.Program)
	if err != nil {
		return err
	}
	parameters := resolve.AsIDs(p.Parameters, spec.Parameters, named)
	if err := engine.Check(p.Parameters, parameters); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	program, err := p.New(parameters, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return program.ValidateGraph(spec.Graph, about)
}

// searched adds the results of earlier attempts of a benchmark to the command, so that workers need
// not repeat these searches.
func (r *run) searched(c *control.Run) {
	if was := cmp.Or(r.job.figures.Graph500, &control.Graph500Result{}); r.epoch > 1 {
		why := "the master restarted"
		if n := len(r.job.losses); n > 0 {
			why = r.job.losses[n-1]
		}
		if broken := was.Violation; broken != nil { // all searches are repeated
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
