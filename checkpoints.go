package superstep

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/keeping"
)

// policy returns when checkpoints are taken.
func (c *CheckpointOptions) policy() checkpoint.Policy {
	return checkpoint.Policy{Every: c.Every, Interval: c.Interval, MTBF: c.MTBF, Strict: c.Strict}
}

// validate returns an error for options that are invalid in this process and on a cluster.
func (c *CheckpointOptions) validate() error {
	switch {
	case c.Every < 0 || c.Every > math.MaxUint32 || c.Interval < 0 || c.MTBF < 0:
		return fmt.Errorf("superstep: Options.Checkpoints: found Every %d, Interval %v, MTBF %v, expected 0 or more, and Every at most %d",
			c.Every, c.Interval, c.MTBF, uint32(math.MaxUint32))
	case c.Every > 0 && c.Interval > 0:
		return errors.New("superstep: Options.Checkpoints: found Every and Interval, expected one")
	}
	return nil
}

// keepCheckpoints opens the place. It sets the run's options so that it stores checkpoints there,
// or resumes from one.
func (o *Options) keepCheckpoints(ctx context.Context, to *engine.Options, vertices int,
) (*keeping.Keeping, error) {
	of := &o.Checkpoints
	switch {
	case of.Place != "":
	case of.policy() != checkpoint.Policy{} || of.Keep || of.Resume || of.Fork:
		return nil, errors.New(
			"superstep: Options.Checkpoints.Place is missing: a directory, or s3://BUCKET/PREFIX")
	default:
		return nil, nil
	}
	k, err := keeping.Open(of.Place, of.Keep)
	if err != nil {
		return nil, fmt.Errorf("checkpoints: %w", err)
	}
	warn := func(text string) {
		if o.Log != nil {
			o.Log("warning: " + text)
		}
	}
	var from *checkpoint.Manifest
	if of.Resume {
		from, err = checkpoint.Find(ctx, k.Store, "", warn)
		if err == nil {
			to.Fork = of.Fork
			to.From = &checkpoint.Reader{Store: k.Store, Manifest: from}
		}
	}
	if err == nil || errors.Is(err, checkpoint.ErrNone) {
		err = k.Begin(ctx, to, from, of.policy(), int64(vertices)*checkpoint.BytesOfVertex, warn,
			func(checkpoint.Event) {})
	}
	if taken := new(keeping.TakenError); errors.As(err, &taken) && taken.Newest != nil {
		err = fmt.Errorf("%w: set Resume to go on from that, or name another place", err)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("checkpoints: %s: %w", of.Place, err), k.End(false))
	}
	return k, nil
}
