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

// Share is a rank's part of the vertex index of a stored graph: a range of the vertices in
// ascending order of input ids. The ranges of the ranks follow one another.
type Share struct {
	// Of identifies the graph and how it is stored. It must be the same on all ranks.
	Of string
	// IDs has the vertices. Labels has their input ids; it is nil if the input ids of all vertices
	// are consecutive.
	IDs    []uint32
	Labels []uint64
	// Names has the names of a range of the vertices, in ascending order of input ids. It is nil if
	// the graph has no names. The ranges of the ranks follow one another, but may differ from those
	// of IDs.
	Names *names.Dictionary
}

// restoredTerms is what ranks exchange about their shares.
type restoredTerms struct {
	Of          string
	Owner       []int
	Count       int
	Named       bool
	First, Last uint64 // input ids, if Labels is not empty
}

// Restored returns the directory of a stored graph. Each rank has opened its partitions, and passes
// its share of the index. All ranks call it at the same time, with the same owner and tag. If it
// fails on one rank, it returns the same error on all ranks. The caller still owns the graph.
func Restored(
	ctx context.Context, group *collective.Group, tag uint32, g *graph.Graph, owner []int, x Share,
) (*Directory, error) {
	var d *Directory
	err := group.Together(ctx, tag, func(ctx context.Context) (err error) {
		defer mem.Recover(&err)
		mine := restoredTerms{Of: x.Of, Owner: owner, Count: len(x.IDs), Named: x.Names != nil}
		if n := len(x.Labels); n > 0 {
			mine.First, mine.Last = x.Labels[0], x.Labels[n-1]
		}
		call := collective.Call{Tag: tag + 1, Bytes: 1 << 20}
		ranks, err := collective.Gather(ctx, group, call, &mine)
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
	return d, err
}

// restored makes a rank's part of the directory.
func restored(
	g *graph.Graph, owner []int, x Share, rank int, ranks []restoredTerms,
) (*Directory, error) {
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
		return nil, fmt.Errorf("all ranks have %d vertices, expected %d: %w", count, g.N,
			collective.ErrMessage)
	}
	if consecutive {
		end = uint64(count)
	}
	d := &Directory{
		rank: rank, graph: g, ranks: owner, ranges: newRanges(starts, max(end, 1)),
		arena: &mem.Arena{Kind: mem.Graph},
	}
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
