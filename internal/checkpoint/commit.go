package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/superstep-go/superstep/internal/faults"
	"github.com/superstep-go/superstep/internal/store"
)

// commit makes stored parts a checkpoint. If the checkpoint already exists and is valid, it is
// left: an earlier part of the run got as far.
func commit(ctx context.Context, s store.Store, m *Manifest) error {
	m.Format, m.Created = Format, time.Now().UTC()
	text, err := store.Encode(m)
	if err != nil {
		return err
	}
	if err := faults.At(faults.StoringManifest, ""); err != nil {
		return err
	}
	name := ManifestName(m.Superstep)
	err = s.PutIfAbsent(ctx, name, text)
	if err == nil {
		return faults.At(faults.StoredManifest, "")
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if was, err := read(ctx, s, name); err == nil && present(ctx, s, was) == nil {
		if differs := was.otherRun(m); differs != "" {
			return fmt.Errorf("%s: another run has one there: %s", name, differs)
		}
		return nil
	}
	if err := s.Delete(ctx, name); err != nil {
		return err
	}
	return s.PutIfAbsent(ctx, name, text)
}

// otherRun returns why two checkpoints before the same superstep cannot be of the same run, or "".
func (m *Manifest) otherRun(other *Manifest) string {
	a, b := &m.Graph, &other.Graph
	switch differs := cmp.Or(m.Program.Differs(&other.Program), m.Differs(other.Decides)); {
	case m.Name() != other.Name():
		return fmt.Sprintf("it is of %s", m.Name())
	case differs != "":
		return differs
	case a.Print != b.Print || a.Vertices != b.Vertices || a.Arcs != b.Arcs:
		return "it is on another graph"
	}
	return ""
}

// Prune removes all checkpoints except the newest keep valid ones: each manifest before its parts.
// It also removes parts without a manifest from before superstep before. A checkpoint is valid if
// its parts exist with their sizes and, if reads is set, their checksums.
func Prune(ctx context.Context, s store.Store, keep, before int, reads bool) error {
	all, err := List(ctx, s)
	if err != nil {
		return err
	}
	kept, good := map[string]bool{}, 0
	var old []string
	for _, l := range all {
		if good == keep {
			old = append(old, l.Name)
			continue
		}
		l.look(ctx, s, reads)
		if unread := (*UnreadError)(nil); errors.As(l.Err, &unread) {
			return l.Err // the place does not answer, so nothing is known
		}
		switch {
		case l.Err == nil:
			good++
			for _, p := range l.Manifest.Parts {
				kept[p.Name] = true
			}
		case l.Manifest != nil:
			old = append(old, l.Name)
		default: // unknown: keep it and its parts until there are newer valid ones
			kept[l.Name] = true
		}
	}
	for o, err := range s.List(ctx, partPrefix) {
		if err != nil {
			return err
		}
		var superstep int
		if _, err := fmt.Sscanf(o.Name, partPrefix+"%d-", &superstep); err == nil &&
			superstep < before && !kept[o.Name] && !kept[ManifestName(superstep)] {
			old = append(old, o.Name)
		}
	}
	if keep == 0 {
		old = append(old, ownerName) // last, after all objects of its run
	}
	for _, name := range old {
		if err := s.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
