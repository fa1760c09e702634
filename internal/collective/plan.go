package collective

import (
	"cmp"
	"slices"
)

// plan is the work of one rank in a collective. Data is in numbered slots. Each collective gives
// the slots their meaning.
type plan struct {
	slots  int // number of slots
	rounds []round
}

// round is one step of a rank. Messages are sent in order while others are received in order. When
// both are done, received data is stored in slots, or combined with them. So no message of a round
// depends on another of the same round.
type round struct {
	sends, receives []transfer
}

// transfer is a message of some slots, to or from a peer.
type transfer struct {
	peer    int
	slots   []int
	combine bool // combine the received data with the slot, instead of storing it
}

func send(peer int, slots ...int) []transfer    { return []transfer{{peer: peer, slots: slots}} }
func receive(peer int, slots ...int) []transfer { return []transfer{{peer: peer, slots: slots}} }
func combine(peer int, slots ...int) []transfer {
	return []transfer{{peer: peer, slots: slots, combine: true}}
}

// shape is the input of a plan.
type shape struct {
	ranks, rank int
	root        int
	segments    int   // of a pipelined broadcast
	sites       []int // by rank; nil if there is only one site
}

// site returns the site of a rank.
func (s shape) site(rank int) int {
	if s.sites == nil {
		return 0
	}
	return s.sites[rank]
}

// all returns the ranks ordered by site, so that a ring leaves each site once.
func (s shape) all() []int {
	ranks := numbers(s.ranks)
	slices.SortStableFunc(ranks, func(a, b int) int { return cmp.Compare(s.site(a), s.site(b)) })
	return ranks
}

// team returns all ranks as a team.
func (s shape) team() team { return newTeam(s.all(), s.rank) }

// team is a list of ranks that work together, and this rank's index in it, or -1.
type team struct {
	ranks []int
	me    int
}

func newTeam(ranks []int, rank int) team { return team{ranks, slices.Index(ranks, rank)} }

func (t team) size() int { return len(t.ranks) }

// at returns the rank distance places ahead of this one, round the team.
func (t team) at(distance int) int { return t.ranks[t.index(distance)] }

func (t team) index(distance int) int {
	n := len(t.ranks)
	return ((t.me+distance)%n + n) % n
}

// sites is a topology of two levels, as seen by a rank: the ranks of each site, and the leader of
// each site.
type sites struct {
	members [][]int
	leaders []int
	mine    int // index of the rank's own site
}

// bySite groups ranks by site. The root, if any, is the leader of its site, so that data need not
// go to another leader first. root is -1 if there is none.
func bySite(s shape, root int) sites {
	var v sites
	index := map[int]int{}
	for rank := range s.ranks {
		i, ok := index[s.site(rank)]
		if !ok {
			i = len(v.members)
			index[s.site(rank)] = i
			v.members = append(v.members, nil)
			v.leaders = append(v.leaders, rank)
		}
		v.members[i] = append(v.members[i], rank)
	}
	if root >= 0 {
		v.leaders[index[s.site(root)]] = root
	}
	v.mine = index[s.site(s.rank)]
	return v
}

// leads reports whether a rank is the leader of its site.
func (v sites) leads(rank int) bool { return v.leaders[v.mine] == rank }

// numbers returns 0, 1, ... n-1.
func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// powerBelow returns the greatest power of two that is at most n. n must be positive.
func powerBelow(n int) int { return 1 << log2(n) }
