package engine

import (
	"math"
	"slices"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/graph"
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
	words  []wordLists
}

// wordLists describes the lists of a word of vertices, after learn. It spans far fewer cache lines
// and pages than the starts of the lists.
type wordLists struct {
	// start<<32 | length, if all lists have this length and the first begins at start. The length is
	// uneven if they differ, and 0 before learn.
	rows atomic.Uint64
	// inside marks the vertices whose receivers all have the word's owner.
	inside atomic.Uint64
}

const uneven = math.MaxUint32

// divide gives the senders to the workers that own them.
func (f *few) divide() {
	rows := f.did[0].Rows
	f.did[0].Rows = rows[:0]
	for _, row := range rows {
		did := &f.did[f.division.owner(row.From)]
		did.Rows = append(did.Rows, row)
	}
	for i := range f.did {
		f.did[i].parts = slices.Grow(f.did[i].parts[:0], len(f.did))[:len(f.did)]
		f.find(&f.did[i])
	}
}

// divisionOf returns the division for lists. Stripes are in the order of the input, where
// neighbours are often near each other.
func (f *few) divisionOf(a *graph.Adjacency) *division {
	type key struct {
		lists *graph.Adjacency
		team  int
	}
	k, slots := key{a, f.team.Size()}, f.layout.Count
	if d, ok := f.part.Measured.Load(k); ok {
		return d.(*division)
	}
	d := &division{a, make([]uint16, (slots+ownBlock-1)/ownBlock), make([]wordLists, len(a.Bits))}
	order := f.job.graph.Order
	for b := range d.owners {
		v := b * ownBlock
		if v < len(order) {
			v = int(order[v])
		}
		d.owners[b] = uint16(v * (ownStripes * k.team) / slots % k.team)
	}
	f.part.Measured.Store(k, d)
	return d
}

func (d *division) owner(v uint32) int { return int(d.owners[v/ownBlock]) }

// learn finds out where the lists of word w are, and which of them have receivers of one owner.
func (d *division) learn(w uint32) uint64 {
	owner, inside := d.owner(w<<6), uint64(0)
	lo, hi := d.lists.Words(int(w))
	rows := uint64(lo)<<32 | uint64((hi-lo)/64)
	for i := range uint32(64) {
		lo, hi := d.lists.Row(w<<6 + i)
		if lo == hi || hi-lo != uint32(rows) {
			rows |= uneven
		}
		for lo < hi && d.owner(d.lists.Adj[lo]) == owner {
			lo++
		}
		if lo == hi {
			inside |= 1 << i
		}
	}
	d.words[w].inside.Store(inside)
	d.words[w].rows.Store(rows)
	return rows
}
