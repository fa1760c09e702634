package graph500

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph500/validate"
	"github.com/superstep-go/superstep/pregel"
)

// translated is how many vertices a rank translates before the ranks exchange what they have.
const translated = 1 << 15

// A search leaves with each vertex the handle of its parent. Nobody knows the input's numbers of all handles, and so what
// was found of a vertex x with parent p goes to its place by way of p's owner:
//
//	owner of x --- x, handle of p, distance ---> owner of p --- x, p, distance ---> rank whose range x is in
type onItsWay struct {
	vertex uint32 // x; in the end from the first of the range
	parent uint32 // p's handle, then its number
	dist   float32
}

const (
	// noParent is on its way from a vertex that has a distance and no parent, which the judge is to find.
	noParent = math.MaxUint32
	// noVertex is the number of a handle that stands for none: larger than any, so that the judge finds that.
	noVertex = math.MaxUint32 - 1
)

// translate brings what a search found to parent and dist.
func (s *Rank) translate(ctx context.Context, found Found) error {
	for i := range s.parent {
		s.parent[i] = validate.Unreached
	}
	if found.Dist != nil {
		for i := range s.dist {
			s.dist[i] = -1
		}
	}
	if s.ranks() == 1 {
		s.translateHere(found)
		return nil
	}
	w := walk{s: s, parts: s.parts()}
	own := 0
	for _, p := range w.parts {
		own += p.Owned
	}
	rounds, err := collective.CombineOne(ctx, s.group, s.small(), collective.MaxUint64, uint64((own+translated-1)/translated))
	if err != nil {
		return err
	}
	out := make([][]onItsWay, s.ranks())
	for range rounds {
		for q := range out {
			out[q] = out[q][:0]
		}
		w.next(out, found)
		in, err := collective.AlltoallOf(ctx, s.group, s.bulk(), out)
		if err != nil {
			return err
		}
		home := make([][]onItsWay, s.ranks())
		for q, list := range in {
			if err := s.forward(list, home); err != nil {
				return fmt.Errorf("from rank %d: %w", q, err)
			}
		}
		if in, err = collective.AlltoallOf(ctx, s.group, s.bulk(), home); err != nil {
			return err
		}
		for q, list := range in {
			if err := s.arrive(list, found.Dist != nil); err != nil {
				return fmt.Errorf("from rank %d: %w", q, err)
			}
		}
	}
	return nil
}

// translateHere is translate for a rank that has all vertices, in parallel.
func (s *Rank) translateHere(found Found) {
	for _, p := range s.g.Parts {
		s.Team.For(p.Owned, 1<<14, func(_, lo, hi int) {
			for local := uint32(lo); local < uint32(hi); local++ {
				id := p.Global(local)
				v := s.input(p, local)
				switch parent := found.Parent(id); {
				case parent < pregel.VertexID(s.g.N):
					s.parent[v] = uint32(s.g.Label(parent))
				case parent != pregel.None:
					s.parent[v] = noVertex
				case found.Dist == nil || math.IsInf(float64(found.Dist(id)), 1):
					continue // not reached, as everybody expects
				}
				if found.Dist != nil {
					s.dist[v] = found.Dist(id)
				}
			}
		})
	}
}

// walk goes through the own vertices.
type walk struct {
	s     *Rank
	parts []*graph.Partition // yet to be walked
	local int                // the next vertex of the first
}

// next sends what was found of the next vertices to the owners of their parents.
func (w *walk) next(out [][]onItsWay, found Found) {
	s := w.s
	for left := translated; left > 0 && len(w.parts) > 0; {
		p := w.parts[0]
		stop := min(p.Owned, w.local+left)
		left -= stop - w.local
		for ; w.local < stop; w.local++ {
			id := p.Global(uint32(w.local))
			parent := found.Parent(id)
			item := onItsWay{vertex: s.input(p, uint32(w.local)), parent: noParent}
			if found.Dist != nil {
				item.dist = found.Dist(id)
			}
			q := s.rank()
			switch {
			case parent != pregel.None:
				item.parent = uint32(min(parent, noVertex))
				q = s.Owner[uint64(item.parent)%uint64(len(s.Owner))]
			case found.Dist == nil || math.IsInf(float64(item.dist), 1):
				continue // not reached, as everybody expects
			}
			out[q] = append(out[q], item)
		}
		if w.local == p.Owned {
			w.parts, w.local = w.parts[1:], 0
		}
	}
}

// forward puts in the number of each parent, and sends on what was found.
func (s *Rank) forward(list []onItsWay, out [][]onItsWay) error {
	parts := uint32(len(s.Owner))
	for _, item := range list {
		part := item.parent % parts
		switch local := item.parent / parts; {
		case item.parent == noParent:
			item.parent = validate.Unreached
		case s.Owner[part] != s.rank():
			return errForeign
		case local < uint32(s.g.Parts[part].Owned):
			item.parent = s.input(s.g.Parts[part], local)
		default:
			item.parent = noVertex
		}
		q := item.vertex / uint32(s.per)
		if int(q) >= len(out) {
			return fmt.Errorf("vertex %d of %d", item.vertex, s.g.N)
		}
		item.vertex -= q * uint32(s.per)
		out[q] = append(out[q], item)
	}
	return nil
}

// arrive notes what was found.
func (s *Rank) arrive(list []onItsWay, dist bool) error {
	for _, item := range list {
		if item.vertex >= uint32(len(s.parent)) {
			return errForeign
		}
		s.parent[item.vertex] = item.parent
		if dist {
			s.dist[item.vertex] = item.dist
		}
	}
	return nil
}

// nedge counts the tuples in the tree of a search: each touches two of its vertices.
func (s *Rank) nedge(ctx context.Context, found Found) (int64, error) {
	var total atomic.Uint64
	for _, p := range s.parts() {
		s.Team.For(p.Owned, 1<<16, func(_, lo, hi int) {
			sum := uint64(0)
			for local := uint32(lo); local < uint32(hi); local++ {
				if found.Parent(p.Global(local)) != pregel.None {
					sum += uint64(s.g.TupleDegree(p, local))
				}
			}
			total.Add(sum)
		})
	}
	sum, err := collective.CombineOne(ctx, s.group, s.small(), collective.SumUint64, total.Load())
	return int64(sum / 2), err
}
