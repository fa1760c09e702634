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
func (o *opener) openIndex(ctx context.Context, f File) (*Index, error) {
	a, err := o.read(ctx, verticesKind, f)
	if err != nil {
		return nil, err
	}
	x, labels := &Index{First: f.First}, 0
	x.visit(a)
	if f.Listed {
		labels = f.Count
	}
	if err = a.end(); err == nil && (len(x.IDs) != f.Count || len(x.Labels) != labels) {
		err = fmt.Errorf("found %d vertices with %d input ids, expected %d", len(x.IDs),
			len(x.Labels), f.Count)
	}
	if err == nil {
		err = faultless(func() error { return x.check(o.Vertices) })
	}
	return x, store.At(o.Store, f.Name, err)
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
func (o *opener) openRun(ctx context.Context, from, to int) (*Index, error) {
	x, before := new(Index), 0
	if o.Labels == "listed" {
		x.Labels = []uint64{}
	}
	for _, f := range o.Index {
		lo, hi := max(from-before, 0), min(to-before, f.Count)
		before += f.Count
		if lo >= hi {
			continue
		}
		some, err := o.openIndex(ctx, f)
		if err != nil {
			return nil, err
		}
		if n := len(x.Labels); o.Labels == "listed" {
			x.Labels = some.appendLabels(x.Labels, lo, hi)
			if n > 0 && x.Labels[n] <= x.Labels[n-1] {
				return nil, fmt.Errorf("%s: it does not follow the file before it",
					store.NameOf(o.Store, f.Name))
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
func (o *opener) maps(ctx context.Context, g *graph.Graph) error {
	all, err := o.openRun(ctx, 0, o.Vertices)
	if err != nil {
		return err
	}
	if o.Labels == "listed" {
		g.Labels = edges.NewLabels(all.Labels)
	}
	g.IDs, g.Order = all.IDs, mem.Make[uint32](o.arena, o.Vertices)
	const grain = 1 << 14
	o.team.For(len(g.IDs), grain, func(_, lo, hi int) {
		for v := lo; v < hi; v++ {
			atomic.StoreUint32(&g.Order[g.IDs[v]], uint32(v))
		}
	})
	var twice atomic.Bool
	o.team.For(len(g.IDs), grain, func(_, lo, hi int) {
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
func (p *Place) OpenShare(
	ctx context.Context, rank, ranks int, team *parallel.Team,
) (_ *Index, err error) {
	defer mem.Recover(&err)
	from, to := edges.Part(p.Vertices, rank, ranks)
	o := &opener{p, &mem.Arena{Kind: mem.Graph}, team}
	defer o.arena.Close()
	x, err := o.openRun(ctx, from, to)
	if err == nil {
		x.IDs = slices.Clone(x.IDs)
	}
	return x, err
}
