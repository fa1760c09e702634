package graph500

import (
	"context"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/trace"
)

// LocalConfig says what to run in this process.
type LocalConfig struct {
	Config
	BFS    engine.New // nil for algorithms.BFS
	Engine engine.Options
	// Note adds a few words to Progress, or is nil.
	Note func(text string)
}

// local is the ranks of a run in this process: one, which has all partitions, and the job that
// searches them.
type local struct {
	*Rank
	c      *LocalConfig
	kernel string // of the job
	job    engine.Bound
	trace  trace.Named // gives the records of --trace the kernel and its root as their job
}

// Run runs the benchmark in this process, see [Report.Coordinate].
func Run(ctx context.Context, c LocalConfig) (*Report, error) {
	c.Owner = make([]int, c.Grid.Partitions())
	r := &Report{
		Scale: c.Generator.Scale, EdgeFactor: c.Generator.EdgeFactor, Seeds: [2]uint64{c.Generator.Seed1, c.Generator.Seed2},
		Processes: 1, Threads: c.Team.Size(), Partitions: c.Grid.Partitions(), Rows: c.Grid.Rows, Columns: c.Grid.Columns,
	}
	l := &local{Rank: NewRank(collective.Alone(), 0, c.Config), c: &c}
	l.trace = trace.Named{To: c.Engine.Trace, About: func(j *trace.Job) { j.Graph, j.Grid = c.Generator.Name(), r.Grid() }}
	defer l.close()
	err := r.Coordinate(ctx, l, c.SSSP, c.Validate, func(stage string, done, total int, note string) {
		if note == "" {
			l.Progress(stage, int64(done), int64(total))
		} else if c.Note != nil {
			c.Note(note)
		}
	})
	r.PeakRSS = mem.PeakRSS()
	return r, err
}

func (l *local) close() {
	if l.job != nil {
		l.job.Close()
	}
	l.Close()
}

// Search searches with a new job, if the one before was of another kernel, else with that.
func (l *local) Search(ctx context.Context, kernel string, root Root, name string) (float64, error) {
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
	l.trace.Name = name
	l.job.Prepare()
	_, err = l.job.Run(ctx)
	return l.job.Seconds(), err
}

func (l *local) bind(ctx context.Context, kernel string, program engine.Program) error {
	if l.job != nil {
		l.job.Close()
	}
	o := l.c.Engine
	o.Team, o.Job, o.Trusted = l.c.Team, kernel, true
	if o.Trace != nil {
		o.Trace = &l.trace
	}
	job, err := program.Bind(ctx, l.Graph(), o)
	if err == nil {
		l.kernel, l.job = kernel, job
	}
	return err
}

// Judge judges what the job has found.
func (l *local) Judge(ctx context.Context, root Root) (Judged, error) {
	found, err := FoundBy(l.job)
	if err != nil {
		return Judged{}, err
	}
	return l.Rank.Judge(ctx, root.Vertex, found)
}
