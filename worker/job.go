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
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	objects "github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// job is this worker's partitions of a program that an attempt has prepared. The attempt has one
// job at a time. The driver of its runs is in the first worker (crew.go).
type job struct {
	attempt  *attempt
	graph    *localGraph
	of       *engine.Program
	phase    bool // it is a phase of a plan
	layout   mesh.Layout
	session  *mesh.Session
	link     collective.Link // for the first worker's commands
	program  *engine.Job
	totals   []kernel.Cell
	from     *checkpoint.Manifest // manifest of the checkpoint to resume from, or nil
	end      context.CancelFunc   // cancels the supersteps since restart
	past     int                  // supersteps of this run and earlier runs
	reported []*bsp.Report        // of the last superstep, until the next one begins
	// Set while it sends its values together with the other workers, and for good if that fails.
	answering atomic.Bool

	// Only in the worker that drives the runs:
	facts   []*bsp.Facts    // of all workers
	driver  *bsp.Driver     // nil before the first run
	reports []*bsp.Report   // by partition
	cells   [][]kernel.Cell // of other workers' partitions
}

// ready prepares a job for superstep 0 on all workers. With goOn it continues from the checkpoint.
// The first worker gets the facts of all.
func (a *attempt) ready(ctx context.Context, j *job, goOn bool) error {
	if err := a.bind(ctx, j); err != nil {
		return err
	}
	if goOn {
		// No worker may send before all have begun, because resuming may need messages between all
		// workers: they apply the run's earlier changes of the graph together.
		if err := a.barrier(ctx); err != nil {
			return err
		}
		if err := j.goOn(ctx, a.from); err != nil {
			return err
		}
	}
	call := collective.Call{Tag: tagFacts, Bytes: 1 << 10}
	facts, err := collective.Gather(ctx, a.group, call, j.program.Facts())
	for i := range facts {
		j.facts = append(j.facts, &facts[i])
	}
	return err
}

// bind makes a job the current one.
func (a *attempt) bind(ctx context.Context, j *job) (err error) {
	codec, err := j.of.Codec()
	if err != nil {
		return err
	}
	if !j.graph.Acquire() {
		return errors.New("the graph was dropped")
	}
	j.attempt, j.layout, j.link = a, a.places.layout, a.group.Link()
	defer func() {
		if err != nil {
			j.free()
		}
	}()
	o := a.engine
	o.Team, o.Job, o.Log, o.Shared, o.Decides = a.threads, a.task.job, a.log, a.shared, a.decides
	o.Summary = !j.phase && a.rank == nil
	cost := a.network.cost(a.options.Name, j.layout.Workers, a.seen)
	o.Alpha, o.Beta, o.Gap = cost.Alpha, cost.Beta, cost.Gap
	if a.spec.Options.Trace {
		o.Trace = trace.Tee{} // only makes partitions record; the driver makes the records
	}
	if a.keep != nil {
		o.Parts = a.writer
	}
	if j.program, err = j.of.Bind(ctx, j.graph.Graph, o); err != nil {
		return err
	}
	j.totals = j.program.Aggregates().Cells()
	a.sequence++
	as := fmt.Sprintf("%s phase %d", a.task.job, a.sequence) // the workers connect by this name
	if j.session, err = a.connect(ctx, as, a.task.epoch, j.layout, codec); err != nil {
		return err
	}
	if err = j.restart(); err != nil {
		return err
	}
	if err = context.Cause(ctx); err != nil { // the command was cancelled
		return err
	}
	a.replace(j)
	return nil
}

// connect opens a session with the other workers of a job.
func (x *executor) connect(
	ctx context.Context, name string, epoch uint32, layout mesh.Layout, codec transport.Codec,
) (*mesh.Session, error) {
	m, err := x.registeredMesh()
	if err != nil {
		return nil, err
	}
	number := fnv.New64a()
	number.Write([]byte(name))
	return m.Open(ctx, number.Sum64(), epoch, layout, codec)
}

// registeredMesh returns the mesh, or an error if the worker is not registered.
func (x *executor) registeredMesh() (*mesh.Mesh, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.mesh == nil {
		return nil, errors.New("the worker is not registered")
	}
	return x.mesh, nil
}

// restart prepares the job for superstep 0, before its first run or another one.
func (j *job) restart() error {
	running, end := context.WithCancel(context.Background())
	before := j.end
	j.end = end
	past := j.past
	err := j.program.Begin(running, func(partition int) transport.Endpoint {
		again := j.attempt.rank != nil // the program will run again
		return j.session.Endpoint(partition, past, again)
	}, func() { j.session.Fail(transport.ErrClosed) })
	if before != nil {
		// Begin has ended the earlier run; cancelling it before would have failed the session
		before()
	}
	return err
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
	j.graph.Release()
}

// attempt is this worker's part of an attempt at a job. All workers do the same steps. The first
// worker drives steps that need a leader, and reports to the master. The attempt has the shared
// state of its jobs, which follow one another as phases of a plan or kernels of Graph500.
//
//	Run -> open, with the job that was prepared last -- drop, or the next attempt --> closed
//
// Refs counts the commands that use it, and its run. So its memory is freed when it is closed and
// no longer in use. Parts of a checkpoint from one phase may be written during the next phase.
type attempt struct {
	*mem.Refs
	*run
	*executor
	begun   bool // its command has come
	asked   *control.Run
	spec    *jobspec.Spec
	session *mesh.Session // for the workers' collective steps
	group   *collective.Group
	places  places
	threads *parallel.Team // of its jobs
	engine  engine.Options // of its jobs, as the user wants them
	step    string         // current step, for errors
	ran     float64        // seconds of the last run's supersteps
	text    []byte         // the report of a netbench

	// The following fields are set only if the job runs a program.
	graph    *localGraph
	of       *engine.Program
	phases   []*engine.Program  // of its plan
	sequence int                // number of the next job to prepare
	from     *checkpoint.Reader // checkpoint to resume from, or nil
	shared   *engine.Shared     // shared by the phases of a plan, or nil
	decides  map[string]string  // settings that the result depends on, for checkpoints

	// Of Graph500:
	rank   *graph500.Rank // or nil
	report *graph500.Report
	search string    // name of the current search in records
	since  time.Time // when generation began, then when the searches began

	// Of checkpoints:
	keep   *control.Keep // nil if none are stored
	store  objects.Store
	writer *checkpoint.Writer
	meter  history.Meter // summary of the run, on the driving worker
	began  time.Time
	plan   *checkpoint.Plan // ended phases, on the driving worker; nil without a plan

	// decides when to take checkpoints, on the driving worker
	keeper atomic.Pointer[checkpoint.Keeper]

	mu  sync.Mutex
	job *job // job prepared last, or nil; only the run replaces it
}

func newAttempt(
	x *executor, t task, session *mesh.Session, at places, group *collective.Group,
) *attempt {
	a := &attempt{
		run: newRun(t), executor: x, session: session, places: at, group: group,
		threads: x.team(),
	}
	a.Refs = mem.NewRefs(a.free)
	return a
}

func (a *attempt) free() {
	a.replace(nil)
	a.shared.Close()
	a.session.Close()
	if a.rank != nil {
		a.rank.Close()
	}
	a.threads.Close()
	if a.keep == nil {
		return
	}
	a.writer.Close()
	if k := a.keeper.Load(); k != nil {
		k.Abandon() // the master removes checkpoints of finished jobs
	}
	objects.Close(a.store)
}

// Close stops the attempt's run and frees its memory once nobody uses it.
func (a *attempt) Close() {
	a.stop(errDropped)
	a.Refs.Close()
}

// replace sets the current job and frees the previous one.
func (a *attempt) replace(j *job) {
	a.mu.Lock()
	old := a.job
	a.job = j
	a.mu.Unlock()
	if old != nil {
		old.free()
	}
}

// keeps enables checkpoints. If the place cannot be reached, the run continues without checkpoints.
func (a *attempt) keeps(k *control.Keep) error {
	when, err := jobspec.Read[checkpoint.Policy](k.WhenJson)
	if err != nil {
		return err
	}
	a.keep, a.store, a.began = k, objects.Later(k.Place, a.options.Stores), k.Began.AsTime()
	a.writer = checkpoint.NewWriter(a.store, k.Run)
	if a.leads() {
		share := int64(a.graph.N) * checkpoint.BytesOfVertex / int64(a.group.Link().Size())
		a.keeper.Store(checkpoint.NewKeeper(a.store, *when, share,
			func(text string) { a.log("warning: " + text) }, a.checkpointed))
	}
	return nil
}

// find finds and acquires this worker's part of an attempt.
func (x *executor) find(t task) (*attempt, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	a := x.attempts[resolve.OwnGraph(t.job)]
	if a == nil || !a.begun || a.task.epoch != t.epoch || !a.Acquire() {
		return nil, x.unprepared(t)
	}
	return a, nil
}

// acknowledged tells runs which of their reports the master has received.
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

// keepNow requests a checkpoint of a job driven here.
func (x *executor) keepNow(t task) error {
	a, err := x.find(t)
	if err != nil {
		return err
	}
	defer a.Release()
	keeper := a.keeper.Load()
	if keeper == nil {
		return errors.New("it stores no checkpoints")
	}
	keeper.Ask()
	return nil
}
