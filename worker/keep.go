package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/history"
	jobspec "github.com/superstep-go/superstep/internal/job"
	objects "github.com/superstep-go/superstep/internal/store"
)

// kept is the worker's part in the checkpoints of an attempt at a job. In a plan it goes from one phase's job to the next one's, as engine.Shared
// does: parts of a checkpoint that was taken in one phase may be stored when the next one runs.
type kept struct {
	keep   *control.Keep
	when   checkpoint.Policy
	store  objects.Store
	writer *checkpoint.Writer
	closed sync.Once
	meter  history.Meter // what the run has come to, where it is driven
	began  time.Time

	// Of the first worker, where the run is driven.
	plan   *checkpoint.Plan // how far it is; nil if there is none
	mu     sync.Mutex
	keeper *checkpoint.Keeper // once it drives
	crew   *crew              // whose run is told of checkpoints
}

// newKept returns nil if an attempt keeps no checkpoints. A place that is away costs checkpoints, and not the run.
func (x *executor) newKept(k *control.Keep) (*kept, error) {
	if k == nil {
		return nil, nil
	}
	when, err := jobspec.Read[checkpoint.Policy](k.WhenJson)
	if err != nil {
		return nil, err
	}
	to := &kept{keep: k, when: *when, store: objects.Later(k.Place, x.options.Stores), began: k.Began.AsTime()}
	to.writer = checkpoint.NewWriter(to.store, k.Run)
	return to, nil
}

// close is idempotent, and k may be nil.
func (k *kept) close() {
	if k == nil {
		return
	}
	k.closed.Do(func() {
		k.writer.Close()
		if keeper := k.drives(); keeper != nil {
			keeper.Abandon() // the master removes those of a job that is done
		}
		objects.Close(k.store)
	})
}

// drives returns the keeper of a run that is driven here, or nil.
func (k *kept) drives() *checkpoint.Keeper {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.keeper
}

// keeperOf returns what decides, where the run is driven, when checkpoints are taken; nil if none are.
func (k *kept) keeperOf(c *crew) *checkpoint.Keeper {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.crew = c
	if k.keeper == nil {
		share := int64(c.graph.N) * checkpoint.BytesOfVertex / int64(max(len(c.layout.Workers), 1))
		k.keeper = checkpoint.NewKeeper(k.store, k.when, share,
			func(text string) { k.driving().log("warning: " + text) }, func(e checkpoint.Event) { k.driving().checkpointed(e) })
	}
	return k.keeper
}

// driving returns the crew of the run that is or was driven last.
func (k *kept) driving() *crew {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.crew
}

// planned says that the attempt runs by a plan.
func (k *kept) planned(program string) {
	if k != nil && k.plan == nil {
		k.plan = &checkpoint.Plan{Program: program}
	}
}

// ran notes how a phase has ended, whose totals are encoded.
func (k *kept) ran(program string, d *bsp.Driver, totals []byte) {
	if k != nil && k.plan != nil {
		k.plan.Add(bsp.RanOf(program, d.Own(), totals, d.Times()))
	}
}

// goOn takes up the state of a checkpoint, with which what was prepared goes on. The other workers of the job do so at the same time.
func (x *executor) goOn(ctx context.Context, t task, g *control.GoOn) (*control.PrepareReport, error) {
	j, err := x.job(t)
	if err != nil {
		return nil, err
	}
	defer j.Release()
	began := time.Now()
	s, err := x.options.Stores(g.Place)
	if err != nil {
		return nil, fmt.Errorf("checkpoints: %w", &checkpoint.UnreadError{Err: err})
	}
	defer objects.Close(s)
	m, err := checkpoint.Find(ctx, s, g.Manifest, func(string) {})
	if err != nil {
		return nil, fmt.Errorf("checkpoints: %w", err)
	}
	j.session.Begin(m.Own())
	if err := j.program.Restore(ctx, &checkpoint.Reader{Store: s, Manifest: m}); err != nil {
		return nil, err
	}
	j.running.Lock()
	j.from = m
	if before, began := history.Before(m.Account); j.kept != nil && !began.IsZero() {
		j.kept.meter.Summary, j.kept.began = before, began
	}
	if j.kept != nil && j.kept.plan != nil && m.Plan != nil {
		j.kept.plan.Ran = slices.Clone(m.Plan.Ran)
	}
	j.running.Unlock()
	facts, err := j.facts()
	return &control.PrepareReport{Seconds: time.Since(began).Seconds(), Facts: facts}, err
}

// keepNow has the run of a job that is driven here take a checkpoint soon.
func (x *executor) keepNow(t task) error {
	j, err := x.job(t)
	if err != nil {
		return err
	}
	defer j.Release()
	j.running.Lock()
	keeper := j.kept.drives()
	j.running.Unlock()
	if keeper == nil {
		return errors.New("it keeps no checkpoints")
	}
	keeper.Ask()
	return nil
}

// checkpointed tells the master of a checkpoint.
func (c *crew) checkpointed(e checkpoint.Event) {
	if e.Failed != "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	news := c.newsOf()
	news.Checkpoint, news.CheckpointSeconds = uint32(e.Superstep), e.Copied+e.Wrote
}
