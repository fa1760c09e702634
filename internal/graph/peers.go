package graph

import (
	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/mem"
)

// Peers has, for each partition q, the owned vertices that are ghosts on this side of q's block, in
// the order of q's group. It is the list of vertices of a column between the two partitions. On the
// senders' side it is NBq of Ueno13, the list of expand: the vertices with an edge into q's block.
// On the receivers' side it is the list of fold: the vertices with an edge in q's block.
//
// All lists are in three arrays, one after another, because with hundreds of partitions each list
// is short.
type Peers struct {
	words   []uint64
	ranks   []uint32 // for each list one more element than words
	members []uint32
	// first[q] is where the list of q begins, in words and in members.
	first []struct{ word, member uint32 }
}

// newPeers makes the lists of sets; some sets are nil.
func newPeers(arena *mem.Arena, sets [][]uint64) Peers {
	s := Peers{first: make([]struct{ word, member uint32 }, len(sets)+1)}
	for q, set := range sets {
		words, members := bitmap.Cut(set)
		s.first[q+1].word = s.first[q].word + uint32(words)
		s.first[q+1].member = s.first[q].member + uint32(members)
	}
	end := s.first[len(sets)]
	s.words, s.ranks = mem.Make[uint64](arena, int(end.word)),
		mem.Make[uint32](arena, int(end.word)+len(sets))
	s.members = mem.Make[uint32](arena, int(end.member))
	for q, set := range sets {
		list := s.Of(q)
		list.Fill(set)
	}
	return s
}

// Of returns the list for a partition.
func (s *Peers) Of(q int) bitmap.List {
	from, to := s.first[q], s.first[q+1]
	return bitmap.List{
		Head: bitmap.Ranked{Bits: s.words[from.word:to.word:to.word], Rank: s.ranks[int(from.word)+
			q : int(to.word)+q+1]},
		Tail: s.members[from.member:to.member:to.member],
	}
}

// Bytes returns the bytes of the lists.
func (s *Peers) Bytes() int {
	return 8*len(s.words) + 4*len(s.ranks) + 4*len(s.members) + 8*len(s.first)
}
