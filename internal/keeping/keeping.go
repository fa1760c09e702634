// Package keeping keeps the checkpoints of a run in this process, for the root package and the
// command line. Package checkpoint has what they are, and where a run continues from.
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

// Keeping keeps the checkpoints of a run at a place. A nil Keeping keeps none.
type Keeping struct {
	Store  store.Store
	writer *checkpoint.Writer
	keeper *checkpoint.Keeper
	stay   bool   // when the run is done, too
	made   string // the directory, if there was none
}

// Open opens a place, and makes it if it is a directory that does not exist.
func Open(place string, stay bool) (*Keeping, error) {
	k := &Keeping{stay: stay}
	if _, err := os.Stat(place); !store.IsS3(place) && errors.Is(err, fs.ErrNotExist) {
		k.made = place
	}
	var err error
	k.Store, err = store.Open(place)
	return k, err
}

// TakenError says that a place has checkpoints of another run, Newest among them if it is not nil.
type TakenError struct{ Newest *checkpoint.Manifest }

func (e *TakenError) Error() string {
	if e.Newest == nil {
		return "another run is about to store its first checkpoint there, or has ended just then: name another place"
	}
	return fmt.Sprintf("it has checkpoints of %s, the newest before superstep %d", e.Newest.Name(),
		e.Newest.Superstep)
}

// Begin has the run with options to keep its checkpoints at the place. From is the checkpoint there
// from which the run continues; without one a place with checkpoints is refused by a TakenError.
// About is the size of the run's state in bytes. Each is called after each checkpoint, stored or
// not.
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
	// nobody owns a place that an earlier version of superstep made
	k.keeper.Own(owner, from != nil)
	to.Parts, to.Checkpoints = k.writer, k.keeper
	return nil
}

// Settle waits for the last checkpoint of a run that has ended, unless all are to be removed
// because the run is done.
func (k *Keeping) Settle(done bool) error {
	if k == nil || k.keeper == nil || done && !k.stay {
		return nil
	}
	k.writer.Flush()
	return errors.Join(k.keeper.Stored(k.writer.Stored()), k.keeper.Settle())
}

// End ends the keeping. The checkpoints of a run that is done are removed, unless they are to stay.
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
		_ = os.Remove(k.made) // unless it has checkpoints
	}
	return err
}
