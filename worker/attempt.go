package worker

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/history"
	"github.com/superstep-go/superstep/internal/graph500"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	objects "github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// attempt is the worker's part in an attempt at a job. It has what its jobs have in common: they come
// one after the other, as the phases of a plan or as the kernels of Graph500.
//
//	first command -> open <--> with the job prepared last -- drop, or the next attempt --> closed
//
// It counts the commands that use it, and its jobs. So what it holds is freed when it was closed and
// no job can write to it any more. Parts of a checkpoint that was taken in one phase may be stored
// when the next one runs.
type attempt struct {
	*mem.Refs
	epoch   uint32
	shared  *engine.Shared    // of the phases of a plan; nil if there is none
	decides map[string]string // what the values depend on, for checkpoints

	// What its workers do together they do over this session; nil while there is none.
	session *mesh.Session
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
	job    *job // that was prepared last, or nil
	run    *run // that was begun last, or nil
	closed bool
	keeper *checkpoint.Keeper // decides when checkpoints are taken, where the run is driven
}

func newAttempt(epoch uint32) *attempt {
	a := &attempt{epoch: epoch}
	a.Refs = mem.NewRefs(a.free)
	return a
}

func (a *attempt) free() {
	a.shared.Close()
	if a.session != nil {
		a.session.Close()
	}
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

// Close stops the run, if one is under way, closes the job that was prepared last, and lets no other
// begin.
func (a *attempt) Close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.stop(errDropped)
	a.replace(nil)
	a.Refs.Close()
}

// replace has a job in place of the one before, which is closed.
func (a *attempt) replace(j *job) {
	a.mu.Lock()
	old := a.job
	if a.job = j; a.closed {
		a.job, old = nil, cmp.Or(old, j)
	}
	a.mu.Unlock()
	if old != nil {
		old.Close()
	}
}

// current acquires the job that was prepared last; nil if there is none.
func (a *attempt) current() *job {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.job == nil || !a.job.Acquire() {
		return nil
	}
	return a.job
}

// begin starts a run, if none is under way.
func (a *attempt) begin(t task) (*run, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return nil, errDropped
	case a.run != nil && !a.run.over():
		return nil, errors.New("a run of it is under way")
	}
	a.run = newRun(t)
	return a.run, nil
}

// last is the run that was begun last, or nil.
func (a *attempt) last() *run {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.run
}

// stop stops the run that is under way, if one is.
func (a *attempt) stop(cause error) {
	if r := a.last(); r != nil {
		r.stop(cause)
	}
}

// nextPhase takes over what the phase before has left, and closes its job.
func (a *attempt) nextPhase() {
	if j := a.current(); j != nil {
		a.shared = j.program.Shared()
		j.Release()
	}
	a.replace(nil)
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
			func(text string) { a.last().log("warning: " + text) }, func(e checkpoint.Event) { a.last().checkpointed(e) })
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
	return fmt.Errorf("worker %s has nothing prepared for attempt %d of job %s", x.options.Name, t.epoch, t.job)
}

// job acquires what was prepared last for an attempt.
func (x *executor) job(t task) (*job, error) {
	a, err := x.find(t)
	if err != nil {
		return nil, err
	}
	defer a.Release()
	if j := a.current(); j != nil {
		return j, nil
	}
	return nil, x.unprepared(t)
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
