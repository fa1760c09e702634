// Package keeping manages the checkpoints of a run in this process, for the root package and the
// command line. Package checkpoint stores them.
package keeping

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/store"
)

// Keeping manages the checkpoints of a run at a place. A nil Keeping has none.
type Keeping struct {
	Store  store.Store
	writer *checkpoint.Writer
	keeper *checkpoint.Keeper
	stay   bool   // keep the checkpoints after the run
	made   string // the directory that Open created, or ""
}

// Open opens a place. It creates a directory that does not exist.
func Open(place string, stay bool) (*Keeping, error) {
	k := &Keeping{stay: stay}
	if _, err := os.Stat(place); !store.IsS3(place) && errors.Is(err, fs.ErrNotExist) {
		k.made = place
	}
	var err error
	k.Store, err = store.Open(place)
	return k, err
}

// TakenError means that a place belongs to another run. Newest is the newest valid checkpoint
// there, or nil if there is none yet.
type TakenError struct{ Newest *checkpoint.Manifest }

func (e *TakenError) Error() string {
	if e.Newest == nil {
		return "another run uses it, or ended before its first checkpoint: name another place"
	}
	return fmt.Sprintf("it has checkpoints of %s, the newest before superstep %d", e.Newest.Name(),
		e.Newest.Superstep)
}

// Begin sets the run's options so that it stores its checkpoints at the place. from is the
// checkpoint there that the run continues from; if it is nil and the place has checkpoints, Begin
// returns a TakenError. about is the size of the run's state in bytes. each is called after each
// checkpoint, stored or not.
func (k *Keeping) Begin(
	ctx context.Context, to *engine.Options, from *checkpoint.Manifest, when checkpoint.Policy,
	about int64,
	warn func(string), each func(checkpoint.Event),
) error {
	owner, err := checkpoint.Owner(ctx, k.Store, from, warn)
	if err != nil {
		return err
	}
	if from == nil {
		switch newest, err := checkpoint.Find(ctx, k.Store, "", func(string) {}); {
		case err == nil:
			return &TakenError{newest}
		case !errors.Is(err, checkpoint.ErrNone):
			return err
		case owner != "":
			return &TakenError{}
		}
		owner = rand.Text()
	}
	k.writer = checkpoint.NewWriter(k.Store, strings.ToLower(rand.Text()[:10]))
	k.keeper = checkpoint.NewKeeper(k.Store, when, about, warn, each)
	// a place made by an earlier version of superstep has no owner
	k.keeper.Own(owner, from != nil)
	to.Parts, to.Checkpoints = k.writer, k.keeper
	return nil
}

// Settle waits for the last checkpoint of an ended run, unless the run is done and its checkpoints
// will be removed.
func (k *Keeping) Settle(done bool) error {
	if k == nil || k.keeper == nil || done && !k.stay {
		return nil
	}
	k.writer.Flush()
	return errors.Join(k.keeper.Stored(k.writer.Stored()), k.keeper.Settle())
}

// End ends the keeping. It removes the checkpoints of a run that is done, unless they should stay.
func (k *Keeping) End(done bool) error {
	if k == nil {
		return nil
	}
	err := k.Settle(done)
	if k.keeper != nil {
		k.writer.Close()
		k.keeper.Close(done && !k.stay)
	}
	store.Close(k.Store)
	if k.made != "" {
		_ = os.Remove(k.made) // fails if it has checkpoints
	}
	return err
}
