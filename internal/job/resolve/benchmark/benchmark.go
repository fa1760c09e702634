// Package benchmark checks and reports jobs of Graph500 on a cluster. It is apart from package
// resolve, which all other jobs need and which does not link the benchmark.
package benchmark

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph500"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/jobtrace"
	"github.com/superstep-go/superstep/internal/trace"
)

// Check is resolve.CheckProgram for a job of Graph500.
func Check(programs engine.Registry, spec *job.Spec, grid graph.Grid) error {
	if spec.Program != trace.Graph500 || spec.Graph != "" || spec.Source != nil || resolve.Filled(spec) ||
		spec.Numbered {
		return fmt.Errorf(
			"expected the program %s without graph, source and columns", trace.Graph500)
	}
	g, err := resolve.Generator(spec.Graph500)
	if err != nil {
		return err
	}
	if g.Scale > graph500.MaxScale {
		return fmt.Errorf("scale: found %d, expected at most %d: vertices have numbers of 32 bits",
			g.Scale, graph500.MaxScale)
	}
	if spec.Graph500.Roots == 0 {
		return errors.New("roots: found 0, expected 1 or more")
	}
	o, err := resolve.Options(spec.Options)
	if err != nil {
		return err
	}
	return graph500.EachKernel(spec.Graph500.SSSP, programs.New("bfs"),
		func(program *engine.Program) error {
			return engine.CheckOnCluster(context.Background(), program, o, grid)
		})
}

// Searched copies the searches of a kernel from a result of Graph500, up to the first one with
// impossible figures.
func Searched(r *control.KernelResult) graph500.Kernel {
	var k graph500.Kernel
	for i, time := range r.GetTime() {
		if i >= min(len(r.Translate), len(r.Nedge)) || !(time > 0 && time < 1e9 &&
			r.Translate[i] >= 0 && r.Translate[i] <= time) || r.Nedge[i]-1 >= math.MaxInt64 {
			break
		}
		k.Time = append(k.Time, time)
		k.Translate = append(k.Translate, r.Translate[i])
		k.Nedge = append(k.Nedge, int64(r.Nedge[i]))
		if i < len(r.Validate) && r.Validate[i] >= 0 && r.Validate[i] < 1e9 {
			k.Validate = append(k.Validate, r.Validate[i])
		}
	}
	return k
}

// Report returns the report of a job of Graph500 that is done or had an invalid search. It returns
// nil for others.
func Report(j *control.Job) *graph500.Report {
	result := j.GetGraph500()
	valid := result.GetViolation() == nil
	if j == nil || j.State != control.JobState_JOB_STATE_DONE && valid {
		return nil
	}
	spec := j.Spec().Graph500
	if spec == nil {
		return nil
	}
	r := &graph500.Report{
		Scale: int(spec.Scale), EdgeFactor: int(spec.EdgeFactor),
		Seeds: [2]uint64{spec.Seed1, spec.Seed2}, Processes: len(j.Workers),
		Generation: result.GetGeneration(), Construction: result.GetConstruction(),
		Roots: result.GetRoots(), BFS: Searched(result.GetBfs()), SSSP: Searched(result.GetSssp()),
		Restarts: result.GetRestarts(), Threads: int(j.Threads),
		Partitions: int(j.Rows * j.Columns), Rows: int(j.Rows), Columns: int(j.Columns),
		PeakRSS: int64(j.PeakMemory),
	}
	if !spec.NoValidate {
		r.Valid = &valid
	}
	return r
}

// Observe returns an observer of a master's jobs. It knows the defaults of programs, and the reports
// of benchmarks.
func Observe(programs engine.Registry, journal func() trace.Journal) *jobtrace.Observer {
	return &jobtrace.Observer{New: journal, Report: Text, Defaults: resolve.Defaults(programs)}
}

// Text returns the text of a job's Report, or "" if the job has none.
func Text(j *control.Job) string {
	r := Report(j)
	if r == nil {
		return ""
	}
	return r.Text()
}
