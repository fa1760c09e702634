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
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// A search leaves with each vertex the handle of its parent. A rank that is alone has the numbers
// of all; of several, each asks the others for those of the parents that it has met, each once:
//
//	rank of the vertices --- a bitmap of parents ---> rank of these
//	                     <-- their numbers, in order ---
//
// Then the result is there by the input's numbers, and what follows is for the judge: to bring it
// to the rank whose range a vertex is in.

// Numbers of parents that are none.
const (
	unreached = validate.Unreached
	// noVertex is the number of a handle that stands for none: larger than any, so that the judge
	// finds that.
	noVertex = math.MaxUint32 - 1
	// noParent is that of a vertex that has a distance and no parent, which the judge is to find.
	noParent = math.MaxUint32 - 2
)

const (
	// blockOf is how many vertices a thread translates at a time.
	blockOf = 1 << 9
	// askedOf is how many words of a partition's bitmap of parents go with a message.
	askedOf = 1 << 14
	// delivered is how many vertices a rank sends to their ranges before the ranks exchange what
	// they have.
	delivered = 1 << 15
)

// errForeign is of a rank that takes a vertex for another rank's.
var errForeign = errors.New("a vertex came that belongs to another worker")

// narrow returns a handle of n in 32 bits.
func narrow(id pregel.VertexID, n int) uint32 {
	switch {
	case id < pregel.VertexID(n):
		return uint32(id)
	case id != pregel.None:
		return noVertex
	}
	return unreached
}

// read brings the handles of the parents of a partition's vertices from lo on to parents, as many
// as that has, and their distances, if there are any, to dist. n is how many handles there are.
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

// clear forgets what the search before found.
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
	for _, set := range s.together.asked {
		clear(set.Bits)
	}
}

// translateHere brings what a search found to parent and dist, which are clear: for a rank that has
// all vertices. Most parents are hubs, whose numbers stay in the caches: what costs is the place
// that each vertex's parent is written to.
func (s *Rank) translateHere(found Found) {
	order, out := s.g.Order, s.parent
	for _, p := range s.g.Parts {
		if found.parents != nil {
			parents := found.parents(p.Index)
			s.Team.For(p.Owned, 1<<14, func(_, lo, hi int) { s.translateParents(p, parents, lo, hi) })
			continue
		}
		of, first := p.Of, p.Index
		s.Team.For(p.Owned, 1<<14, func(_, lo, hi int) {
			var parents [blockOf]uint32
			var dist [blockOf]float32
			for ; lo < hi; lo += blockOf {
				block := parents[:min(blockOf, hi-lo)]
				found.read(p, lo, len(order), block, dist[:])
				for i, parent := range block {
					if parent == unreached {
						continue
					}
					v := order[(lo+i)*of+first]
					if parent < uint32(len(order)) {
						parent = order[parent]
					} else if parent == noParent {
						parent = unreached
					}
					out[v] = parent
				}
				if found.Dist == nil {
					continue
				}
				for i, d := range dist[:len(block)] {
					if block[i] != unreached {
						s.dist[order[(lo+i)*of+first]] = d
					}
				}
			}
		})
	}
}

// translateParents is translateHere for the vertices lo to hi of a partition in kernel 2, whose
// parents it reads where they are: that takes 0.7 of the time.
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

// together is what a rank of several translates with.
type together struct {
	// of the own vertices, by partition: first their handles, then their numbers
	parents [][]uint32
	asked   []bitmap.Ranked // by partition, the parents met
}

// newTogether makes room.
func (s *Rank) newTogether() together {
	t := together{parents: make([][]uint32, len(s.Owner)), asked: make([]bitmap.Ranked, len(s.Owner))}
	for i := range s.Owner {
		words := bitmap.Words(s.owned(i))
		t.asked[i] = bitmap.Ranked{Bits: mem.Make[uint64](s.arena, words), Rank: mem.Make[uint32](s.arena, words+1)}
		if p := s.g.Parts[i]; p != nil {
			t.parents[i] = mem.Make[uint32](s.arena, p.Owned)
		}
	}
	return t
}

// owned returns how many vertices a partition has, whoever has it.
func (s *Rank) owned(partition int) int {
	return (s.g.N - partition + len(s.Owner) - 1) / len(s.Owner)
}

// translateTogether brings what a search found of the own vertices to the input's numbers, in
// together.
func (s *Rank) translateTogether(ctx context.Context, found Found) error {
	t, n, parts := &s.together, uint32(s.g.N), uint32(len(s.Owner))
	for _, p := range s.parts() {
		s.Team.For(p.Owned, 1<<14, func(_, lo, hi int) {
			var dist [blockOf]float32
			for ; lo < hi; lo += blockOf {
				block := t.parents[p.Index][lo:min(lo+blockOf, hi)]
				found.read(p, lo, s.g.N, block, dist[:])
				for _, parent := range block {
					if parent >= n {
						continue
					}
					local := parent / parts
					word, bit := &t.asked[parent%parts].Bits[local>>6], uint64(1)<<(local&63)
					if atomic.LoadUint64(word)&bit == 0 {
						atomic.OrUint64(word, bit)
					}
				}
			}
		})
	}
	numbers, err := s.ask(ctx)
	if err != nil {
		return err
	}
	for _, p := range s.parts() {
		s.Team.For(p.Owned, 1<<14, func(_, lo, hi int) {
			block := t.parents[p.Index][lo:hi]
			for i, parent := range block {
				if parent < n {
					q := parent % parts
					block[i] = numbers[q][t.asked[q].Of(parent/parts)]
				}
			}
		})
	}
	return nil
}

// ask returns, by partition, the numbers of the vertices in asked, in order, and counts those
// before each word of it.
func (s *Rank) ask(ctx context.Context) ([][]uint32, error) {
	t := &s.together
	numbers := make([][]uint32, len(s.Owner))
	for i, set := range t.asked {
		numbers[i] = make([]uint32, 0, bitmap.Rank(set.Bits, set.Rank).Count())
	}
	for from := 0; from < bitmap.Words(s.owned(0)); from += askedOf {
		// of is what there is of a partition in this round.
		of := func(partition int) (lo, hi int) {
			words := bitmap.Words(s.owned(partition))
			return min(from, words), min(from+askedOf, words)
		}
		questions := make([][]uint64, s.ranks())
		for i, q := range s.Owner {
			lo, hi := of(i)
			questions[q] = append(questions[q], t.asked[i].Bits[lo:hi]...)
		}
		asked, err := collective.AlltoallOf(ctx, s.group, s.bulk(), questions)
		if err != nil {
			return nil, err
		}
		answers := make([][]uint32, s.ranks())
		for q, words := range asked {
			for _, p := range s.parts() {
				lo, hi := of(p.Index)
				if len(words) < hi-lo {
					return nil, fmt.Errorf("rank %d asks for too few vertices", q)
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
			return nil, err
		}
		for i, q := range s.Owner {
			lo, hi := of(i)
			count := bitmap.Count(t.asked[i].Bits[lo:hi])
			if len(answered[q]) < count {
				return nil, fmt.Errorf("rank %d answers for %d vertices of %d", q, len(answered[q]), count)
			}
			numbers[i] = append(numbers[i], answered[q][:count]...)
			answered[q] = answered[q][count:]
		}
	}
	return numbers, nil
}

// onItsWay is what was found of a vertex, on its way to the rank whose range that is in.
type onItsWay struct {
	vertex uint32 // from the first of the range
	parent uint32
	dist   float32
}

// deliver brings what was translated together to parent and dist of the ranks in whose ranges the
// vertices are.
func (s *Rank) deliver(ctx context.Context, found Found) error {
	own := 0
	for _, p := range s.parts() {
		own += p.Owned
	}
	rounds, err := collective.CombineOne(ctx, s.group, s.small(), collective.MaxUint64, uint64((own+delivered-1)/delivered))
	if err != nil {
		return err
	}
	w := walk{s: s, parts: s.parts()}
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
		for q, list := range in {
			if err := s.arrive(list, found.Dist != nil); err != nil {
				return fmt.Errorf("from rank %d: %w", q, err)
			}
		}
	}
	return nil
}

// walk goes through the own vertices.
type walk struct {
	s     *Rank
	parts []*graph.Partition // yet to be walked
	local int                // the next vertex of the first
}

// next sends what was found of the next vertices.
func (w *walk) next(out [][]onItsWay, found Found) {
	s := w.s
	for left := delivered; left > 0 && len(w.parts) > 0; {
		p := w.parts[0]
		stop := min(p.Owned, w.local+left)
		left -= stop - w.local
		for ; w.local < stop; w.local++ {
			item := onItsWay{vertex: s.input(p, uint32(w.local)), parent: s.together.parents[p.Index][w.local]}
			if item.parent == unreached {
				continue
			}
			if item.parent == noParent {
				item.parent = unreached
			}
			if found.Dist != nil {
				item.dist = found.Dist(p.Global(uint32(w.local)))
			}
			q := item.vertex / uint32(s.per)
			item.vertex -= q * uint32(s.per)
			out[q] = append(out[q], item)
		}
		if w.local == p.Owned {
			w.parts, w.local = w.parts[1:], 0
		}
	}
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
