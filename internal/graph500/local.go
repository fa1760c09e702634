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

// local is the Searcher of a run in this process, with a single rank that has all partitions.
type local struct {
	*Rank
	c      *LocalConfig
	job    engine.Bound
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
	err := r.Coordinate(ctx, l.Rank, c.BFS, l, c.Tell)
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

// Search runs a search. It reuses the job for another root.
func (l *local) Search(
	ctx context.Context, program engine.Program, again bool, name string,
) (_ engine.Bound, seconds float64, err error) {
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

func (l *local) bind(ctx context.Context, program engine.Program) (err error) {
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
