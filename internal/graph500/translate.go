package graph500

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph500/validate"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// The result of a search has the VertexID of each vertex's parent, which must be translated to the
// input number. A single rank has the numbers of all vertices. One of several ranks stores the
// numbers of its ghosts with the graph (Nakao20, 3.2), and those of the hubs, which are most
// parents. In a flat grid only ghosts can be parents of its vertices. It gets these numbers from
// the other ranks in kernel 1. After a search it gets the numbers of all other parents, each once:
//
//	rank of the vertices --- a bitmap of parents ---> rank of these
//	                     <-- their numbers, in order ---
//
// Then the result is available by input numbers. A single rank also moves it to the order of the
// input. Sending each vertex to the rank of its range is a part of judging.

// Special numbers of parents.
const (
	unreached = validate.Unreached
	// noVertex is the number for an invalid VertexID: greater than any number, so that the
	// validator finds the error.
	noVertex = math.MaxUint32 - 1
	// noParent is the number for a vertex with a distance and no parent, so that the validator
	// finds the error.
	noParent = math.MaxUint32 - 2
)

const (
	// blockOf is the number of vertices whose results of kernel 3 a thread reads at a time.
	blockOf = 1 << 9
	// defaultHubs is for Config.hubs. At SCALE 20 hubs are 97 percent of all parents.
	defaultHubs = 1 << 16
	// askedOf is the number of words of a partition's bitmap of parents in a message.
	askedOf = 1 << 14
)

// clear forgets the result of the last search.
func (s *Rank) clear() {
	s.Team.For(len(s.parent), 1<<16, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			s.parent[i] = unreached
		}
		if s.dist != nil {
			for i := lo; i < hi; i++ {
				s.dist[i] = -1
			}
		}
	})
	for _, set := range s.tables.asked.of {
		clear(set.Bits)
	}
}

// eachBlock calls f with the results of own vertices, some at a time: those of a partition from lo
// on. dist is nil in kernel 2.
func (s *Rank) eachBlock(
	found Found, f func(p *graph.Partition, lo int, parents []pregel.VertexID, dist []float32),
) {
	for _, p := range s.parts() {
		if found.parents != nil {
			parents := found.parents(p.Index)
			s.Team.For(p.Owned, 1<<14, func(_, lo, hi int) { f(p, lo, parents[lo:hi], nil) })
			continue
		}
		hops := found.hops(p.Index)
		s.Team.For(p.Owned, 1<<14, func(_, lo, hi int) {
			var parents [blockOf]pregel.VertexID
			var dist [blockOf]float32
			for ; lo < hi; lo += blockOf {
				n := min(blockOf, hi-lo)
				for i, h := range hops[lo : lo+n] {
					parents[i], dist[i] = h.From, h.Dist
				}
				f(p, lo, parents[:n], dist[:n])
			}
		})
	}
}

// tables are for the translation of a search's result.
type tables struct {
	// parents has the input numbers of parents, by partition: of own vertex i at i*stride.
	parents [][]uint32
	stride  int
	byID    []uint32 // on a single rank, the elements of parents by VertexID
	hubs    []uint32 // input numbers of the first vertices; of all vertices on a single rank
	ghosts  numbers  // on several ranks, also of the own vertices and hubs
	asked   numbers  // parents that are not ghosts
}

// numbers are the input numbers of some vertices of each partition.
type numbers struct {
	of    []bitmap.Ranked
	input [][]uint32 // of the vertices in of, in order
}

// place returns the partition of a vertex, and its local index.
func (n *numbers) place(id uint32) (partition, local uint32) {
	parts := uint32(len(n.of))
	return id % parts, id / parts
}

// get returns the input number of a vertex, if it is known.
func (n *numbers) get(id uint32) (number uint32, known bool) {
	q, local := n.place(id)
	of := &n.of[q]
	if !of.Get(local) {
		return noVertex, false
	}
	return n.input[q][of.Of(local)], true
}

// newNumbers makes an empty table for all partitions.
func (s *Rank) newNumbers() numbers {
	n := numbers{make([]bitmap.Ranked, len(s.Owner)), make([][]uint32, len(s.Owner))}
	for i := range s.Owner {
		words := bitmap.Words(s.owned(i))
		n.of[i].Bits = mem.Make[uint64](s.arena, words)
		n.of[i].Rank = mem.Make[uint32](s.arena, words+1)
	}
	return n
}

// newHere makes the tables of a single rank.
func (s *Rank) newHere() {
	t := &s.tables
	t.byID, t.hubs = mem.Make[uint32](s.arena, s.g.N), s.g.Order
	clear(t.byID) // the first access to the memory
	for i := range s.Owner {
		t.parents = append(t.parents, t.byID[min(i, s.g.N):])
	}
	t.stride = len(s.Owner)
}

// newTogether makes the tables of one of several ranks, and gets the numbers of its vertices, of
// their ghosts and of the hubs.
func (s *Rank) newTogether(ctx context.Context) error {
	t := &s.tables
	t.parents, t.ghosts, t.asked = make([][]uint32, len(s.Owner)), s.newNumbers(), s.newNumbers()
	t.stride, t.hubs = 1, mem.Make[uint32](s.arena, min(s.hubs, s.g.N))
	know := func(id uint32) {
		q, local := t.ghosts.place(id)
		bitmap.Set(t.ghosts.of[q].Bits, local)
	}
	for id := range t.hubs {
		know(uint32(id))
	}
	for _, p := range s.parts() {
		t.parents[p.Index] = mem.Make[uint32](s.arena, p.Owned)
		for local := range uint32(p.Owned) {
			bitmap.Set(t.ghosts.of[p.Index].Bits, local)
		}
		for _, id := range p.Layout(pregel.Out).Slots.Ghosts {
			if id != kernel.None {
				know(uint32(id))
			}
		}
	}
	err := s.ask(ctx, &t.ghosts)
	for id := range t.hubs {
		if err == nil {
			t.hubs[id], _ = t.ghosts.get(uint32(id))
		}
	}
	return err
}

// owned returns the number of vertices of a partition of any rank.
func (s *Rank) owned(partition int) int {
	return (s.g.N - partition + len(s.Owner) - 1) / len(s.Owner)
}

// translate translates the results of the own vertices to input numbers, in tables.parents. If
// asked is false, it adds parents without a known number to tables.asked, and returns 1 if there
// are any. If asked is true, all numbers are known.
func (s *Rank) translate(found Found, asked bool) (unknown uint64) {
	t := &s.tables
	var others atomic.Uint64
	s.eachBlock(found, func(p *graph.Partition, lo int, parents []pregel.VertexID, dist []float32) {
		to, hubs := t.parents[p.Index][lo*t.stride:], t.hubs
		if lookUp(to, t.stride, hubs, parents) {
			for i, parent := range parents {
				if parent >= pregel.VertexID(len(hubs)) && parent != pregel.None {
					to[i*t.stride] = s.number(parent, asked, &others)
				}
			}
		}
		for i, d := range dist {
			if parents[i] == pregel.None && !(d > math.MaxFloat32) {
				to[i*t.stride] = noParent
			}
		}
	})
	return others.Load()
}

// lookUp writes the numbers of parents to every stride-th element of to, and reports whether there
// are parents that are not hubs.
func lookUp(to []uint32, stride int, hubs []uint32, parents []pregel.VertexID) (others bool) {
	at := 0
	for _, parent := range parents {
		number := uint32(unreached)
		if parent < pregel.VertexID(len(hubs)) {
			number = hubs[parent]
		} else if parent != pregel.None {
			others = true
		}
		to[at] = number
		at += stride
	}
	return others
}

// number is translate for a parent that is not a hub. It sets others to 1 if the number is unknown.
func (s *Rank) number(parent pregel.VertexID, asked bool, others *atomic.Uint64) uint32 {
	if parent >= pregel.VertexID(s.g.N) || s.ranks() == 1 {
		return noVertex
	}
	t, id := &s.tables, uint32(parent)
	number, known := t.ghosts.get(id)
	switch {
	case known:
	case asked:
		number, _ = t.asked.get(id)
	default:
		q, local := t.asked.place(id)
		word, bit := &t.asked.of[q].Bits[local>>6], uint64(1)<<(local&63)
		if atomic.LoadUint64(word)&bit == 0 { // many vertices may have the same parent
			atomic.OrUint64(word, bit)
			others.Store(1)
		}
	}
	return number
}

// arrange moves the translated result of a single rank to parent and dist, which are in the order
// of the input. Vertices of the same degree have ascending VertexIDs in that order. So a thread
// that takes many consecutive vertices reads the table at one place for each degree, and these
// places stay in its cache. Writing to parent in the order of the table would miss the caches far
// more often.
func (s *Rank) arrange(found Found) {
	table, parts := s.tables.byID, uint32(len(s.Owner))
	s.Team.For(s.g.N, s.g.N/(4*s.Team.Size())+1, func(_, lo, hi int) {
		ids, to := s.g.IDs[lo:hi], s.parent[lo:hi]
		for i, id := range ids {
			to[i] = table[id]
		}
		if found.hops == nil {
			return
		}
		dist := s.dist[lo:hi]
		for i, id := range ids {
			switch dist[i] = -1; to[i] {
			case unreached:
				continue
			case noParent:
				to[i] = unreached
			}
			dist[i] = found.hops(int(id % parts))[id/parts].Dist
		}
	})
}

// ask gets the numbers of the vertices in n.of from their ranks.
func (s *Rank) ask(ctx context.Context, n *numbers) error {
	for i, set := range n.of {
		n.input[i] = make([]uint32, 0, bitmap.Rank(set.Bits, set.Rank).Count())
	}
	for from := 0; from < bitmap.Words(s.owned(0)); from += askedOf {
		// of returns the words of a partition in this round.
		of := func(partition int) (lo, hi int) {
			words := bitmap.Words(s.owned(partition))
			return min(from, words), min(from+askedOf, words)
		}
		questions := make([][]uint64, s.ranks())
		for i, q := range s.Owner {
			lo, hi := of(i)
			questions[q] = append(questions[q], n.of[i].Bits[lo:hi]...)
		}
		asked, err := collective.AlltoallOf(ctx, s.group, s.bulk(), questions)
		if err != nil {
			return err
		}
		answers := make([][]uint32, s.ranks())
		for q, words := range asked {
			for _, p := range s.parts() {
				lo, hi := of(p.Index)
				if len(words) < hi-lo {
					return fmt.Errorf("rank %d asks for too few vertices", q)
				}
				bitmap.Each(words[:hi-lo], func(i uint32) {
					if local := uint32(lo)<<6 + i; local < uint32(p.Owned) {
						answers[q] = append(answers[q], s.input(p, local))
					}
				})
				words = words[hi-lo:]
			}
		}
		answered, err := collective.AlltoallOf(ctx, s.group, s.bulk(), answers)
		if err != nil {
			return err
		}
		for i, q := range s.Owner {
			lo, hi := of(i)
			count := bitmap.Count(n.of[i].Bits[lo:hi])
			if len(answered[q]) < count {
				return fmt.Errorf("rank %d answers for %d vertices of %d", q,
					len(answered[q]), count)
			}
			n.input[i] = append(n.input[i], answered[q][:count]...)
			answered[q] = answered[q][count:]
		}
	}
	return nil
}

// nedge counts the tuples between vertices that a search reached: half the sum of the vertices'
// tuple degrees, because both ends of such a tuple are reached.
func (s *Rank) nedge(ctx context.Context, found Found) (int64, error) {
	var total atomic.Uint64
	s.eachBlock(found, func(p *graph.Partition, lo int, parents []pregel.VertexID, _ []float32) {
		sum := uint64(0)
		for i, parent := range parents {
			if parent != pregel.None {
				sum += uint64(p.TupleDegrees[lo+i])
			}
		}
		total.Add(sum)
	})
	sum, err := collective.CombineOne(ctx, s.group, s.small(), collective.SumUint64, total.Load())
	return int64(sum / 2), err
}
