package graph500

import (
	"context"
	"errors"
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
// numbers of its ghosts with the graph (Nakao20, 3.2). In a flat grid only ghosts can be parents of
// its vertices. It gets these numbers from the other ranks in kernel 1. After a search it gets the
// numbers of all other parents, each once:
//
//	rank of the vertices --- a bitmap of parents ---> rank of these
//	                     <-- their numbers, in order ---
//
// Then the result is available by input numbers. Sending each vertex to the rank of its range is a
// part of judging.

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
	// blockOf is the number of vertices that a thread translates at a time.
	blockOf = 1 << 9
	// askedOf is the number of words of a partition's bitmap of parents in a message.
	askedOf = 1 << 14
	// delivered is the number of vertices that a rank sends to other ranges between two exchanges.
	delivered = 1 << 15
)

// errForeign means that a rank received a vertex that belongs to another rank.
var errForeign = errors.New("found a vertex of another worker")

// narrow returns a VertexID below n in 32 bits, or a special number.
func narrow(id pregel.VertexID, n int) uint32 {
	switch {
	case id < pregel.VertexID(n):
		return uint32(id)
	case id != pregel.None:
		return noVertex
	}
	return unreached
}

// read writes the VertexIDs of the parents of a partition's vertices, from lo on, to parents, and
// their distances, if there are any, to dist. It fills all of parents. n is the number of vertices.
func (f Found) read(p *graph.Partition, lo, n int, parents []uint32, dist []float32) {
	if f.parents != nil {
		for i, id := range f.parents(p.Index)[lo : lo+len(parents)] {
			parents[i] = narrow(id, n)
		}
		return
	}
	for i, h := range f.hops(p.Index)[lo : lo+len(parents)] {
		parents[i], dist[i] = narrow(h.From, n), h.Dist
		if parents[i] == unreached && !(h.Dist > math.MaxFloat32) {
			parents[i] = noParent
		}
	}
}

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
	for _, set := range s.together.asked.of {
		clear(set.Bits)
	}
}

// translateHere translates the result of a search to parent and dist, which are clear, on a rank
// that has all vertices. Most parents are hubs, whose numbers stay in the caches. The cost is in
// writing to random places of parent.
func (s *Rank) translateHere(found Found) {
	if found.parents != nil {
		for _, p := range s.g.Parts {
			parents := found.parents(p.Index)
			s.Team.For(p.Owned, 1<<14,
				func(_, lo, hi int) { s.translateParents(p, parents, lo, hi) })
		}
		return
	}
	order := s.g.Order
	s.eachBlock(found, func(p *graph.Partition, lo int, parents []uint32, dist []float32) {
		for i, parent := range parents {
			if parent == unreached {
				continue
			}
			if parent < uint32(len(order)) {
				parent = order[parent]
			} else if parent == noParent {
				parent = unreached
			}
			v := order[(lo+i)*p.Of+p.Index]
			s.parent[v], s.dist[v] = parent, dist[i]
		}
	})
}

// eachBlock calls f with the results of own vertices, a block at a time: those of a partition from
// lo on.
func (s *Rank) eachBlock(
	found Found, f func(p *graph.Partition, lo int, parents []uint32, dist []float32),
) {
	for _, p := range s.parts() {
		s.Team.For(p.Owned, 1<<14, func(_, lo, hi int) {
			var parents [blockOf]uint32
			var dist [blockOf]float32
			for ; lo < hi; lo += blockOf {
				block := parents[:min(blockOf, hi-lo)]
				found.read(p, lo, s.g.N, block, dist[:])
				f(p, lo, block, dist[:])
			}
		})
	}
}

// translateParents is translateHere for vertices lo to hi of a partition in kernel 2. It reads the
// parents without a copy, which takes 0.7 of the time.
func (s *Rank) translateParents(p *graph.Partition, parents []pregel.VertexID, lo, hi int) {
	order, out := s.g.Order, s.parent
	of, first := p.Of, p.Index
	for i, parent := range parents[lo:hi] {
		if parent == pregel.None {
			continue
		}
		number := uint32(noVertex)
		if parent < pregel.VertexID(len(order)) {
			number = order[parent]
		}
		out[order[(lo+i)*of+first]] = number
	}
}

// together has the tables for translation on one of several ranks.
type together struct {
	parents [][]uint32 // of the own vertices, by partition
	ghosts  numbers
	asked   numbers // parents that are not ghosts
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

// newTogether makes the tables, and gets the numbers of the own vertices and of their ghosts.
func (s *Rank) newTogether(ctx context.Context) error {
	t := &s.together
	t.parents, t.ghosts, t.asked = make([][]uint32, len(s.Owner)), s.newNumbers(), s.newNumbers()
	parts := uint64(len(s.Owner))
	for _, p := range s.parts() {
		t.parents[p.Index] = mem.Make[uint32](s.arena, p.Owned)
		for local := range uint32(p.Owned) {
			bitmap.Set(t.ghosts.of[p.Index].Bits, local)
		}
		for _, id := range p.Layout(pregel.Out).Slots.Ghosts {
			if id != kernel.None {
				bitmap.Set(t.ghosts.of[id%parts].Bits, uint32(id/parts))
			}
		}
	}
	return s.ask(ctx, &t.ghosts)
}

// owned returns the number of vertices of a partition of any rank.
func (s *Rank) owned(partition int) int {
	return (s.g.N - partition + len(s.Owner) - 1) / len(s.Owner)
}

// translateTogether translates the results of the own vertices to input numbers, in together. If
// asked is false, it adds parents without a known number to asked, and returns 1 if there are any.
// If asked is true, all numbers are known.
func (s *Rank) translateTogether(found Found, asked bool) (unknown uint64) {
	t, n := &s.together, uint32(s.g.N)
	var others atomic.Uint64
	s.eachBlock(found, func(p *graph.Partition, lo int, parents []uint32, _ []float32) {
		numbers := t.parents[p.Index][lo:]
		for i, parent := range parents {
			if parent < n {
				number, known := t.ghosts.get(parent)
				switch {
				case known:
					parent = number
				case asked:
					parent, _ = t.asked.get(parent)
				default:
					q, local := t.asked.place(parent)
					word, bit := &t.asked.of[q].Bits[local>>6], uint64(1)<<(local&63)
					if atomic.LoadUint64(word)&bit == 0 { // a hub is the parent of many
						atomic.OrUint64(word, bit)
						others.Store(1)
					}
				}
			}
			numbers[i] = parent
		}
	})
	return others.Load()
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

// onItsWay is the result of a vertex, to be sent to the rank of its range.
type onItsWay struct {
	vertex uint32 // relative to the first vertex of the range
	parent uint32
	dist   float32
}

// deliver sends the translated results to the ranks of the vertices' ranges, which write them to
// parent and dist.
func (s *Rank) deliver(ctx context.Context, found Found) error {
	parts, most := s.parts(), 0
	for _, p := range parts {
		most = max(most, p.Owned)
	}
	step := delivered/max(len(parts), 1) + 1 // vertices of each partition per round
	rounds, err := collective.CombineOne(ctx, s.group, s.small(), collective.MaxUint64,
		uint64((most+step-1)/step))
	if err != nil {
		return err
	}
	out := make([][]onItsWay, s.ranks())
	for round := range int(rounds) {
		for q := range out {
			out[q] = out[q][:0]
		}
		for _, p := range parts {
			for local := round * step; local < min((round+1)*step, p.Owned); local++ {
				s.sendOne(out, p, uint32(local), found)
			}
		}
		in, err := collective.AlltoallOf(ctx, s.group, s.bulk(), out)
		if err != nil {
			return err
		}
		for q, list := range in {
			if err := s.arrive(list, found.hops != nil); err != nil {
				return fmt.Errorf("from rank %d: %w", q, err)
			}
		}
	}
	return nil
}

// sendOne adds the result of a vertex to the data for the rank of its range.
func (s *Rank) sendOne(out [][]onItsWay, p *graph.Partition, local uint32, found Found) {
	item := onItsWay{vertex: s.input(p, local), parent: s.together.parents[p.Index][local]}
	switch item.parent {
	case unreached:
		return
	case noParent:
		item.parent = unreached
	}
	if found.hops != nil {
		item.dist = found.hops(p.Index)[local].Dist
	}
	q := item.vertex / uint32(s.per)
	item.vertex -= q * uint32(s.per)
	out[q] = append(out[q], item)
}

// arrive writes received results to parent and dist.
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

// nedge counts the tuples between vertices that a search reached: half the sum of the vertices'
// tuple degrees, because both ends of such a tuple are reached.
func (s *Rank) nedge(ctx context.Context, found Found) (int64, error) {
	var total atomic.Uint64
	s.eachBlock(found, func(p *graph.Partition, lo int, parents []uint32, _ []float32) {
		sum := uint64(0)
		for i, parent := range parents {
			if parent != unreached && parent != noParent {
				sum += uint64(p.TupleDegrees[lo+i])
			}
		}
		total.Add(sum)
	})
	sum, err := collective.CombineOne(ctx, s.group, s.small(), collective.SumUint64, total.Load())
	return int64(sum / 2), err
}
