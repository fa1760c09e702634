package load

import (
	"context"

	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/snapshot"
)

// Digests tells what this process sees of the files of a graph, so that it can be compared with
// what others see: of a snapshot its id, of other files that of some blocks, which a
// key chooses, or of all.
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
