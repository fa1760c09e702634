package graph

import (
	"context"
	"sort"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// relister writes the lists that splices make of others.
type relister struct {
	old, new *kernel.Lists
	s        *splices
	slots    []uint32 // maps old slots to new ones, nil where none has moved
	places   []uint32 // if not nil, tells where arcs were
}

// relistGrain is how many old arcs a worker takes at a time.
const relistGrain = 1 << 16

// relist makes the lists of rows of the lengths given, but for their heads and chunks, and tells
// where arcs were.
func (a *changer) relist(ctx context.Context, arena *mem.Arena, lengths []uint32, r *relister) (*Adjacency, []uint32, error) {
	total := len(r.old.Adj) + int(r.s.shift)
	l := &Adjacency{Lists: bcsr(arena, lengths, mem.Make[uint32](arena, total))}
	makeWeights(arena, &l.Lists, a.p.graph.Weights)
	r.new = &l.Lists
	if a.Places && a.p.Grid.Flat() {
		r.places = make([]uint32, total)
	}
	grains := max(1, (len(r.old.Adj)+relistGrain-1)/relistGrain)
	a.Team.For(grains, 1, func(_, i, _ int) {
		if ctx.Err() == nil {
			r.grain(i, i == grains-1)
		}
	})
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	return l, r.places, nil
}

// grain writes what becomes of a run of the old arcs, and the arcs inserted there.
func (r *relister) grain(i int, last bool) {
	begin, end := uint32(i*relistGrain), uint32(min((i+1)*relistGrain, len(r.old.Adj)))
	list, weights := r.s.list, weightsOf(r.new)
	k := sort.Search(len(list), func(k int) bool { return list[k].at >= begin })
	at := begin
	if k > 0 {
		at = max(at, list[k-1].at+list[k-1].drop)
	}
	for ; k < len(list) && (list[k].at < end || last); k++ {
		x := &list[k]
		r.copy(at, x.at, x.shift)
		to := uint32(int64(x.at) + x.shift)
		for j := x.first; j < x.first+x.count; j++ {
			r.new.Adj[to] = r.s.ids[j]
			if len(r.s.weights) > 0 {
				weights.Set(int(to), r.s.weights[j])
			}
			if r.places != nil {
				r.places[to] = r.s.places[j]
			}
			to++
		}
		at = x.at + x.drop
	}
	shift := r.s.shift
	if k < len(list) {
		shift = list[k].shift
	}
	if at < end {
		r.copy(at, end, shift)
	}
}

// copy writes the old arcs [lo, hi), which move by shift.
func (r *relister) copy(lo, hi uint32, shift int64) {
	if lo == hi {
		return
	}
	from, to := r.old.Adj[lo:hi], r.new.Adj[int64(lo)+shift:]
	to = to[:len(from)]
	if r.slots == nil {
		copy(to, from)
	} else {
		for i, s := range from {
			to[i] = r.slots[s]
		}
	}
	weightsOf(r.new).Copy(int(int64(lo)+shift), weightsOf(r.old).Slice(int(lo), int(hi)))
	if r.places != nil {
		places := r.places[int64(lo)+shift:][:len(from)]
		for i := range places {
			places[i] = lo + uint32(i)
		}
	}
}
