package worker

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph500"
	"github.com/superstep-go/superstep/internal/history"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	objects "github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// job is the worker's partitions of a program that was prepared in an attempt, which has it until
// the next is. A run of it is driven in the first of its workers, and its driver is there
// (crew.go).
type job struct {
	attempt  *attempt
	graph    *localGraph
	of       engine.Program
	phase    bool // of a plan
	options  engine.Options
	layout   mesh.Layout
	threads  *parallel.Team
	session  *mesh.Session
	link     collective.Link // over which its first worker commands the others
	program  engine.Bound
	totals   []kernel.Cell
	from     *checkpoint.Manifest // of the checkpoint that it goes on from, or nil
	end      context.CancelFunc   // of the supersteps since restart
	past     int                  // supersteps of this run and those before it
	first    int                  // supersteps of the run before superstep 0
	reported []*bsp.Report        // of the last superstep, until the next one begins
	// It has begun to tell its values together with the other workers, and not ended.
	answering atomic.Bool

	// Where its runs are driven.
	facts   []*bsp.Facts    // of all workers
	driver  *bsp.Driver     // once one was
	reports []*bsp.Report   // by partition
	cells   [][]kernel.Cell // of partitions of other workers
	out     []byte
}

// begin readies a job for superstep 0; as is what its workers call it when they connect.
func (a *attempt) begin(ctx context.Context, j *job, as string) (err error) {
	codec, err := j.of.Codec()
	if err != nil {
		return err
	}
	o := j.options
	if !j.graph.Acquire() {
		return errors.New("the graph was dropped")
	}
	j.layout, j.link, j.threads = a.places.layout, a.session.Link(), a.executor.threads()
	defer func() {
		if err != nil {
			j.free()
		}
	}()
	o.Team, o.Job, o.Log, o.Shared, o.Decides = j.threads, a.task.job, a.log, a.shared, a.decides
	o.Summary = !j.phase && a.rank == nil
	cost := a.network.cost(a.options.Name, j.layout.Workers, a.seen)
	o.Alpha, o.Beta, o.Gap = cost.Alpha, cost.Beta, cost.Gap
	if a.spec.Options.Trace {
		o.Trace = trace.Tee{} // reports have what is recorded, and the driver makes the records
	}
	if a.keep != nil {
		o.Parts = a.writer
	}
	if j.program, err = j.of.Bind(ctx, j.graph.Graph, o); err != nil {
		return err
	}
	j.totals = j.program.Aggregates().Cells()
	if j.session, err = a.connect(ctx, as, a.task.epoch, j.layout, codec); err != nil {
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

// attempt is the worker's part in an attempt at a job that workers do together: all do the same
// steps. The first of them drives what one must lead, and tells the master. It has what its jobs
// have in common: they come one after the other, as the phases of a plan or as the kernels of
// Graph500.
//
//	Run -> open, with the job that was prepared last -- drop, or the next attempt --> closed
//
// It counts the commands that use it, and its run. So what it holds is freed when it was closed and
// nobody can write to it any more. Parts of a checkpoint that was taken in one phase may be stored
// when the next one runs.
type attempt struct {
	*mem.Refs
	*run
	*executor
	asked   *control.Run
	spec    *jobspec.Spec
	session *mesh.Session // over which its workers do what they do together
	group   *collective.Group
	places  places
	step    string  // under way, for errors
	ran     float64 // seconds of supersteps
	text    []byte  // of a netbench: its report

	// Of a program.
	graph    *localGraph
	of       engine.Program
	phases   []engine.Program   // of its plan
	sequence int                // of what is prepared
	from     *checkpoint.Reader // that it goes on from, or nil
	shared   *engine.Shared     // of the phases of a plan; nil if there is none
	decides  map[string]string  // what the values depend on, for checkpoints

	// Of Graph500.
	rank    *graph500.Rank // or nil
	threads *parallel.Team // the rank's
	report  *graph500.Report
	kernel  string    // of the job that there is
	search  string    // that runs, as records call it
	since   time.Time // the graph, then the searches

	// Of checkpoints, if they are kept.
	keep   *control.Keep // nil: none are
	when   *checkpoint.Policy
	store  objects.Store
	writer *checkpoint.Writer
	meter  history.Meter // the summary of the run, where it is driven
	began  time.Time
	plan   *checkpoint.Plan // which phases have ended, where the run is driven; nil without a plan

	mu     sync.Mutex
	job    *job               // that was prepared last, or nil; the run alone replaces it
	keeper *checkpoint.Keeper // decides when checkpoints are taken, where the run is driven
}

func newAttempt(x *executor, t task, session *mesh.Session) *attempt {
	a := &attempt{run: newRun(t), executor: x, session: session}
	a.Refs = mem.NewRefs(a.free)
	return a
}

func (a *attempt) free() {
	a.replace(nil)
	a.shared.Close()
	a.session.Close()
	if a.rank != nil {
		a.rank.Close()
		a.threads.Close()
	}
	if a.keep == nil {
		return
	}
	a.writer.Close()
	if a.keeper != nil {
		a.keeper.Abandon() // the master removes those of a job that is done
	}
	objects.Close(a.store)
}

// Close stops the run, if it is under way, and frees what the attempt holds as soon as nobody uses
// it.
func (a *attempt) Close() {
	a.stop(errDropped)
	a.Refs.Close()
}

// replace has a job in place of the one before, which is freed.
func (a *attempt) replace(j *job) {
	a.mu.Lock()
	old := a.job
	a.job = j
	a.mu.Unlock()
	if old != nil {
		old.free()
	}
}

// nextPhase takes over what the phase before has left, and frees its job.
func (a *attempt) nextPhase() {
	if a.job != nil {
		a.shared = a.job.program.Shared()
		a.replace(nil)
	}
}

// keeps has checkpoints be kept. A place that is away costs checkpoints, and not the run.
func (a *attempt) keeps(k *control.Keep, open func(string) (objects.Store, error)) (err error) {
	if a.when, err = jobspec.Read[checkpoint.Policy](k.WhenJson); err != nil {
		return err
	}
	a.keep, a.store, a.began = k, objects.Later(k.Place, open), k.Began.AsTime()
	a.writer = checkpoint.NewWriter(a.store, k.Run)
	return nil
}

// keeperOf returns what decides when checkpoints of a job that is driven here are taken.
func (a *attempt) keeperOf(j *job) *checkpoint.Keeper {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.keeper == nil {
		share := int64(j.graph.N) * checkpoint.BytesOfVertex / int64(max(len(j.layout.Workers), 1))
		a.keeper = checkpoint.NewKeeper(a.store, *a.when, share,
			func(text string) { a.log("warning: " + text) }, a.checkpointed)
	}
	return a.keeper
}

// find acquires the worker's part in an attempt.
func (x *executor) find(t task) (*attempt, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	a := x.attempts[t.job]
	if a == nil || a.task.epoch != t.epoch || !a.Acquire() {
		return nil, x.unprepared(t)
	}
	return a, nil
}

// acknowledged tells runs what the master has heard of them.
func (x *executor) acknowledged(all []*control.Heard) {
	for _, h := range all {
		if a, err := x.find(task{job: h.Job, epoch: h.Epoch}); err == nil {
			a.acknowledge(h.Serial)
			a.Release()
		}
	}
}

func (x *executor) unprepared(t task) error {
	return fmt.Errorf("worker %s has nothing prepared for attempt %d of job %s", x.options.Name,
		t.epoch, t.job)
}

// job acquires an attempt, and returns what was prepared last for it.
func (x *executor) job(t task) (*attempt, *job, error) {
	a, err := x.find(t)
	if err != nil {
		return nil, nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.job == nil {
		a.Release()
		return nil, nil, x.unprepared(t)
	}
	return a, a.job, nil
}

// keepNow has the run of a job that is driven here take a checkpoint soon.
func (x *executor) keepNow(t task) error {
	a, err := x.find(t)
	if err != nil {
		return err
	}
	defer a.Release()
	a.mu.Lock()
	keeper := a.keeper
	a.mu.Unlock()
	if keeper == nil {
		return errors.New("it keeps no checkpoints")
	}
	keeper.Ask()
	return nil
}
