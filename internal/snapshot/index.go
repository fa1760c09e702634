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
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/store"
)

// span is a run of the vertices, by rising input id: how many there are before it, and in it.
type span struct {
	First int `json:"first"`
	Count int `json:"count"`
}

// Index says which vertices have the input ids of a run of them, by rising input id.
type Index struct {
	First  int      // how many vertices have smaller input ids
	IDs    []uint32 // of vertices
	Labels []uint64 // their input ids, unless all of the graph's follow one another
}

// WriteIndex stores a part of the index.
func WriteIndex(ctx context.Context, s store.Store, name, id string, x Index) (File, error) {
	m := &image{header: header{Kind: verticesKind, ID: id, Vertices: &span{x.First, len(x.IDs)}}}
	x.visit(m)
	return m.write(ctx, s, name)
}

func (x *Index) visit(v graph.Arrays) {
	v.Uint32s("ids", &x.IDs)
	v.Uint64s("labels", &x.Labels)
}

// openIndex brings a part of the index into memory.
func openIndex(ctx context.Context, s store.Store, f File, m *Manifest, arena *mem.Arena, team *parallel.Team) (*Index, error) {
	a, err := read(ctx, s, f, m.ID, arena, team)
	if err != nil {
		return nil, err
	}
	x := new(Index)
	if a.header.Kind != verticesKind || a.header.Vertices == nil {
		return nil, fmt.Errorf("%s: it is no index", nameOf(s, f.Name))
	}
	x.visit(a)
	if err := a.end(); err != nil {
		return nil, fmt.Errorf("%s: %w", nameOf(s, f.Name), err)
	}
	x.First = a.header.Vertices.First
	labels := 0
	if m.Labels == "listed" {
		labels = len(x.IDs)
	}
	if a.header.Vertices.Count != len(x.IDs) || len(x.Labels) != labels || x.First < 0 || x.First > m.Vertices-len(x.IDs) {
		return nil, fmt.Errorf("%s: found %d vertices with %d input ids from %d on of %d", nameOf(s, f.Name), len(x.IDs), len(x.Labels), x.First, m.Vertices)
	}
	if err := faultless(func() error { return x.check(m.Vertices) }); err != nil {
		return nil, fmt.Errorf("%s: %w", nameOf(s, f.Name), err)
	}
	return x, nil
}

func (x *Index) check(vertices int) error {
	for i, id := range x.IDs {
		if int64(id) >= int64(vertices) {
			return fmt.Errorf("found vertex %d of %d", id, vertices)
		}
		if i > 0 && x.Labels != nil && len(x.Labels) > 0 && x.Labels[i] <= x.Labels[i-1] {
			return fmt.Errorf("found input id %d after %d", x.Labels[i], x.Labels[i-1])
		}
	}
	return nil
}

// maps sets a graph's maps between vertices and input ids.
func maps(ctx context.Context, s store.Store, m *Manifest, g *graph.Graph, arena *mem.Arena, team *parallel.Team) error {
	var all Index
	for _, f := range m.Index {
		x, err := openIndex(ctx, s, f, m, arena, team)
		if err != nil {
			return err
		}
		if x.First != len(all.IDs) || len(all.Labels) > 0 && len(x.Labels) > 0 && x.Labels[0] <= all.Labels[len(all.Labels)-1] {
			return fmt.Errorf("%s: it does not follow the file before it", nameOf(s, f.Name))
		}
		if len(m.Index) == 1 {
			all = *x
			break
		}
		all.IDs, all.Labels = append(all.IDs, x.IDs...), append(all.Labels, x.Labels...)
	}
	if len(all.IDs) != m.Vertices {
		return fmt.Errorf("%s: found the input ids of %d vertices, expected %d", nameOf(s, ManifestName), len(all.IDs), m.Vertices)
	}
	if m.Labels == "listed" {
		g.Labels = edges.NewLabels(slices.Clone(all.Labels)) // graphs that are made of this one keep them, also when it is closed
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

// OpenShare returns a rank's equal share of the index, in memory of its own.
func OpenShare(ctx context.Context, s store.Store, m *Manifest, rank, ranks int, o Options) (_ *Index, err error) {
	defer mem.Recover(&err)
	from, to := edges.Part(m.Vertices, rank, ranks)
	x := &Index{First: from, IDs: make([]uint32, 0, to-from)}
	next := 0
	for _, f := range m.Index {
		err := func() error {
			arena := new(mem.Arena)
			defer arena.Close()
			some, err := openIndex(ctx, s, f, m, arena, o.Team)
			if err != nil {
				return err
			}
			if some.First != next {
				return fmt.Errorf("%s: it does not follow the file before it", nameOf(s, f.Name))
			}
			next += len(some.IDs)
			if lo, hi := max(from, some.First)-some.First, min(to, next)-some.First; lo < hi {
				x.IDs = append(x.IDs, some.IDs[lo:hi]...)
				if m.Labels == "listed" {
					x.Labels = append(x.Labels, some.Labels[lo:hi]...)
				}
			}
			return nil
		}()
		if err != nil {
			return nil, err
		}
	}
	if len(x.IDs) != to-from {
		return nil, fmt.Errorf("%s: found the input ids of %d vertices, expected %d", nameOf(s, ManifestName), next, m.Vertices)
	}
	if err := x.check(m.Vertices); err != nil {
		return nil, fmt.Errorf("%s: %w", nameOf(s, ManifestName), err)
	}
	return x, nil
}
