// Package snapshot stores built graphs, and opens them again at once: the arrays of each partition
// are in one file as they are in memory, which is mapped. A manifest, written when all files are
// there, names them and has their checksums; without it there is no snapshot.
//
//	graph.Partition -> Arrays -> image: header, checksums -> store.Put, then the manifest
//	file of a store -> mmap -> checksums -> graph.Restorer -> graph.Graph
package snapshot

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/store"
)

// Options are the parameters of saving and opening.
type Options struct {
	// Team has the worker threads; nil means the caller's goroutine only.
	Team *parallel.Team
	// Progress, if not nil, is called with the number of bytes done, and the total.
	Progress func(done, total int64)
}

// Save stores a graph whose partitions are all in this process. It returns fs.ErrExist if the store
// has a snapshot already. If it fails it removes what it has stored, as far as possible.
func Save(ctx context.Context, s store.Store, g *graph.Graph, o Options) (*Manifest, error) {
	if g.Order == nil || slices.Contains(g.Parts, nil) {
		return nil, fmt.Errorf("%s: some partitions are not in this process", g.Name)
	}
	if err := Absent(ctx, s); err != nil {
		return nil, err
	}
	x := Index{IDs: g.IDs, Names: g.Names}
	var consecutive bool
	if x.First, consecutive = g.Labels.First(); !consecutive {
		x.Labels = make([]uint64, g.N)
		for v := range x.Labels {
			x.Labels[v] = g.Labels.Of(uint64(v))
		}
	}
	m, err := SaveShare(ctx, s, NewID(), g, 0, x, o)
	if err != nil {
		return nil, err
	}
	if m, err = Merge([]*Manifest{m}); err != nil {
		return nil, err
	}
	return m, Commit(ctx, s, m)
}

// NewID returns a unique id of a snapshot. It is the prefix of the names of all files except the
// manifest, so two snapshots never share a file, even if they are saved to one place at once.
func NewID() string { return rand.Text() }

// Absent returns fs.ErrExist if there is a snapshot already.
func Absent(ctx context.Context, s store.Store) error {
	switch _, err := store.Stat(ctx, s, ManifestName); {
	case err == nil:
		return fmt.Errorf("%s has a snapshot already: %w", s, fs.ErrExist)
	case errors.Is(err, fs.ErrNotExist) && !errors.Is(err, store.ErrNoBucket):
		return nil
	default:
		return err
	}
}

// Commit makes files a snapshot, if they exist. It removes them if some are missing, or if there is
// another snapshot by now. After any other error they stay, because the manifest may have been
// written, and only the answer was lost.
func Commit(ctx context.Context, s store.Store, m *Manifest) error {
	m.Graph = strings.ToValidUTF8(m.Graph, "?")
	m.Bytes = 0
	for _, f := range m.files() {
		m.Bytes += f.Size
	}
	if err := m.check(); err != nil {
		return err
	}
	sizes, err := store.SizesOf(ctx, s, m.ID+"/")
	if err == nil {
		err = m.present("", sizes)
	}
	if err != nil {
		err = fmt.Errorf("saved files are missing (do all workers use the same place?): %w", err)
		return errors.Join(err, Remove(ctx, s, m.ID))
	}
	data, err := m.Encode()
	if err != nil {
		return err
	}
	if err := s.PutIfAbsent(ctx, ManifestName, data); errors.Is(err, fs.ErrExist) {
		return errors.Join(fmt.Errorf("another process has saved a snapshot in %s: %w", s, err),
			Remove(ctx, s, m.ID))
	} else if err != nil {
		return err
	}
	return nil
}

// removeTime is the time limit for removing the files of a failed snapshot, even after ctx has
// ended.
const removeTime = 30 * time.Second

// Remove removes the files of a snapshot that was not committed.
func Remove(ctx context.Context, s store.Store, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
	defer cancel()
	sizes, err := store.SizesOf(ctx, s, id+"/")
	for name := range sizes {
		err = errors.Join(err, s.Delete(ctx, name))
	}
	removeEmpty(s, id)
	return err
}

// Open opens a whole snapshot in this process. Its files must not be changed until the graph is
// closed.
func (p *Place) Open(ctx context.Context, name string, o Options) (*graph.Graph, error) {
	all := make([]int, len(p.Parts))
	for i := range all {
		all[i] = i
	}
	dictionary, err := p.OpenNames(ctx, 0, 1)
	if err != nil {
		return nil, err
	}
	g, err := p.OpenPartitions(ctx, name, all, true, o)
	if err == nil {
		g.Names = dictionary
	}
	return g, err
}

// OpenPartitions opens some partitions of a snapshot. With withMaps the graph has maps between all
// its vertices and input ids.
func (p *Place) OpenPartitions(
	ctx context.Context, name string, own []int, withMaps bool, o Options,
) (_ *graph.Graph, err error) {
	defer mem.Recover(&err)
	g, err := p.graph(name)
	if err != nil {
		return nil, err
	}
	from, opened := &opener{p, &mem.Arena{Kind: mem.Graph}, o.Team}, false
	defer func() {
		if !opened {
			from.arena.Close()
		}
	}()
	if withMaps {
		if err := from.maps(ctx, g); err != nil {
			return nil, err
		}
	}
	r, err := graph.NewRestorer(g, from.arena, o.Team)
	if err != nil {
		return nil, err
	}
	done, total := int64(0), int64(0)
	for _, i := range own {
		total += p.Parts[i].Size
	}
	for _, i := range own {
		if err := from.restore(ctx, i, r); err != nil {
			return nil, err
		}
		if done += p.Parts[i].Size; o.Progress != nil {
			o.Progress(done, total)
		}
	}
	if g, err = r.Graph(); err != nil {
		return nil, fmt.Errorf("%s: %w", p.Store, err)
	}
	opened = true
	return g, nil
}
