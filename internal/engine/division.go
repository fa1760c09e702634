package engine

import (
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
)

const (
	// ownBlock is the number of vertices, in the order of ids, that have the same worker: their
	// bits fill a cache line.
	ownBlock = 512
	// ownStripes is the number of stripes of input vertices for each worker.
	ownStripes = 8
)

// division divides the vertices of a partition among the workers of a team, for pushes of few
// messages along some lists. It is kept with the graph.
type division struct {
	lists  *graph.Adjacency
	owners []uint16 // worker by vertex / ownBlock
	// For each word of vertices: whether the worker that owns it also owns all receivers of its
	// vertices, once that is known.
	known, inside []atomic.Uint64
}

// divide gives the rows of all senders to the workers that own them. It returns the first worker's.
func (f *few) divide(a *graph.Adjacency, rows []kernel.Row) []kernel.Row {
	if f.division == nil || f.division.lists != a {
		f.division = f.divisionOf(a)
		for i := range f.did {
			f.did[i].others = make([][]kernel.Row, len(f.did))
		}
	}
	first := rows[:0]
	for _, row := range rows {
		if o := f.division.owner(row.From); o == 0 {
			first = append(first, row)
		} else {
			f.did[o].Rows = append(f.did[o].Rows, row)
		}
	}
	return first
}

// divisionOf returns the division for lists. Stripes are in the order of the input, where
// neighbours are often near each other.
func (f *few) divisionOf(a *graph.Adjacency) *division {
	type key struct {
		lists *graph.Adjacency
		team  int
	}
	k, words := key{a, f.team.Size()}, len(f.active)
	if d, ok := f.part.Measured.Load(k); ok {
		return d.(*division)
	}
	d := &division{lists: a, owners: make([]uint16, (words*64+ownBlock-1)/ownBlock)}
	d.known, d.inside = make([]atomic.Uint64, (words+63)/64), make([]atomic.Uint64, (words+63)/64)
	order := f.job.graph.Order
	for b := range d.owners {
		v := b * ownBlock
		if v < len(order) {
			v = int(order[v])
		}
		d.owners[b] = uint16(v * (ownStripes * k.team) / (words * 64) % k.team)
	}
	f.part.Measured.Store(k, d)
	return d
}

func (d *division) owner(v uint32) int { return int(d.owners[v/ownBlock]) }

// within finds out whether a worker owns all receivers of its vertices of word w, once.
func (d *division) within(w uint32, worker int, lists *kernel.Lists) bool {
	i, bit := w>>6, uint64(1)<<(w&63)
	if d.known[i].Load()&bit != 0 {
		return d.inside[i].Load()&bit != 0
	}
	lo, hi := lists.Words(int(w))
	for lo < hi && d.owner(lists.Adj[lo]) == worker {
		lo++
	}
	if lo == hi {
		d.inside[i].Or(bit)
	}
	d.known[i].Or(bit)
	return lo == hi
}
