package superstep

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/engine"
	objects "github.com/superstep-go/superstep/internal/store"
)

// policy is when checkpoints are taken.
func (c *CheckpointOptions) policy() checkpoint.Policy {
	return checkpoint.Policy{Every: c.Every, Interval: c.Interval, MTBF: c.MTBF, Strict: c.Strict}
}

// validate refuses what is wrong wherever a graph is.
func (c *CheckpointOptions) validate() error {
	switch {
	case c.Every < 0 || c.Every > math.MaxUint32 || c.Interval < 0 || c.MTBF < 0:
		return fmt.Errorf("superstep: Options.Checkpoints: found Every %d, Interval %v, MTBF %v, expected 0, for the default, or more, and of Every at most %d",
			c.Every, c.Interval, c.MTBF, uint32(math.MaxUint32))
	case c.Every > 0 && c.Interval > 0:
		return errors.New("superstep: Options.Checkpoints: Every and Interval are both given: one of them says when a checkpoint is taken")
	}
	return nil
}

// kept is what keeps the checkpoints of a run; nil if it has none.
type kept struct {
	store  objects.Store
	writer *checkpoint.Writer
	keeper *checkpoint.Keeper
	stay   bool   // when the run is done, too
	made   string // the directory, if there was none
}

// keepCheckpoints opens the place, and has the run with options to keep its checkpoints there, or go on from one.
func (o *Options) keepCheckpoints(ctx context.Context, to *engine.Options, program engine.Program, vertices int) (_ *kept, err error) {
	of := &o.Checkpoints
	place := of.Place
	switch {
	case place != "":
	case of.policy() != checkpoint.Policy{} || of.Keep || of.Resume || of.Fork:
		return nil, errors.New("superstep: Options.Checkpoints.Place is missing: a directory, or s3://BUCKET/PREFIX")
	default:
		return nil, nil
	}
	if err := program.Keepable(); err != nil {
		return nil, err
	}
	k := &kept{stay: of.Keep}
	if _, err := os.Stat(place); !objects.IsS3(place) && errors.Is(err, fs.ErrNotExist) {
		k.made = place
	}
	if k.store, err = objects.Open(place); err != nil {
		return nil, fmt.Errorf("checkpoints: %w", err)
	}
	warn := func(text string) {
		if o.Log != nil {
			o.Log("warning: " + text)
		}
	}
	owner := rand.Text()
	newest, err := checkpoint.Find(ctx, k.store, "", warn)
	switch {
	case err == nil && of.Resume:
		to.Fork = of.Fork
		to.From = &checkpoint.Reader{Store: k.store, Manifest: newest}
		owner, err = checkpoint.Owner(ctx, k.store, newest, warn)
	case err == nil:
		err = fmt.Errorf("%s has checkpoints of %s, the newest before superstep %d: set Resume to go on from that, or name another place", place, newest.Name(), newest.Superstep)
	case errors.Is(err, checkpoint.ErrNone):
		var other string
		if other, err = checkpoint.Owner(ctx, k.store, nil, warn); other != "" {
			err = fmt.Errorf("%s: another run is about to store its first checkpoint there, or has ended just then: name another place", place)
		}
	}
	if err != nil {
		objects.Close(k.store)
		return nil, fmt.Errorf("checkpoints: %w", err)
	}
	k.writer = checkpoint.NewWriter(k.store, strings.ToLower(rand.Text()[:10]))
	k.keeper = checkpoint.NewKeeper(k.store, of.policy(), int64(vertices)*checkpoint.BytesOfVertex, warn, func(checkpoint.Event) {})
	k.keeper.Own(owner, to.From != nil) // of a place of a version before that has none, nobody
	to.Parts, to.Checkpoints = k.writer, k.keeper
	return k, nil
}

// end ends the keeping when the run has ended. The last checkpoint of a run that is not done, or that is to leave some, is waited for; else all are removed.
func (k *kept) end(done bool) error {
	if k == nil {
		return nil
	}
	var err error
	stay := !done || k.stay
	if stay {
		k.writer.Flush()
		err = errors.Join(k.keeper.Stored(k.writer.Stored()), k.keeper.Settle())
	}
	k.writer.Close()
	k.keeper.Close(!stay)
	objects.Close(k.store)
	if k.made != "" {
		_ = os.Remove(k.made) // unless it has checkpoints
	}
	return err
}
