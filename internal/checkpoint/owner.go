package checkpoint

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/superstep-go/superstep/internal/store"
)

// ownerName is the object that says whose checkpoints a place has. It is put, if there is none,
// before the first of them: of two runs that both found the place empty one has it, and the other
// one stores no checkpoint there.
const (
	ownerName = "owner.json"
	maxOwner  = 64 << 10
)

// owner is what the object says.
type owner struct {
	Run     string    `json:"run"` // the same in a run that goes on there
	Program string    `json:"program"`
	Graph   string    `json:"graph"`
	Created time.Time `json:"created"`
}

// errOwner says that the object is damaged.
var errOwner = errors.New("it does not say whose checkpoints these are")

// Owner returns the run that a place's checkpoints are of, or "" if none has stored any, or only
// one of a version before. from is the checkpoint there from which a run goes on, or nil: then a
// damaged object is replaced by one of another owner, and warn is told.
func Owner(ctx context.Context, s store.Store, from *Manifest, warn func(string)) (string, error) {
	o, err := ownerOf(ctx, s)
	switch {
	case !errors.Is(err, errOwner) && !errors.Is(err, store.ErrDamaged):
		return o.Run, err
	case from == nil:
		return "", fmt.Errorf("%w: superstep resume goes on from a checkpoint there and writes it again; if there is none, remove this file", err)
	}
	warn(err.Error() + ": it is written again")
	if err := s.Delete(ctx, ownerName); err != nil {
		return "", err
	}
	run := rand.Text()
	return run, claim(ctx, s, run, from)
}

func ownerOf(ctx context.Context, s store.Store) (o owner, err error) {
	data, err := store.Get(ctx, s, ownerName, maxOwner)
	if errors.Is(err, fs.ErrNotExist) {
		return owner{}, nil
	}
	if err != nil {
		return owner{}, err
	}
	if o, err = parseOwner(data); err != nil {
		return owner{}, fmt.Errorf("%s: %w", store.NameOf(s, ownerName), err)
	}
	return o, nil
}

// parseOwner decodes what the object says; any bytes may come.
func parseOwner(data []byte) (o owner, err error) {
	if err = store.Decode(data, &o); err == nil && o.Run == "" {
		err = errOwner
	}
	return o, err
}

// claim makes a run the owner of a place, before its first checkpoint there, or fails if another
// one is.
func claim(ctx context.Context, s store.Store, run string, m *Manifest) error {
	data, err := store.Encode(owner{run, m.Name(), m.Graph.Name, time.Now().UTC()})
	if err != nil {
		return err
	}
	err = s.PutIfAbsent(ctx, ownerName, data)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	o, err := ownerOf(ctx, s)
	switch {
	case err != nil:
		return err
	case o.Run == "": // it was removed just now
		return s.PutIfAbsent(ctx, ownerName, data)
	case o.Run != run:
		return fmt.Errorf("%s has the checkpoints of another run, of %s on %s since %s: name another place", s, o.Program, o.Graph, o.Created.Format(time.DateTime))
	}
	return nil
}
