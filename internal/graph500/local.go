package graph500

import (
	"context"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// LocalConfig selects a run in this process.
type LocalConfig struct {
	Config
	BFS    engine.New // nil for algorithms.BFS
	Engine engine.Options
	Tell   Tell // or nil
}

// local implements Ranks for a run in this process: a single rank with all partitions, and the job
// that searches them.
type local struct {
	*Rank
	c      *LocalConfig
	kernel string // the job's kernel
	job    *engine.Job
	search string // name of the current search in records
	began  time.Time
	told   bool // the beginning of the run was reported
}

// Run runs the benchmark in this process; see [Report.Coordinate].
func Run(ctx context.Context, c LocalConfig) (*Report, error) {
	c.Owner = make([]int, c.Grid.Partitions())
	r := &Report{
		Scale: c.Generator.Scale, EdgeFactor: c.Generator.EdgeFactor,
		Seeds: [2]uint64{c.Generator.Seed1, c.Generator.Seed2}, Processes: 1,
		Threads:    c.Team.Size(),
		Partitions: c.Grid.Partitions(), Rows: c.Grid.Rows, Columns: c.Grid.Columns,
	}
	if c.Tell == nil {
		c.Tell = func(string, int, int, *trace.Search) {}
	}
	l := &local{Rank: NewRank(collective.Alone(), 0, c.Config), c: &c, began: time.Now()}
	defer l.close()
	err := r.Coordinate(ctx, l, c.SSSP, c.Validate, c.Tell)
	r.PeakRSS = mem.PeakRSS()
	return r, err
}

// Record forwards the events of searches, and sets the search's name in supersteps. The benchmark
// is one run: it begins with the first search, when the graph is known, and the caller of Run ends
// it.
func (l *local) Record(e trace.Event) error {
	switch e := e.(type) {
	case *trace.Job:
		if l.told {
			return nil
		}
		l.told = true
		e.Job, e.Program, e.MaxSupersteps, e.Began = trace.Graph500, trace.Graph500, 0, l.began
		e.Graph, e.Grid = l.c.Generator.Name(), l.c.Grid.String()
	case *trace.End:
		return nil
	case *record.Superstep:
		e.Job = l.search
	}
	return l.c.Engine.Trace.Record(e)
}

func (l *local) close() {
	if l.job != nil {
		l.job.Close()
	}
	l.Close()
}

// Search runs a search. It reuses the job if the kernel is the same, else it makes a new one.
func (l *local) Search(
	ctx context.Context, kernel string, root Root, name string,
) (float64, error) {
	program, err := Program(kernel, l.c.BFS, root.ID)
	if err != nil {
		return 0, err
	}
	if l.kernel == kernel {
		err = program.Restart(l.job)
	} else {
		err = l.bind(ctx, kernel, program)
	}
	if err != nil {
		return 0, err
	}
	l.search = name
	l.job.Prepare()
	_, err = l.job.Run(ctx)
	return l.job.Seconds(), err
}

func (l *local) bind(ctx context.Context, kernel string, program *engine.Program) error {
	if l.job != nil {
		l.job.Close()
	}
	o := l.c.Engine
	o.Team, o.Job, o.Trusted = l.c.Team, kernel, true
	if o.Trace != nil {
		o.Trace = l
	}
	job, err := program.Bind(ctx, l.Graph(), o)
	if err == nil {
		l.kernel, l.job = kernel, job
	}
	return err
}

// Judge judges the job's result.
func (l *local) Judge(ctx context.Context, root Root) (Judged, error) {
	found, err := FoundBy(l.job)
	if err != nil {
		return Judged{}, err
	}
	return l.Rank.Judge(ctx, root.Vertex, found)
}
