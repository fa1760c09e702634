package graph500

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/graph500/validate"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

// Config says what to run.
type Config struct {
	Generator generate.Kronecker
	Roots     int
	SSSP      bool // kernel 3 too
	Validate  bool
	Grid      graph.Grid // of the partitions
	Team      *parallel.Team
	Engine    engine.Options
	// Spoil, if not nil, changes what a search found of the vertices from the given one on, 0 here, before it is judged, for
	// tests of the judging; dist is nil in BFS.
	Spoil func(first int, parent []uint32, dist []float32)
	// Progress is told what is being done and how much of it; Note adds a few words. Either may be nil.
	Progress func(stage string, done, total int64)
	Note     func(text string)
}

// run is a run of the benchmark.
type run struct {
	Config
	report    *Report
	in        *edges.Input
	g         *graph.Graph
	validator *validate.Validator
	arena     *mem.Arena
	parent    []uint32
	dist      []float32
	search    trace.Named // gives the records of --trace the kernel and its root as their job
}

// Run runs the benchmark: generation, untimed; kernel 1; then kernel 2, and if asked for kernel 3, from every root, each
// search timed and then judged. The report is complete also when the error is a *validate.Violation: a search was not valid.
func Run(ctx context.Context, c Config) (*Report, error) {
	if c.Progress == nil {
		c.Progress = func(string, int64, int64) {}
	}
	if c.Note == nil {
		c.Note = func(string) {}
	}
	r := &run{Config: c, arena: new(mem.Arena), report: &Report{
		Scale: c.Generator.Scale, EdgeFactor: c.Generator.EdgeFactor, Seeds: [2]uint64{c.Generator.Seed1, c.Generator.Seed2},
		Processes: 1, Threads: c.Team.Size(), Partitions: c.Grid.Partitions(), Rows: c.Grid.Rows, Columns: c.Grid.Columns,
	}}
	defer r.close()
	err := r.all(ctx)
	r.report.PeakRSS = mem.PeakRSS()
	var broken *validate.Violation
	if err == nil && c.Validate || errors.As(err, &broken) {
		valid := err == nil
		r.report.Valid = &valid
	}
	return r.report, err
}

// Check finds out before anything is generated that the kernels cannot run as they are to.
func (c *Config) Check(ctx context.Context) error {
	o := c.Engine
	o.Trace, o.Team = nil, c.Team
	bfs, err := engine.Erase(algorithms.BFS{})
	if err == nil {
		err = engine.Rehearse(ctx, bfs, o, c.Grid)
	}
	if err != nil || !c.SSSP {
		return err
	}
	sssp, err := engine.Erase(algorithms.SSSPTree[float32]{})
	if err == nil {
		err = engine.Rehearse(ctx, sssp, o, c.Grid)
	}
	return err
}

func (r *run) close() {
	if r.validator != nil {
		r.validator.Close()
	}
	if r.g != nil {
		r.g.Close()
	}
	if r.in != nil {
		r.in.Close()
	}
	r.arena.Close()
}

func (r *run) all(ctx context.Context) error {
	if err := r.generate(ctx); err != nil {
		return err
	}
	if err := r.construct(ctx); err != nil {
		return err
	}
	degrees := r.g.TupleDegrees
	r.report.Roots = r.Generator.Roots(r.Roots, func(v uint64) bool { return v < uint64(len(degrees)) && degrees[v] > 0 })
	if len(r.report.Roots) == 0 {
		return fmt.Errorf("%s: no vertex has an edge to another: there is nothing to search", r.in.Name)
	}
	n := r.g.N
	r.parent = mem.Make[uint32](r.arena, n)
	if r.Validate {
		var err error
		if r.validator, err = validate.New(ctx, collective.Alone(), 0, r.in.Edges, 0, n, r.Team); err != nil {
			return err
		}
	}
	if err := r.kernel2(ctx); err != nil {
		return err
	}
	if !r.SSSP {
		return nil
	}
	r.dist = mem.Make[float32](r.arena, n)
	return r.kernel3(ctx)
}

func (r *run) generate(ctx context.Context) (err error) {
	start := time.Now()
	r.in, err = generate.Input(ctx, r.Generator, generate.Options{
		Weights: r.build().Weights, Team: r.Team, Beside: graph.LeastBytes(r.Generator.Vertices(), r.Generator.Edges(), false, r.build()),
		Progress: func(done, total int64) { r.Progress("generating", done, total) },
	})
	r.report.Generation = time.Since(start).Seconds()
	return err
}

// construct is kernel 1. It is not told how many vertices there are.
func (r *run) construct(ctx context.Context) (err error) {
	in := *r.in
	in.Vertices, in.Free = 0, nil
	start := time.Now()
	r.g, err = build.Local(ctx, &in, r.build())
	r.report.Construction = time.Since(start).Seconds()
	return err
}

// build is how kernel 1 stores the graph.
func (r *run) build() graph.Options {
	o := graph.Options{
		Grid: r.Grid, Duplicates: graph.LeastDuplicate, DropLoops: true, TupleDegrees: true,
		Team: r.Team, Progress: r.Progress,
	}
	if r.SSSP {
		o.Weights = edges.Float32
	}
	return o
}

// kernel2 is breadth-first search as a vertex program.
func (r *run) kernel2(ctx context.Context) error {
	job, err := engine.NewJob(r.g, algorithms.BFS{}, r.options("bfs"))
	if err != nil {
		return err
	}
	defer job.Close()
	return r.searches(ctx, "BFS", &r.report.BFS, func(root pregel.VertexID) (search, error) {
		err := job.Restart(algorithms.BFS{Source: root})
		job.Prepare()
		return job, err
	}, func() {
		r.each(func(v int) { r.parent[v] = r.input(job.Value(pregel.VertexID(r.g.IDs[v]))) })
	}, func(root uint64) (validate.Result, error) {
		if r.validator == nil {
			return validate.Result{}, nil
		}
		return r.validator.BFS(ctx, root, r.parent)
	})
}

// kernel3 is single-source shortest paths as a vertex program, in single precision as the reference checks it.
func (r *run) kernel3(ctx context.Context) error {
	job, err := engine.NewJob(r.g, algorithms.SSSPTree[float32]{}, r.options("sssp"))
	if err != nil {
		return err
	}
	defer job.Close()
	return r.searches(ctx, "SSSP", &r.report.SSSP, func(root pregel.VertexID) (search, error) {
		err := job.Restart(algorithms.SSSPTree[float32]{Source: root})
		job.Prepare()
		return job, err
	}, func() {
		r.each(func(v int) {
			hop := job.Value(pregel.VertexID(r.g.IDs[v]))
			r.parent[v], r.dist[v] = r.input(hop.From), hop.Dist
			if math.IsInf(float64(hop.Dist), 1) {
				r.dist[v] = -1
			}
		})
	}, func(root uint64) (validate.Result, error) {
		if r.validator == nil {
			return validate.Result{}, nil
		}
		return r.validator.SSSP(ctx, root, r.parent, r.dist)
	})
}

func (r *run) options(job string) engine.Options {
	o := r.Engine
	o.Team, o.Job = r.Team, job
	if o.Trace != nil {
		r.search.To, r.search.About = o.Trace, r.about
		o.Trace = &r.search
	}
	return o
}

// about says in the trace what the searches are of.
func (r *run) about(j *trace.Job) { j.Graph, j.Grid = r.in.Name, r.report.Grid() }

// each calls f for every input vertex, in parallel.
func (r *run) each(f func(v int)) {
	r.Team.For(r.g.N, 1<<14, func(_, lo, hi int) {
		for v := lo; v < hi; v++ {
			f(v)
		}
	})
}

// input returns the input vertex of a handle.
func (r *run) input(id pregel.VertexID) uint32 {
	if id == pregel.None {
		return validate.Unreached
	}
	return r.g.Order[id]
}

// search is a job that is ready to run.
type search interface {
	Run(ctx context.Context) (*bsp.Outcome, error)
	Seconds() float64
}

// searches times a search from every root, translates what it found to the input's numbers, and judges that. The first
// root is searched once before, untimed, as a warm-up. Nothing goes from one search to another but the model's
// coefficients.
func (r *run) searches(ctx context.Context, name string, k *Kernel, prepare func(pregel.VertexID) (search, error), translate func(), judge func(root uint64) (validate.Result, error)) error {
	roots := r.report.Roots
	for i := -1; i < len(roots); i++ {
		root := roots[max(i, 0)]
		r.Progress(name, int64(max(i, 0)), int64(len(roots)))
		if r.search.Name = fmt.Sprintf("%s root %d", strings.ToLower(name), root); i < 0 {
			r.search.Name += trace.WarmUp
		}
		id, _ := r.g.Find(root)
		job, err := prepare(id)
		if err != nil {
			return err
		}
		if _, err := job.Run(ctx); err != nil {
			return err
		}
		seconds := job.Seconds()
		if i < 0 {
			continue
		}
		start := time.Now()
		translate()
		if r.Spoil != nil {
			r.Spoil(0, r.parent, r.dist)
		}
		k.Time = append(k.Time, seconds)
		k.Translate = append(k.Translate, time.Since(start).Seconds())
		start = time.Now()
		result, err := judge(root)
		if r.Validate {
			k.Validate = append(k.Validate, time.Since(start).Seconds())
		}
		nedge := r.nedge()
		k.Nedge = append(k.Nedge, nedge)
		if err != nil {
			return fmt.Errorf("%s from root %d: %w", name, root, err)
		}
		if r.Validate && result.Edges != nedge {
			return fmt.Errorf("%s from root %d: %w", name, root, wrongCount(nedge, result.Edges))
		}
		r.Note(fmt.Sprintf("%s %d/%d: %.4g ms, %.0f MTEPS", name, i+1, len(roots), seconds*1e3, float64(nedge)/seconds/1e6))
	}
	return nil
}

// nedge counts the tuples in the tree of r.parent: each touches two of its vertices.
func (r *run) nedge() int64 {
	sums := make([]int64, r.Team.Size())
	r.Team.For(r.g.N, 1<<16, func(worker, lo, hi int) {
		sum := int64(0)
		for v := lo; v < hi; v++ {
			if r.parent[v] != validate.Unreached {
				sum += int64(r.g.TupleDegrees[v])
			}
		}
		sums[worker] += sum
	})
	total := int64(0)
	for _, s := range sums {
		total += s
	}
	return total / 2
}
