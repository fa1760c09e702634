package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/jobspec"
	objects "github.com/superstep-go/superstep/internal/store"
)

// keeping is what the master says of checkpoints when a job is prepared: where they are kept, and which one it goes on from; either may be nil.
type keeping struct {
	keep *control.Keep
	goOn *control.GoOn
}

// kept is what a job has to do with checkpoints.
type kept struct {
	open   func(place string) (objects.Store, error)
	keep   *control.Keep
	store  objects.Store
	writer *checkpoint.Writer // nil if none are kept
	from   *checkpoint.Reader // of the one that it goes on from, or nil
	keeper *checkpoint.Keeper // in the first worker, once it drives
}

func (k *kept) close() {
	k.writer.Close()
	if k.keeper != nil {
		k.keeper.Abandon() // the master removes those of a job that is done
	}
	objects.Close(k.store)
	if k.from != nil {
		objects.Close(k.from.Store)
	}
}

// keep readies a job to keep checkpoints, and finds the one that it goes on from.
func (j *job) keep(ctx context.Context, k keeping, o *engine.Options) error {
	if k.keep != nil {
		j.kept.store = objects.Later(k.keep.Place, j.kept.open) // a place that is away costs checkpoints, and not the run
		j.kept.keep, j.kept.writer = k.keep, checkpoint.NewWriter(j.kept.store, k.keep.Run)
		o.Parts = j.kept.writer
	}
	if k.goOn == nil {
		return nil
	}
	s, err := j.kept.open(k.goOn.Place)
	if err != nil {
		return fmt.Errorf("checkpoints: %w", &checkpoint.UnreadError{Err: err})
	}
	m, err := checkpoint.Find(ctx, s, k.goOn.Manifest, func(string) {})
	if err != nil {
		objects.Close(s)
		return fmt.Errorf("checkpoints: %w", err)
	}
	j.kept.from = &checkpoint.Reader{Store: s, Manifest: m}
	return nil
}

// goOn takes up the state of the checkpoint that the job goes on from.
func (j *job) goOn(ctx context.Context) error {
	if j.kept.from == nil {
		return nil
	}
	j.session.Begin(j.kept.from.Manifest.Superstep)
	return j.program.Restore(ctx, j.kept.from)
}

// stateOfVertex is how many bytes a checkpoint has for a vertex, about, before the first one tells.
const stateOfVertex = 16

// keeper makes what decides, where the run is driven, when checkpoints are taken; nil if none are.
func (c *crew) keeper() *checkpoint.Keeper {
	k := c.kept.keep
	if k == nil {
		return nil
	}
	share := int64(c.graph.N) * stateOfVertex / int64(max(len(c.layout.Workers), 1))
	c.running.Lock()
	defer c.running.Unlock()
	c.kept.keeper = checkpoint.NewKeeper(c.kept.store, jobspec.Policy(k.When), share, func(text string) { c.log("warning: " + text) }, c.checkpointed)
	return c.kept.keeper
}

// keepNow has the run of a job that is driven here take a checkpoint soon.
func (x *executor) keepNow(t task) error {
	j, err := x.job(t)
	if err != nil {
		return err
	}
	defer j.Release()
	j.running.Lock()
	defer j.running.Unlock()
	if j.kept.keeper == nil {
		return errors.New("it keeps no checkpoints")
	}
	j.kept.keeper.Ask()
	return nil
}

// checkpointed tells the master of a checkpoint.
func (c *crew) checkpointed(e checkpoint.Event) {
	if e.Failed != "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.newsOf().Checkpoint = uint32(e.Superstep)
}
