package worker

import (
	"context"
	"errors"
	"hash/fnv"
	"sync/atomic"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// job is the worker's partitions of a program that was prepared in an attempt, which has it until
// the next is. A run of it is driven in the first of its workers, and its driver is there
// (crew.go).
type job struct {
	attempt    *attempt
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
	from       *checkpoint.Manifest // of the checkpoint that it goes on from, or nil
	end        context.CancelFunc   // of the supersteps since restart
	past       int                  // supersteps of this run and those before it
	first      int                  // supersteps of the run before superstep 0
	reported   []*bsp.Report        // of the last superstep, until the next one begins
	// It has begun to tell its values together with the other workers, and not ended.
	answering atomic.Bool

	// Where its runs are driven.
	facts   []*bsp.Facts    // of all workers
	limit   time.Duration   // of a superstep; 0 is none
	driver  *bsp.Driver     // once one was
	reports []*bsp.Report   // by partition
	cells   [][]kernel.Cell // of partitions of other workers
	out     []byte
	run     *run // under way
}

// begin readies a job for superstep 0; as is what its workers call it when they connect.
func (x *executor) begin(ctx context.Context, t task, j *job, as string) (err error) {
	codec, err := j.of.Codec()
	if err != nil {
		return err
	}
	a, o := j.attempt, j.options
	if !j.graph.Acquire() {
		return errors.New("the graph was dropped")
	}
	j.worker, j.layout, j.link = x.options.Name, layoutOf(j.placements), a.session.Link()
	j.threads = x.threads()
	defer func() {
		if err != nil {
			j.free()
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
		return err
	}
	j.totals = j.program.Aggregates().Cells()
	if j.session, err = x.connect(ctx, as, t.epoch, j.layout, codec); err != nil {
		return err
	}
	if err = j.restart(); err != nil {
		return err
	}
	if err = context.Cause(ctx); err != nil { // who wanted it is gone
		return err
	}
	a.replace(j)
	return nil
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
			l.Workers = append(l.Workers,
				mesh.Peer{Name: p.Worker, Addr: p.Address, Incarnation: p.Incarnation})
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
}
