package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// job is the worker's partitions of a program that was prepared in an attempt. It counts the commands
// that use it, and its run: once it was closed it is freed when none is left. A run of it is driven in
// the first of its workers, and its driver is there (crew.go).
type job struct {
	*mem.Refs
	attempt    *attempt // held until the job is freed, and so is the graph
	graph      *localGraph
	worker     string // its name
	of         engine.Program
	phase      bool // of a plan
	options    engine.Options
	trace      bool // the engine measures what a trace has
	placements []*control.Placement
	layout     mesh.Layout
	threads    *parallel.Team
	session    *mesh.Session
	link       collective.Link // over which its first worker commands the others
	program    engine.Bound
	totals     []kernel.Cell
	fills      map[string]*filling
	from       *checkpoint.Manifest // of the checkpoint that it goes on from, or nil
	end        context.CancelFunc   // of the supersteps since restart
	past       int                  // supersteps of this run and those before it
	first      int                  // supersteps of the run before superstep 0
	reported   []*bsp.Report        // of the last superstep, until the next one begins
	search     string               // of Graph500, as control.Drive has it
	// It has begun to tell its values together with the other workers, and not ended.
	answering atomic.Bool

	// Where its runs are driven, once one was.
	driver  *bsp.Driver
	reports []*bsp.Report   // by partition
	cells   [][]kernel.Cell // of partitions of other workers
	out     []byte
	run     *run   // under way
}

// newJob makes the job of a program, or of a phase of its plan, and returns its facts.
func (x *executor) newJob(ctx context.Context, t task, a *attempt, p *control.Prepare, g *localGraph) (facts []byte, err error) {
	known, err := x.options.Registry.Find(p.Program)
	if err != nil {
		return nil, err
	}
	asked, err := jobspec.Read[jobspec.Options](p.OptionsJson)
	if err != nil {
		return nil, err
	}
	program, err := known.New(p.Parameters, resolve.Finder(p.Vertices))
	if err != nil {
		return nil, err
	}
	o, err := resolve.Options(*asked)
	if err != nil {
		return nil, err
	}
	plan := program.Plan()
	a.decides = program.Decides(o, g.Weights)
	if p.Keep != nil && a.keep == nil {
		if err := a.keeps(p.Keep, x.options.Stores); err != nil {
			return nil, err
		}
		if plan != nil {
			a.plan = &checkpoint.Plan{Program: program.Name()}
		}
	}
	j := &job{attempt: a, graph: g, of: program, phase: p.Phase > 0, options: o, trace: asked.Trace, placements: p.Placements}
	if plan == nil {
		return x.begin(ctx, t, j, t.job)
	}
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
	if p.Phase > uint32(len(phases)) {
		return nil, fmt.Errorf("phase %d of a plan of %d: the master has another version of %s", p.Phase, len(phases), p.Program)
	}
	if j.phase {
		j.of = phases[p.Phase-1]
	}
	return x.begin(ctx, t, j, fmt.Sprintf("%s phase %d", t.job, p.Sequence))
}

// begin readies a job for superstep 0, and returns its facts; as is what its workers call it when they connect.
func (x *executor) begin(ctx context.Context, t task, j *job, as string) (facts []byte, err error) {
	codec, err := j.of.Codec()
	if err != nil {
		return nil, err
	}
	a, o := j.attempt, j.options
	if !a.Acquire() {
		return nil, errDropped
	}
	if !j.graph.Acquire() {
		a.Release()
		return nil, errors.New("the graph was dropped")
	}
	j.worker, j.layout, j.threads, j.Refs = x.options.Name, layoutOf(j.placements), x.threads(), mem.NewRefs(j.free)
	defer func() {
		if err != nil {
			j.Close()
		}
	}()
	o.Team, o.Job, o.Log, o.Shared, o.Decides = j.threads, t.job, t.log, a.shared, a.decides
	o.Summary = !j.phase && a.rank == nil
	cost := x.network.cost(x.options.Name, j.layout.Workers, x.seen)
	o.Alpha, o.Beta, o.Gap = cost.Alpha, cost.Beta, cost.Gap
	if j.trace {
		o.Trace = trace.Tee{} // reports have what is recorded, and the driver makes the records
	}
	if a.keep != nil {
		o.Parts = a.writer
	}
	if j.program, err = j.of.Bind(ctx, j.graph.Graph, o); err != nil {
		return nil, err
	}
	j.totals = j.program.Aggregates().Cells()
	if j.session, err = x.connect(ctx, as, t.epoch, j.layout, codec); err != nil {
		return nil, err
	}
	if j.link = j.session.Link(); a.session != nil {
		j.link = a.session.Link()
	}
	if err = j.restart(); err != nil {
		return nil, err
	}
	if facts, err = j.facts(); err != nil {
		return nil, err
	}
	if err = context.Cause(ctx); err != nil { // who wanted it is gone
		return nil, err
	}
	a.replace(j)
	return facts, nil
}

// connect opens a session with the other workers of a job.
func (x *executor) connect(ctx context.Context, name string, epoch uint32, layout mesh.Layout, codec transport.Codec) (*mesh.Session, error) {
	m, err := x.registeredMesh()
	if err != nil {
		return nil, err
	}
	return m.Open(ctx, number(name), epoch, layout, codec)
}

// registeredMesh returns the mesh there is.
func (x *executor) registeredMesh() (*mesh.Mesh, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.mesh == nil {
		return nil, errors.New("the worker is not registered")
	}
	return x.mesh, nil
}

// restart readies the job for superstep 0, after a run of it or before the first.
func (j *job) restart() error {
	running, end := context.WithCancel(context.Background())
	before := j.end
	j.end = end
	past := j.past
	err := j.program.Begin(running, func(partition int) transport.Endpoint {
		e := transport.Later(j.session.Endpoint(partition), past)
		if j.attempt.rank != nil { // it runs again
			e = transport.Near(e)
		}
		return e
	}, func() { j.session.Fail(transport.ErrClosed) })
	if before != nil {
		before() // Begin has ended the run before, whose end would have failed the session
	}
	return err
}

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
	if j.end != nil {
		j.end()
	}
	j.threads.Close()
	j.graph.Release()
	j.attempt.Release()
}

func (j *job) facts() ([]byte, error) { return json.Marshal(j.program.Facts()) }
