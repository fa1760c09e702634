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

// ownerName is the object that names the run that a place's checkpoints belong to. A run creates it
// before its first checkpoint, if it does not exist. If two runs find a place empty, one of them
// creates it, and the other one stores no checkpoints there.
const (
	ownerName = "owner.json"
	maxOwner  = 64 << 10
)

// owner is the content of the object.
type owner struct {
	Run     string    `json:"run"` // the same in a run that continues there
	Program string    `json:"program"`
	Graph   string    `json:"graph"`
	Created time.Time `json:"created"`
}

// errOwner means that the object is damaged.
var errOwner = errors.New("it does not name the run that owns these checkpoints")

// Owner returns the run that a place's checkpoints belong to, or "" if there are none, or only
// those of an earlier version. from is the checkpoint that a run continues from, or nil. With from,
// a damaged object is replaced by one with another owner, and warn is called.
func Owner(ctx context.Context, s store.Store, from *Manifest, warn func(string)) (string, error) {
	o, err := ownerOf(ctx, s)
	switch {
	case !errors.Is(err, errOwner) && !errors.Is(err, store.ErrDamaged):
		return o.Run, err
	case from == nil:
		return "", fmt.Errorf("%w: superstep resume continues from a checkpoint there and rewrites this file; if there is none, remove it", err)
	}
	warn(err.Error() + ": rewriting it")
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
	o, err = parseOwner(data)
	return o, store.At(s, ownerName, err)
}

// parseOwner decodes the object. data may be any bytes.
func parseOwner(data []byte) (o owner, err error) {
	if err = store.Decode(data, &o); err == nil && o.Run == "" {
		err = errOwner
	}
	return o, err
}

// claim makes a run the owner of a place, before its first checkpoint there. It returns an error if
// another run is the owner.
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
