package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph500"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/netbench"
	"github.com/superstep-go/superstep/internal/resultlines"
)

// runner runs the jobs of the commands run, graph500 and netbench: in this process (local) or on a
// cluster (remote).
type runner interface {
	// program runs a vertex program. The caller must close the result. verify tells whether the
	// caller will verify it.
	program(ctx context.Context, spec *job.Spec, verify bool) (result, error)
	// graph500 runs the benchmark. It returns a report even with the error of an invalid search.
	graph500(ctx context.Context, spec *job.Spec) (*graph500.Report, error)
	netbench(ctx context.Context, spec *job.Spec) (*netbench.Report, error)
}

// result is the result of a vertex program.
type result interface {
	// verify checks the result by its certificate, see [certificates].
	verify(ctx context.Context) error
	// write writes a line "id value" for every vertex.
	write(ctx context.Context, w io.Writer) error
	// form returns the format of these lines.
	form(a *app) resultlines.Form
	// saveSet writes the vertices of the lines that p selects, or of all lines if p is nil, as a
	// vertex set. It returns the number of vertices that the run added, which are left out.
	saveSet(ctx context.Context, path string, p *pick) (added int, err error)
	// figures fills in a report. written means that the result is stored, so the job need not be
	// resumed.
	figures(report *runReport, written bool)
	// offer shows the result on the page of this process, if the page stays after the run. close is
	// called after the page has ended.
	offer()
	close()
}

// place sets where a command runs, and rejects flags that make no sense there. waiting are flags
// that need the end of the job.
func (f *runFlags) place(onCluster bool, waiting ...string) error {
	if f.onCluster = onCluster; !onCluster {
		if name, ok := changed(f.flags, ofClients...); ok {
			return usagef("--%s is for jobs on a cluster: --master is missing", name)
		}
		if name, ok := changed(f.flags, ofKeeping...); ok && f.keep.Place == "" {
			return usagef("--%s needs --checkpoint PLACE", name)
		}
		return nil
	}
	for _, of := range []struct {
		why   string
		flags []string
	}{
		{"the master serves a cluster's page", []string{"http", "http-linger", "http-token-file"}},
		{"on a cluster superstep master --checkpoints sets the place", []string{"checkpoint", "keep-checkpoints"}},
		{"on a cluster superstep worker --%[1]s sets it", []string{"memory", "spill", "threads"}},
	} {
		if name, ok := changed(f.flags, of.flags...); ok {
			return usagef("--%[1]s is for a run in this process: "+of.why, name)
		}
	}
	if name, ok := changed(f.flags, waiting...); ok && f.cluster.Detach {
		return usagef("--detach does not wait for the job, but --%s needs its end", name)
	}
	return nil
}

// perform runs do where the flags say, and reports. It also checks the job (on a cluster the master
// does), shows progress, handles interrupts, and provides --trace and the page. outputs are files
// that do writes in addition to --json.
func (f *runFlags) perform(
	ctx context.Context, a *app, spec *job.Spec,
	check func(engine.Registry, *job.Spec, graph.Grid) error,
	do func(ctx context.Context, to runner, seen *observer) error, outputs ...string,
) error {
	threads := f.Threads
	if f.onCluster {
		threads = 0
		f.await()
		f.cluster.lost = true // as if workers were lost after the job began
	} else {
		if err := f.seeFlags.check(); err != nil {
			return err
		}
		if err := check(a.programs, spec, specGrid(spec)); err != nil {
			return usageError{err}
		}
	}
	if err := writable(append(outputs, f.JSON, f.seeFlags.Trace)...); err != nil {
		return err
	}
	if !f.onCluster {
		end, err := f.bound(a)
		if err != nil {
			return err
		}
		defer end()
	}
	seen, err := f.start(a, threads)
	if err != nil {
		return err
	}
	defer seen.close()
	if f.onCluster {
		err = f.cluster.wait(ctx, a, seen.progress, func(ctx context.Context, w *waiting) error {
			return do(ctx, &remote{w, f, seen}, seen)
		})
	} else {
		err = do(ctx, &local{a, f, seen}, seen)
	}
	seen.done()
	seen.interrupted(err)
	if err = errors.Join(err, seen.finish()); err != nil {
		return err
	}
	if seen.lingers() && ctx.Err() == nil {
		a.notices().say(slog.LevelInfo, "superstep: the run has ended; the page stays at "+
			seen.server.URL+" until an interrupt", "url", seen.server.URL)
		<-ctx.Done()
	}
	return nil
}

// specGrid returns the requested grid of a job.
func specGrid(s *job.Spec) graph.Grid {
	return graph.Grid{Rows: int(s.Rows), Columns: int(s.Columns)}
}
