package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/superstep-go/superstep/internal/store"
)

// Objects of a checkpoint: the manifest and the parts. The names of parts contain the run that
// wrote them, because a run that continues writes its own parts.
//
//	checkpoint-000000120.json
//	part-000000120-RUN-00003-of-00008
const (
	manifestPrefix = "checkpoint-"
	manifestSuffix = ".json"
	partPrefix     = "part-"
	maxManifest    = 64 << 20
)

// ManifestName returns the name of the manifest of the checkpoint before a superstep.
func ManifestName(superstep int) string {
	return fmt.Sprintf("%s%09d%s", manifestPrefix, superstep, manifestSuffix)
}

// ErrNone means that a place has no checkpoint.
var ErrNone = errors.New("it has no checkpoint")

// UnreadError means that the store failed to return a checkpoint, which may still be valid.
type UnreadError struct{ Err error }

func (e *UnreadError) Error() string { return e.Err.Error() }

func (e *UnreadError) Unwrap() error { return e.Err }

// read reads a manifest.
func read(ctx context.Context, s store.Store, name string) (*Manifest, error) {
	data, err := store.Get(ctx, s, name, maxManifest)
	if err != nil {
		return nil, &UnreadError{err}
	}
	m, err := parseManifest(data)
	return m, store.At(s, name, err)
}

func parseManifest(data []byte) (*Manifest, error) {
	m := &Manifest{}
	if err := store.Decode(data, m); err != nil {
		return nil, err
	}
	if m.Format != Format {
		return nil, fmt.Errorf("its format is %d, and this version reads %d: resume with the version that wrote it", m.Format, Format)
	}
	if m.Superstep < 1 || len(m.Parts) == 0 {
		return nil, fmt.Errorf("found a checkpoint before superstep %d of %d parts", m.Superstep,
			len(m.Parts))
	}
	if own := m.Own(); own < 0 || own > m.Superstep || len(m.State.Seconds) > own ||
		m.State.Phase < 0 {
		return nil, fmt.Errorf("found the times of %d supersteps of %d, and phase %d",
			len(m.State.Seconds), own, m.State.Phase)
	}
	if m.Plan != nil {
		for i, r := range m.Plan.Ran {
			if r.Supersteps < 0 || r.Supersteps > m.Superstep || len(r.Seconds) > r.Supersteps {
				return nil, fmt.Errorf("found the times of %d supersteps of phase %d, which had %d",
					len(r.Seconds), i+1, r.Supersteps)
			}
		}
	}
	for i, p := range m.Parts {
		if p.Partition != i || p.Bytes < 0 || !fs.ValidPath(p.Name) ||
			!strings.HasPrefix(p.Name, partPrefix) {
			return nil, fmt.Errorf("part %d is %.80q of partition %d with %d bytes", i, p.Name,
				p.Partition, p.Bytes)
		}
	}
	return m, nil
}

// Listed is a checkpoint in the result of List: its manifest, or the error in it.
type Listed struct {
	Name     string
	Manifest *Manifest
	Err      error
}

// List returns the checkpoints of a place, newest first.
func List(ctx context.Context, s store.Store) (all []Listed, err error) {
	for o, err := range s.List(ctx, manifestPrefix) {
		if err != nil {
			return nil, err
		}
		if !strings.HasSuffix(o.Name, manifestSuffix) {
			continue
		}
		l := Listed{Name: o.Name}
		l.Manifest, l.Err = read(ctx, s, o.Name)
		if l.Err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b Listed) int { return cmp.Compare(b.Name, a.Name) })
	return all, nil
}

// Find returns the checkpoint with a name, if its parts exist with their sizes. If the name is
// empty it returns the newest valid checkpoint; it reads each part and checks its checksum. warn is
// called for checkpoints that it skips.
func Find(ctx context.Context, s store.Store, name string, warn func(string)) (*Manifest, error) {
	if name != "" {
		m, err := read(ctx, s, name)
		if err == nil {
			err = present(ctx, s, m)
		}
		return m, err
	}
	all, err := List(ctx, s)
	if err != nil {
		return nil, err
	}
	none := fmt.Errorf("%s: %w", s, ErrNone)
	for _, l := range all {
		if l.look(ctx, s, true); l.Err == nil {
			return l.Manifest, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if errors.Is(l.Err, store.ErrOld) {
			none = l.Err
		}
		warn(fmt.Sprintf("skipping checkpoint %s: %v", l.Name, l.Err))
	}
	return nil, none
}

// look checks that a checkpoint's parts exist with their sizes and, if reads is set, with their
// checksums.
func (l *Listed) look(ctx context.Context, s store.Store, reads bool) {
	if l.Err == nil {
		l.Err = present(ctx, s, l.Manifest)
	}
	if l.Err == nil && reads {
		l.Err = (&Reader{Store: s, Manifest: l.Manifest}).Verify(ctx)
	}
}

// present returns an error unless the parts of a checkpoint exist with their sizes.
func present(ctx context.Context, s store.Store, m *Manifest) error {
	found, err := store.SizesOf(ctx, s, fmt.Sprintf("%s%09d-", partPrefix, m.Superstep))
	if err != nil {
		return &UnreadError{err}
	}
	for _, p := range m.Parts {
		if err := found.Check(p.Name, p.Bytes); err != nil {
			return err
		}
	}
	return nil
}

// Reader reads the parts of a checkpoint.
type Reader struct {
	store.Store
	*Manifest
}

// Part reads a part. It returns an error if the part is damaged.
func (r *Reader) Part(ctx context.Context, i int) (*Part, error) {
	want := &r.Parts[i]
	data, err := store.Read(ctx, r.Store, want.Name, want.Sum)
	switch {
	case errors.Is(err, store.ErrDamaged):
		return nil, err
	case err != nil:
		return nil, &UnreadError{err}
	}
	p, err := decode(data)
	if err == nil && (p.Partition != i || p.Of != len(r.Parts) || p.Superstep != r.Superstep) {
		err = fmt.Errorf("found partition %d of %d before superstep %d, expected %d of %d before %d", p.Partition, p.Of, p.Superstep, i, len(r.Parts), r.Superstep)
	}
	return p, store.At(r.Store, want.Name, err)
}

// readAhead is the number of parts that are read at the same time, because a store answers several
// requests faster than one after the other.
const readAhead = 4

// Each reads some parts, several at once. It calls f for one at a time, in any order.
func (r *Reader) Each(ctx context.Context, parts []int, f func(*Part) error) error {
	var turn sync.Mutex
	var jobs []func(ctx context.Context) error
	for _, i := range parts {
		jobs = append(jobs, func(ctx context.Context) error {
			p, err := r.Part(ctx, i)
			if err != nil {
				return err
			}
			turn.Lock()
			defer turn.Unlock()
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return f(p)
		})
	}
	return store.Together(ctx, readAhead, jobs)
}

// Verify reads all parts of a checkpoint and checks them.
func (r *Reader) Verify(ctx context.Context) error {
	for i := range r.Parts {
		if _, err := r.Part(ctx, i); err != nil {
			return err
		}
	}
	return nil
}
