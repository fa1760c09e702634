package load

import (
	"context"

	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/snapshot"
)

// Digests returns digests of a graph's files as this process sees them, to be compared with those
// of other processes. The digest of a snapshot is its id. The digest of any other file covers some
// blocks, chosen by key, or all blocks.
func (r Request) Digests(ctx context.Context, key uint64, all bool) []graphio.Digest {
	if generate.IsGenerator(r.Name) {
		return nil
	}
	if !snapshot.Is(r.Name) {
		return graphio.Digests(ctx, r.Name, r.Format, r.Columns.Vertices, key, all, r.Team)
	}
	d := graphio.Digest{Path: r.Name}
	if place, err := r.findSnapshot(ctx); err != nil {
		d.Err = err.Error()
	} else {
		d.Version = place.ID
		place.Close()
	}
	return []graphio.Digest{d}
}
