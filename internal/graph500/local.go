package graph500

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph500/validate"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// LocalConfig selects a run in this process.
type LocalConfig struct {
	Config
	BFS    engine.New // nil for algorithms.BFS
	Engine engine.Options
	Tell   Tell
}

// local is the Searcher of a run in this process, with a single rank that has all partitions.
type local struct {
	*Rank
	c      *LocalConfig
	job    *engine.Job
	search string // name of the current search in records
	made   time.Time
	// when the beginning of the run was recorded, or zero, and the supersteps since
	began      time.Time
	supersteps int
}

// Run runs the benchmark in this process; see [Report.Coordinate]. Its records are those of one
// run. The report is nil if the run failed, but not if only its end could not be recorded.
func Run(ctx context.Context, c LocalConfig) (*Report, error) {
	c.Owner = make([]int, c.Grid.Partitions())
	r := &Report{
		Scale: c.Generator.Scale, EdgeFactor: c.Generator.EdgeFactor,
		Seeds: [2]uint64{c.Generator.Seed1, c.Generator.Seed2}, Processes: 1,
		Threads:    c.Team.Size(),
		Partitions: c.Grid.Partitions(), Rows: c.Grid.Rows, Columns: c.Grid.Columns,
	}
	l := &local{Rank: NewRank(collective.Alone(), 0, c.Config), c: &c, made: time.Now()}
	defer l.close()
	err := r.Coordinate(ctx, l.Rank, c.BFS, l, c.Tell)
	r.PeakRSS = mem.PeakRSS()
	unrecorded := l.end(r, err)
	if err != nil && !errors.As(err, new(*validate.Violation)) {
		return nil, err
	}
	return r, cmp.Or(err, unrecorded)
}

// end records the end of the run, if its beginning was recorded.
func (l *local) end(r *Report, err error) error {
	if l.began.IsZero() {
		return nil
	}
	e := &trace.End{
		Job: trace.Graph500, State: trace.Done, Supersteps: l.supersteps,
		Seconds: time.Since(l.began).Seconds(),
	}
	if err != nil {
		e.State, e.Error = trace.Failed, err.Error()
	}
	if errors.Is(err, context.Canceled) {
		e.State = trace.Cancelled
	}
	if err == nil || errors.As(err, new(*validate.Violation)) {
		e.Report = r.Text()
	}
	return l.c.Engine.Trace.Record(e)
}

// Record forwards the events of searches, and sets the search's name in supersteps. The benchmark
// is one run: it begins with the first search, when the graph is known.
func (l *local) Record(e trace.Event) error {
	switch e := e.(type) {
	case *trace.Job:
		if !l.began.IsZero() {
			return nil
		}
		l.began = time.Now()
		e.Job, e.Program, e.MaxSupersteps, e.Began = trace.Graph500, trace.Graph500, 0, l.made
		e.Graph, e.Grid = l.c.Generator.Name(), l.c.Grid.String()
	case *trace.End:
		return nil
	case *record.Superstep:
		if e.Job = l.search; e.Ran() && !strings.HasSuffix(l.search, trace.WarmUp) {
			l.supersteps++
		}
	}
	return l.c.Engine.Trace.Record(e)
}

func (l *local) close() {
	if l.job != nil {
		l.job.Close()
	}
	l.Close()
}

// Search runs a search. It reuses the job for another root.
func (l *local) Search(
	ctx context.Context, program *engine.Program, again bool, name string,
) (_ *engine.Job, seconds float64, err error) {
	if again {
		err = program.Restart(l.job)
	} else {
		err = l.bind(ctx, program)
	}
	if err != nil {
		return nil, 0, err
	}
	l.search = name
	l.job.Prepare()
	_, err = l.job.Run(ctx)
	return l.job, l.job.Seconds(), err
}

func (l *local) bind(ctx context.Context, program *engine.Program) (err error) {
	if l.job != nil {
		l.job.Close()
	}
	o := l.c.Engine
	o.Team, o.Trusted = l.c.Team, true
	if o.Trace != nil {
		o.Trace = l
	}
	l.job, err = program.Bind(ctx, l.Graph(), o)
	return err
}
