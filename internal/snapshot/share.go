package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/store"
)

// SaveShare stores this process's partitions of a graph, and a part of the index. The shares of all
// processes, merged by Merge, are a snapshot with an id after they are committed. On failure it
// removes the share.
func SaveShare(
	ctx context.Context, s store.Store, id string, g *graph.Graph, rank int, x Index, o Options,
) (*Manifest, error) {
	m := shareOf(id, g, rank, x)
	var done atomic.Int64
	var jobs []func(ctx context.Context) error
	save := func(f *File, h header, visit func(m *image)) {
		jobs = append(jobs, func(ctx context.Context) error {
			h.ID, h.Count = id, f.Count
			m := &image{header: h}
			visit(m)
			err := m.write(ctx, s, f)
			if now := done.Add(f.Size); o.Progress != nil && err == nil && h.Kind == partitionKind {
				o.Progress(now, max(g.Bytes(), now))
			}
			return err
		})
	}
	save(&m.Index[0], header{Kind: verticesKind}, func(m *image) { x.visit(m) })
	for i, f := range m.Names {
		save(&m.Names[i], header{Kind: namesKind}, func(m *image) {
			from := f.First - x.FirstName
			put(m, "names", "uint8", x.Names.AppendPiece(nil, from, from+uint64(f.Count)))
		})
	}
	for i, p := range g.Parts {
		if p != nil {
			shape := p.Shape()
			save(&m.Parts[i], header{Kind: partitionKind, Partition: &shape},
				func(m *image) { p.Arrays(m) })
		}
	}
	if err := store.Together(ctx, max(o.Team.Size(), 2), jobs); err != nil {
		return nil, errors.Join(err, Remove(ctx, s, id))
	}
	return m, nil
}

// shareOf returns the manifest of a share whose files are not written yet.
func shareOf(id string, g *graph.Graph, rank int, x Index) *Manifest {
	m := newManifest(id, g)
	m.Index = []File{{Name: fmt.Sprintf("%s/vertices-%05d", id,
		rank), Count: len(x.IDs), First: x.First, Listed: x.Labels != nil}}
	m.Names = namesFiles(id, g.N, rank, x)
	for i, p := range g.Parts {
		if p != nil {
			m.Parts[i].Name = fmt.Sprintf("%s/partition-%05d", id, i)
		}
	}
	return m
}

// Merge merges the manifests of shares.
func Merge(shares []*Manifest) (*Manifest, error) {
	m := *shares[0]
	if len(m.Index) == 0 {
		return nil, errors.New("found a share without an index")
	}
	m.Parts, m.Index, m.Names = make([]File, len(m.Parts)), nil, nil
	for _, share := range shares {
		if share.ID != m.ID || share.Vertices != m.Vertices || share.Arcs != m.Arcs ||
			share.Grid != m.Grid || len(share.Parts) != len(m.Parts) {
			return nil,
				fmt.Errorf("found shares of %d vertices in a grid of %.20s, and of %d in %.20s",
					m.Vertices, m.Grid, share.Vertices, share.Grid)
		}
		for i, f := range share.Parts {
			if f.Name != "" {
				m.Parts[i] = f
			}
		}
		m.Index = append(m.Index, share.Index...)
		m.Names = append(m.Names, share.Names...)
	}
	for i, f := range m.Parts {
		if f.Name == "" {
			return nil, fmt.Errorf("found no share with partition %d", i)
		}
	}
	slices.SortFunc(m.Index, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(m.Names, func(a, b File) int { return cmp.Compare(a.First, b.First) })
	m.Labels, m.FirstLabel = "consecutive", m.Index[0].First
	if m.checkIndex() != nil {
		m.Labels, m.FirstLabel = "listed", 0
	}
	return &m, m.check()
}
