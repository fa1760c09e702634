package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/store"
)

// Is reports whether the name of a graph is that of a snapshot: a directory with one, a place in S3
// that ends with a slash, or the name of a manifest.
func Is(name string) bool {
	if store.IsS3(name) {
		return strings.HasSuffix(name, "/") || path.Base(name) == ManifestName
	}
	if filepath.Base(name) == ManifestName {
		return true
	}
	name, err := store.Local(name)
	if err == nil {
		_, err = os.Stat(filepath.Join(name, ManifestName))
	}
	return err == nil
}

// Place is the place of a snapshot, and its manifest.
type Place struct {
	*Manifest
	store.Store
}

// Find reads the manifest of a snapshot. The caller closes the place; graphs opened from it do not
// need it.
func Find(ctx context.Context, name string) (*Place, error) {
	place := cmp.Or(strings.TrimSuffix(name, ManifestName), ".")
	if !store.IsS3(place) {
		// opening it would create the directory
		_, err := store.RootsOf(ctx).Stat(filepath.Join(place, ManifestName))
		if os.IsNotExist(err) || errors.Is(err, syscall.ENOTDIR) {
			return nil, fmt.Errorf("%s: %w", name, ErrNone)
		}
	}
	s, err := store.RootsOf(ctx).Open(place)
	if err != nil {
		return nil, err
	}
	m, err := ReadManifest(ctx, s)
	if err != nil {
		store.Close(s)
		return nil, err
	}
	return &Place{m, s}, nil
}

// Close closes the store.
func (p *Place) Close() { store.Close(p.Store) }

// Abandon removes the empty directories that were created for a snapshot that does not exist.
func Abandon(s store.Store) { removeEmpty(s, ".") }

// removeEmpty removes a directory of a store that has directories, if it is empty, and the store's
// own if it was created for this.
func removeEmpty(s store.Store, dir string) {
	if d, ok := s.(*store.Dir); ok {
		d.RemoveEmpty(dir)
	}
}

// Account describes the snapshot for people.
func (m *Manifest) Account() string {
	weights := "no weights"
	if m.Weights != "none" {
		weights = m.Weights + " weights"
	}
	return fmt.Sprintf("a snapshot of %s, %s, %s: partitions in a grid of %s, parallel edges: %s, self-loops: %s", m.Graph, edges.Kind(m.Directed), weights, m.Grid, m.Duplicates, m.SelfLoops)
}
