package worker

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph500"
	"github.com/superstep-go/superstep/internal/history"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	objects "github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// attempt is the worker's part in an attempt at a job. It has what its jobs have in common: they
// come one after the other, as the phases of a plan or as the kernels of Graph500.
//
//	Run -> open, with the job that was prepared last -- drop, or the next attempt --> closed
//
// It counts the commands that use it, and its run. So what it holds is freed when it was closed and
// nobody can write to it any more. Parts of a checkpoint that was taken in one phase may be stored
// when the next one runs.
type attempt struct {
	*mem.Refs
	epoch   uint32
	run     *run
	shared  *engine.Shared    // of the phases of a plan; nil if there is none
	decides map[string]string // what the values depend on, for checkpoints

	// What its workers do together they do over this session.
	session *mesh.Session
	text    []byte         // of a netbench: its report
	rank    *graph500.Rank // of Graph500, or nil
	threads *parallel.Team // the rank's
	search  string         // of Graph500, as records call it

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

func newAttempt(t task, session *mesh.Session) *attempt {
	a := &attempt{epoch: t.epoch, run: newRun(t), session: session}
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
	a.run.stop(errDropped)
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
			func(text string) { a.run.log("warning: " + text) },
			func(e checkpoint.Event) { a.run.checkpointed(e) })
	}
	return a.keeper
}

// find acquires the worker's part in an attempt.
func (x *executor) find(t task) (*attempt, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	a := x.attempts[t.job]
	if a == nil || a.epoch != t.epoch || !a.Acquire() {
		return nil, x.unprepared(t)
	}
	return a, nil
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
