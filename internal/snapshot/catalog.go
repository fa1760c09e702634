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
	Name     string    // relative to the place; "." is the place itself
	Saved    time.Time // zero if unknown
	Manifest *Manifest // nil after an error
	Err      error     // why it cannot be opened
}

// maxEntries is the greatest number of snapshots that List returns.
const maxEntries = 10_000

// List returns the snapshots below a place, ordered by name. It checks that their files exist with
// their sizes, by the place's list. It does not read the files. A damaged snapshot has its own
// error.
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
			var m *Manifest
			data, err := store.Fetch(ctx, s, o, maxManifest)
			if err == nil {
				m, err = parseManifest(data)
			}
			if err == nil {
				err = m.present(e.Name, sizes)
			}
			if e.Err = err; err == nil {
				e.Manifest = m
			}
			return ctx.Err()
		})
	}
	return all, store.Together(ctx, requests, jobs)
}

// present returns an error unless the files of a snapshot in a directory are in sizes with their
// sizes.
func (m *Manifest) present(dir string, sizes store.Sizes) error {
	for _, f := range m.files() {
		if err := sizes.Check(path.Join(dir, f.Name), f.Size); err != nil {
			return err
		}
	}
	return nil
}

// PlaceOf returns the name of a snapshot as a graph, if its directory is in a place.
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
