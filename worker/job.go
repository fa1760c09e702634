package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/internal/transport/mesh"
	"github.com/superstep-go/superstep/record"
)

// job is the worker's partitions in an attempt at a job, and counts the commands that use it.
type job struct {
	*mem.Refs
	epoch      uint32
	worker     string // its name
	of         engine.Program
	options    jobspec.Options
	placements []*control.Placement
	graph      *localGraph // held until the job is freed
	threads    *parallel.Team
	session    *mesh.Session
	program    engine.Bound
	totals     []kernel.Cell
	crew       *crew              // in the first worker, once it drives
	end        context.CancelFunc // of the run
	past       int                // supersteps of this run and those before it
	reported   time.Time          // when the last superstep's reports were made
	repeats    bool               // it may run again: a search of Graph500
	fills      map[string]*filling
	attempt                         // nothing once the phases to come have it
	phase      bool                 // of a plan
	first      int                  // supersteps of the run before superstep 0
	from       *checkpoint.Manifest // of the checkpoint that it goes on from, or nil
	answering  atomic.Bool          // it has begun to tell its values together with the other workers, and not ended

	running  sync.Mutex
	underway *underway // the run that was begun last, or nil; under running, as closed is
	closed   bool
}

// attempt is what the jobs of the phases of a plan, one after the other, have in common.
type attempt struct {
	shared *engine.Shared // nil if there is no plan
	kept   *kept          // nil if no checkpoints are kept
	// decides is what the run's values depend on, for checkpoints.
	decides map[string]string
}

// close is idempotent.
func (a *attempt) close() {
	a.shared.Close()
	a.kept.close()
}

// newJob makes the job of a program, or of a phase of its plan. a is what the phases before have left, which it takes over.
func (x *executor) newJob(ctx context.Context, t task, p *control.Prepare, g *localGraph, a attempt) (_ *job, err error) {
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	known, err := x.options.Registry.Find(p.Program)
	if err != nil {
		return nil, err
	}
	run, err := jobspec.Read[jobspec.Options](p.OptionsJson)
	if err != nil {
		return nil, err
	}
	program, err := known.New(p.Parameters, resolve.Finder(p.Vertices))
	if err != nil {
		return nil, err
	}
	if a.kept == nil {
		if a.kept, err = x.newKept(p.Keep); err != nil {
			return nil, err
		}
	}
	if a.decides == nil {
		o, err := resolve.Options(*run)
		if err != nil {
			return nil, err
		}
		a.decides = program.Decides(o, g.Weights)
	}
	name := t.job
	if plan := program.Plan(); plan != nil {
		phases, err := plan.Phases()
		if err != nil {
			return nil, err
		}
		if a.shared == nil {
			if err := program.Fits(g.Graph); err != nil {
				return nil, err
			}
			a.shared = engine.NewShared()
			for _, p := range append(phases, program) {
				a.shared.Knows(p.Properties())
			}
		}
		a.kept.planned(program.Name())
		if p.Phase > uint32(len(phases)) {
			return nil, fmt.Errorf("phase %d of a plan of %d: the master has another version of %s", p.Phase, len(phases), p.Program)
		}
		if p.Phase > 0 {
			program = phases[p.Phase-1]
		}
		name = fmt.Sprintf("%s phase %d", t.job, p.Sequence)
	}
	j, err := x.begin(ctx, t, name, program, *run, p.Placements, g, a, p.Phase == 0)
	if err == nil {
		j.phase = p.Phase > 0
	}
	return j, err
}

// begin makes a job of a program and readies it for superstep 0; name is what its workers know it by when they connect.
func (x *executor) begin(
	ctx context.Context, t task, name string, program engine.Program, run jobspec.Options, placements []*control.Placement, g *localGraph,
	a attempt, summary bool,
) (_ *job, err error) {
	o, err := resolve.Options(run)
	if err != nil {
		return nil, err
	}
	codec, err := program.Codec()
	if err != nil {
		return nil, err
	}
	if !g.Acquire() {
		return nil, errors.New("the graph was dropped")
	}
	j := &job{epoch: t.epoch, worker: x.options.Name, of: program, options: run, placements: placements, graph: g, threads: x.threads(), attempt: a}
	j.Refs = mem.NewRefs(j.free)
	defer func() {
		if err != nil {
			j.Close()
		}
	}()
	o.Team, o.Job, o.Log, o.Shared, o.Summary = j.threads, t.job, t.log, a.shared, summary
	o.Decides = a.decides
	cost := x.network.cost(x.options.Name, layoutOf(placements).Workers, x.seen)
	o.Alpha, o.Beta, o.Gap = cost.Alpha, cost.Beta, cost.Gap
	if run.Trace {
		o.Trace = measuring{}
	}
	if a.kept != nil {
		o.Parts = a.kept.writer
	}
	if j.program, err = program.Bind(ctx, g.Graph, o); err != nil {
		return nil, err
	}
	j.totals = j.program.Aggregates().Cells()
	if j.session, err = x.connect(ctx, name, t.epoch, placements, codec); err != nil {
		return nil, err
	}
	x.mu.Lock()
	_, j.repeats = x.benchmarks[t.job]
	x.mu.Unlock()
	return j, j.restart()
}

// connect opens a session with the other workers of a job.
func (x *executor) connect(ctx context.Context, name string, epoch uint32, placements []*control.Placement, codec transport.Codec) (*mesh.Session, error) {
	x.mu.Lock()
	m := x.mesh
	x.mu.Unlock()
	if m == nil {
		return nil, errors.New("the worker is not registered")
	}
	return m.Open(ctx, number(name), epoch, layoutOf(placements), codec)
}

// restart readies the job for superstep 0, after a run of it or before the first.
func (j *job) restart() error {
	running, end := context.WithCancel(context.Background())
	before := j.end
	j.end = end
	past := j.past
	err := j.program.Begin(running, func(partition int) transport.Endpoint {
		e := transport.Later(j.session.Endpoint(partition), past)
		if j.repeats {
			e = transport.Near(e)
		}
		return e
	}, func() { j.session.Fail(transport.ErrClosed) })
	if before != nil {
		before() // Begin has ended the run before, whose end would have failed the session
	}
	return err
}

// measuring makes the engine measure what it records: reports have that, and the driver makes the records.
type measuring struct{}

func (measuring) Record(*record.Superstep) error { return nil }

// number is a job's on the data plane, where ids have 8 bytes.
func number(id string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(id))
	return h.Sum64()
}

// layoutOf is where a job's partitions are, as the mesh has it.
func layoutOf(placements []*control.Placement) mesh.Layout {
	l := mesh.Layout{Owner: make([]int, len(placements))}
	index := map[string]int{}
	for _, p := range placements {
		i, ok := index[p.Worker]
		if !ok {
			i = len(l.Workers)
			index[p.Worker] = i
			l.Workers = append(l.Workers, mesh.Peer{Name: p.Worker, Addr: p.Address, Incarnation: p.Incarnation})
		}
		l.Owner[p.Partition] = i
	}
	return l
}

func (j *job) free() {
	if j.session != nil {
		j.session.Close()
	}
	if j.program != nil {
		j.program.Close()
	}
	j.attempt.close()
	if j.end != nil {
		j.end()
	}
	j.threads.Close()
	j.graph.Release()
}

func (j *job) facts() ([]byte, error) { return json.Marshal(j.program.Facts()) }
