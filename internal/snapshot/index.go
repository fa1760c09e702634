package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/names"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/store"
)

// Index maps a range of input ids to vertices, in ascending order of input ids.
type Index struct {
	IDs []uint32 // of vertices
	// Labels are their input ids, or nil if these are consecutive from First on.
	Labels []uint64
	First  uint64
	// Names are the names of a range of input ids from FirstName on, or nil if vertices have no
	// names. This range may differ from that of the vertices.
	Names     *names.Dictionary
	FirstName uint64
}

func (x *Index) visit(v graph.Arrays) {
	v.Uint32s("ids", &x.IDs)
	v.Uint64s("labels", &x.Labels)
}

// openIndex reads a part of the index into memory.
func openIndex(ctx context.Context, s store.Store, f File, m *Manifest, arena *mem.Arena, team *parallel.Team) (*Index, error) {
	a, err := read(ctx, s, verticesKind, f, m.ID, arena, team)
	if err != nil {
		return nil, err
	}
	x := &Index{First: f.First}
	x.visit(a)
	if err := a.end(); err != nil {
		return nil, fmt.Errorf("%s: %w", store.NameOf(s, f.Name), err)
	}
	labels := 0
	if f.Listed {
		labels = f.Count
	}
	if len(x.IDs) != f.Count || len(x.Labels) != labels {
		return nil, fmt.Errorf("%s: found %d vertices with %d input ids, expected %d",
			store.NameOf(s, f.Name), len(x.IDs), len(x.Labels), f.Count)
	}
	if err := faultless(func() error { return x.check(m.Vertices) }); err != nil {
		return nil, fmt.Errorf("%s: %w", store.NameOf(s, f.Name), err)
	}
	return x, nil
}

// appendLabels appends the input ids of a range of the index.
func (x *Index) appendLabels(dst []uint64, from, to int) []uint64 {
	if len(x.Labels) > 0 {
		return append(dst, x.Labels[from:to]...)
	}
	for i := from; i < to; i++ {
		dst = append(dst, x.First+uint64(i))
	}
	return dst
}

func (x *Index) check(vertices int) error {
	for i, id := range x.IDs {
		if int64(id) >= int64(vertices) {
			return fmt.Errorf("found vertex %d of %d", id, vertices)
		}
		if i > 0 && len(x.Labels) > 0 && x.Labels[i] <= x.Labels[i-1] {
			return fmt.Errorf("found input id %d after %d", x.Labels[i], x.Labels[i-1])
		}
	}
	return nil
}

// openRun reads the vertices [from, to) of the index into memory. Their ids may be in the arena.
// Their labels are not, because graphs made from this one keep them after it is closed.
func openRun(ctx context.Context, s store.Store, m *Manifest, from, to int, arena *mem.Arena, team *parallel.Team) (*Index, error) {
	x, before := new(Index), 0
	if m.Labels == "listed" {
		x.Labels = []uint64{}
	}
	for _, f := range m.Index {
		lo, hi := max(from-before, 0), min(to-before, f.Count)
		before += f.Count
		if lo >= hi {
			continue
		}
		some, err := openIndex(ctx, s, f, m, arena, team)
		if err != nil {
			return nil, err
		}
		if n := len(x.Labels); m.Labels == "listed" {
			x.Labels = some.appendLabels(x.Labels, lo, hi)
			if n > 0 && x.Labels[n] <= x.Labels[n-1] {
				return nil, fmt.Errorf("%s: it does not follow the file before it",
					store.NameOf(s, f.Name))
			}
		}
		if x.IDs == nil {
			x.IDs = some.IDs[lo:hi:hi]
		} else {
			x.IDs = append(x.IDs, some.IDs[lo:hi]...)
		}
	}
	return x, nil
}

// maps sets a graph's maps between vertices and input ids.
func maps(ctx context.Context, s store.Store, m *Manifest, g *graph.Graph, arena *mem.Arena, team *parallel.Team) error {
	all, err := openRun(ctx, s, m, 0, m.Vertices, arena, team)
	if err != nil {
		return err
	}
	if m.Labels == "listed" {
		g.Labels = edges.NewLabels(all.Labels)
	}
	g.IDs, g.Order = all.IDs, mem.Make[uint32](arena, m.Vertices)
	const grain = 1 << 14
	team.For(len(g.IDs), grain, func(_, lo, hi int) {
		for v := lo; v < hi; v++ {
			atomic.StoreUint32(&g.Order[g.IDs[v]], uint32(v))
		}
	})
	var twice atomic.Bool
	team.For(len(g.IDs), grain, func(_, lo, hi int) {
		for v := lo; v < hi; v++ {
			if g.Order[g.IDs[v]] != uint32(v) {
				twice.Store(true)
				return
			}
		}
	})
	if twice.Load() {
		return errors.New("the index has a vertex twice")
	}
	return nil
}

// OpenShare returns a rank's equal share of the index, in its own memory.
func OpenShare(ctx context.Context, s store.Store, m *Manifest, rank, ranks int, o Options) (_ *Index, err error) {
	defer mem.Recover(&err)
	from, to := edges.Part(m.Vertices, rank, ranks)
	arena := &mem.Arena{Kind: mem.Graph}
	defer arena.Close()
	x, err := openRun(ctx, s, m, from, to, arena, o.Team)
	if err == nil {
		x.IDs = slices.Clone(x.IDs)
	}
	return x, err
}
