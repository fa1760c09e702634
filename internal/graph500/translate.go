package graph500

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/graph500/validate"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// The result must have the input numbers of the parents, in the order of the input. A single rank
// has the numbers of all vertices. There kernel 2 writes the number of each parent when it finds the
// parent (Nakao20, 3.2). Otherwise a search finds VertexIDs, which translate replaces by numbers. One
// of several ranks stores the numbers of its ghosts with the graph, and those of the hubs, which are
// most parents. In a flat grid only ghosts can be parents of its vertices. It gets these numbers from
// the other ranks in kernel 1. After a search it gets the numbers of all other parents, each once:
//
//	rank of the vertices --- a bitmap of parents ---> rank of these
//	                     <-- their numbers, in order ---
//
// Then the result is available by input numbers. A single rank also moves it to the order of the
// input. Sending each vertex to the rank of its range is a part of judging.

// inputNumber is the number of a vertex in the input, or a special number.
type inputNumber uint32

// Special numbers.
const (
	unreached = inputNumber(validate.Unreached)
	// noVertex is the number for an invalid VertexID: greater than any number, so that the
	// validator finds the error.
	noVertex = math.MaxUint32 - 1
	// noParent is the number for a vertex with a distance and no parent, so that the validator
	// finds the error.
	noParent = math.MaxUint32 - 2
)

const (
	// defaultHubs is for Config.hubs. At SCALE 20 hubs are 97 percent of all parents.
	defaultHubs = 1 << 16
	// askedOf is the number of words of a partition's bitmap of parents in a message.
	askedOf = 1 << 14
)

// clear forgets the result of the last search.
func (s *Rank) clear() {
	s.Team.For(len(s.parent), 1<<16, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			if s.parent[i] = validate.Unreached; s.dist != nil {
				s.dist[i] = -1
			}
		}
	})
	for _, set := range s.tables.asked.of {
		clear(set.Bits)
	}
}

// tables are for the translation of a search's result.
type tables struct {
	parents  [][]inputNumber // the result of the last search, by partition
	own      [][]inputNumber // arrays for results that the search did not write
	hubs     []uint32        // numbers of the first vertices; of all vertices on a single rank
	ghosts   numbers         // on several ranks, also of the own vertices and hubs
	asked    numbers         // parents that are not ghosts
	unknown  atomic.Uint64   // 1 if asked has new vertices
	answered bool            // asked has the numbers
}

// numbers are the input numbers of some vertices of each partition.
type numbers struct {
	kernel.Deal
	of    []bitmap.Ranked
	input [][]uint32 // of the vertices in of, in order
}

// get returns the input number of a vertex, if it is known.
func (n *numbers) get(id uint32) (number uint32, known bool) {
	q, local := n.Of(id)
	of := &n.of[q]
	if !of.Get(local) {
		return noVertex, false
	}
	return n.input[q][of.Of(local)], true
}

// newNumbers makes an empty table for all partitions.
func (s *Rank) newNumbers() numbers {
	n := numbers{s.g.Deal, make([]bitmap.Ranked, len(s.Owner)), make([][]uint32, len(s.Owner))}
	for i := range s.Owner {
		words := bitmap.Words(s.owned(i))
		n.of[i].Bits = mem.Make[uint64](s.arena, words)
		n.of[i].Rank = mem.Make[uint32](s.arena, words+1)
	}
	return n
}

// newTables makes the tables. One of several ranks gets the numbers of its vertices, of their ghosts
// and of the hubs.
func (s *Rank) newTables(ctx context.Context) error {
	t := s.tables
	t.parents, t.own = make([][]inputNumber, len(s.Owner)), make([][]inputNumber, len(s.Owner))
	for _, p := range s.parts() {
		t.own[p.Index] = mem.Make[inputNumber](s.arena, p.Owned)
	}
	if s.ranks() == 1 {
		t.hubs = s.g.Order
		return nil
	}
	t.ghosts, t.asked = s.newNumbers(), s.newNumbers()
	t.hubs = mem.Make[uint32](s.arena, min(s.hubs, s.g.N))
	know := func(id uint32) {
		q, local := t.ghosts.Of(id)
		bitmap.Set(t.ghosts.of[q].Bits, local)
	}
	for id := range t.hubs {
		know(uint32(id))
	}
	for _, p := range s.parts() {
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
func (s *Rank) owned(partition int) int { return s.g.Deal.Owned(s.g.N, partition) }

// translate writes the numbers of the own vertices' parents to tables.parents. It adds parents
// without a known number to tables.asked, unless answered is true: then all numbers are known.
func (s *Rank) translate(found Found, answered bool) {
	s.tables.answered = answered
	for _, p := range s.parts() {
		if found.numbers != nil {
			s.tables.parents[p.Index] = found.numbers(p.Index)
			continue
		}
		numbers := s.tables.own[p.Index]
		s.tables.parents[p.Index] = numbers
		s.Team.For(p.Owned, 1<<14, func(_, lo, hi int) {
			if found.hops == nil {
				for i, parent := range found.parents(p.Index)[lo:hi] {
					numbers[lo+i] = s.number(parent)
				}
				return
			}
			for i, h := range found.hops(p.Index)[lo:hi] {
				numbers[lo+i] = s.number(h.From)
				if h.From == pregel.None && !(h.Dist > math.MaxFloat32) {
					numbers[lo+i] = noParent
				}
			}
		})
	}
}

// number returns the number of a parent.
func (s *Rank) number(parent pregel.VertexID) inputNumber {
	if hubs := s.tables.hubs; parent < pregel.VertexID(len(hubs)) {
		return inputNumber(hubs[parent])
	}
	return s.otherNumber(parent)
}

// otherNumber is number for a parent that is not a hub.
func (s *Rank) otherNumber(parent pregel.VertexID) inputNumber {
	switch {
	case parent == pregel.None:
		return unreached
	case parent >= pregel.VertexID(s.g.N) || s.ranks() == 1:
		return noVertex
	}
	t, id := s.tables, uint32(parent)
	number, known := t.ghosts.get(id)
	if !known && t.answered {
		number, _ = t.asked.get(id)
	} else if !known {
		q, local := t.asked.Of(id)
		word, bit := &t.asked.of[q].Bits[local>>6], uint64(1)<<(local&63)
		if atomic.LoadUint64(word)&bit == 0 { // many vertices may have the same parent
			atomic.OrUint64(word, bit)
			t.unknown.Store(1)
		}
	}
	return inputNumber(number)
}

// arrange moves the result of a single rank to parent and dist, which are in the order of the input.
// Vertices of the same degree have ascending VertexIDs in that order. So a thread that takes many
// consecutive vertices reads a partition at one place for each degree, and these places stay in its
// cache. Writing to parent in the order of the VertexIDs misses the caches far more often.
func (s *Rank) arrange(found Found) {
	numbers, deal := s.tables.parents, s.g.Deal
	s.Team.For(s.g.N, s.g.N/(4*s.Team.Size())+1, func(_, lo, hi int) {
		ids, to := s.g.IDs[lo:hi], s.parent[lo:hi]
		if len(numbers) == 1 && found.hops == nil { // without divisions
			numbers := numbers[0]
			for i, id := range ids {
				to[i] = uint32(numbers[id])
			}
			return
		}
		for i, id := range ids {
			q, local := deal.Of(id)
			number := numbers[q][local]
			if to[i] = uint32(number); found.hops == nil {
				continue
			}
			switch s.dist[lo+i] = found.hops(q)[local].Dist; number {
			case unreached:
				s.dist[lo+i] = -1
			case noParent:
				to[i] = validate.Unreached
			}
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
func (s *Rank) nedge(ctx context.Context) (int64, error) {
	var total atomic.Uint64
	for _, p := range s.parts() {
		s.Team.For(p.Owned, 1<<14, func(_, lo, hi int) {
			sum := uint64(0)
			for i, number := range s.tables.parents[p.Index][lo:hi] {
				if number != unreached && number != noParent {
					sum += uint64(p.TupleDegrees[lo+i])
				}
			}
			total.Add(sum)
		})
	}
	sum, err := collective.CombineOne(ctx, s.group, s.small(), collective.SumUint64, total.Load())
	return int64(sum / 2), err
}
