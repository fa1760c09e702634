package snapshot

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/store"
)

// Entry is a snapshot below a place.
type Entry struct {
	Name     string    // of its directory, from the place; "." is the place itself
	Saved    time.Time // zero if the store does not tell
	Manifest *Manifest // nil after an error
	Err      error     // why it cannot be opened
}

// maxEntries is how many snapshots List finds.
const maxEntries = 10_000

// List finds the snapshots below a place, in the order of their names, and looks whether their
// files are there with their sizes, as the place lists them: what is in the files is not looked at.
// That one is damaged is no error of the others.
func List(ctx context.Context, s store.Store) ([]Entry, error) {
	var found []store.Object
	sizes := store.Sizes{}
	for o, err := range s.List(ctx, "") {
		if err != nil {
			return nil, err
		}
		if path.Base(o.Name) != ManifestName {
			sizes[o.Name] = o.Size
			continue
		}
		if len(found) == maxEntries {
			return nil, fmt.Errorf("%s: found more than %d snapshots", s, maxEntries)
		}
		found = append(found, o)
	}
	all := make([]Entry, len(found))
	var jobs []func(ctx context.Context) error
	for i, o := range found {
		e := &all[i]
		e.Name, e.Saved = path.Dir(o.Name), o.Modified
		jobs = append(jobs, func(ctx context.Context) error {
			if e.Manifest, e.Err = readListed(ctx, s, o); e.Err == nil {
				e.Err = e.Manifest.present(e.Name, sizes)
			}
			if e.Err != nil {
				e.Manifest = nil
			}
			return ctx.Err()
		})
	}
	return all, store.Together(ctx, requests, jobs)
}

// readListed reads the manifest that was listed.
func readListed(ctx context.Context, s store.Store, o store.Object) (*Manifest, error) {
	data, err := store.Fetch(ctx, s, o, maxManifest)
	if err != nil {
		return nil, err
	}
	return parseManifest(data)
}

// present reports whether the files of a snapshot in a directory are among those of a place, with
// their sizes.
func (m *Manifest) present(dir string, sizes store.Sizes) error {
	for _, f := range m.files() {
		if err := sizes.Check(path.Join(dir, f.Name), f.Size); err != nil {
			return err
		}
	}
	return nil
}

// PlaceOf is how a snapshot is named as a graph whose directory lies in a place.
func (e *Entry) PlaceOf(s store.Store) string {
	place := strings.TrimSuffix(s.String(), "/")
	if e.Name != "." {
		place += "/" + e.Name
	}
	if store.IsS3(place) {
		place += "/"
	}
	return place
}
