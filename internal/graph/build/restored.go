package build

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/names"
)

// Share is what a rank knows of a run of the vertices of a graph that was stored, by rising input
// id: the runs of all ranks follow one another.
type Share struct {
	// Of says which graph, stored how: all ranks must say the same.
	Of string
	// IDs are the vertices, and Labels their input ids, unless those of all vertices follow one
	// another.
	IDs    []uint32
	Labels []uint64
	// Names are those of a range of the vertices, by rising input id, as IDs are of a run of them;
	// nil of a graph without names. The ranges of all ranks follow one another.
	Names *names.Dictionary
}

// restoredTerms are what ranks tell each other of their shares.
type restoredTerms struct {
	Of          string
	Owner       []int
	Count       int
	Named       bool
	First, Last uint64 // input ids, if there are any
}

// Restored returns the directory of a graph of which each rank has opened its partitions, as they
// were stored, and its share of the index. All ranks call it at the same time, with the same owner
// and tag. If it fails on one rank it fails on all, with the same error, and the graph is still the
// caller's.
func Restored(ctx context.Context, group *collective.Group, tag uint32, g *graph.Graph, owner []int, x Share) (*Directory, error) {
	var d *Directory
	err := group.Together(ctx, tag, func(ctx context.Context) (err error) {
		defer mem.Recover(&err)
		mine := restoredTerms{Of: x.Of, Owner: owner, Count: len(x.IDs), Named: x.Names != nil}
		if n := len(x.Labels); n > 0 {
			mine.First, mine.Last = x.Labels[0], x.Labels[n-1]
		}
		call := collective.Call{Tag: tag + 1, Bytes: 1 << 20}
		ranks, err := gather(ctx, group, call, &mine)
		if err != nil {
			return err
		}
		for rank := range ranks {
			if r := &ranks[rank]; r.Of != x.Of || !slices.Equal(r.Owner, owner) || r.Count < 0 ||
				r.Named != (x.Names != nil) {
				return fmt.Errorf("ranks %d and %d have opened different graphs: %.100s and %.100s",
					group.Link().Rank(), rank, x.Of, r.Of)
			}
		}
		if d, err = restored(g, owner, x, group.Link().Rank(), ranks); err != nil ||
			x.Names == nil {
			return err
		}
		d.Names, err = newNames(ctx, group, call, x.Names)
		return err
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// restored makes a rank's part of the directory.
func restored(g *graph.Graph, owner []int, x Share, rank int, ranks []restoredTerms) (*Directory, error) {
	first, consecutive := g.Labels.First()
	consecutive = consecutive && x.Labels == nil
	starts, end, count := make([]uint64, len(ranks)), uint64(0), 0
	for i, r := range ranks {
		switch {
		case consecutive:
			starts[i] = uint64(count)
		case i > 0 && r.Count > 0 &&
			(r.First < end || r.Last < r.First || r.Last == math.MaxUint64):
			return nil, fmt.Errorf("rank %d has input ids from %d to %d, after others below %d: %w",
				i, r.First, r.Last, end, collective.ErrMessage)
		case i > 0 && r.Count > 0:
			starts[i] = r.First
		default:
			starts[i] = end
		}
		count += r.Count
		if r.Count > 0 {
			end = r.Last + 1
		}
	}
	if count != g.N {
		return nil, fmt.Errorf("all ranks know of %d vertices, expected %d: %w", count, g.N,
			collective.ErrMessage)
	}
	if consecutive {
		end = uint64(count)
	}
	d := &Directory{rank: rank, graph: g, owners: newOwners(owner), ranges: newRanges(starts,
		max(end, 1)), size: len(x.IDs), arena: &mem.Arena{Kind: mem.Graph}}
	d.ids = mem.Make[uint32](d.arena, len(x.IDs))
	copy(d.ids, x.IDs)
	if consecutive {
		d.first = first
	} else {
		labels := mem.Make[uint64](d.arena, len(x.Labels))
		copy(labels, x.Labels)
		d.labels = edges.NewIndex(d.arena, labels)
	}
	return d, nil
}
