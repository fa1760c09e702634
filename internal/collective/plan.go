package collective

import (
	"cmp"
	"slices"
)

// plan is what one rank does in a collective. Data lies in numbered slots; what a slot means is up
// to the collective.
type plan struct {
	slots  int // how many there are
	rounds []round
}

// round is a rank's messages of one step. Sends leave in order while receives arrive in order; what
// arrives is stored, or combined with what is there, when both are over. So no message of a round
// depends on another of the same round.
type round struct {
	sends, receives []transfer
}

// transfer is a message of some slots to or from a peer.
type transfer struct {
	peer    int
	slots   []int
	combine bool // what is received is combined with the slot, not stored in its place
}

func send(peer int, slots ...int) []transfer    { return []transfer{{peer: peer, slots: slots}} }
func receive(peer int, slots ...int) []transfer { return []transfer{{peer: peer, slots: slots}} }
func combine(peer int, slots ...int) []transfer {
	return []transfer{{peer: peer, slots: slots, combine: true}}
}

// exchange is a round of one message each way.
func exchange(sends, receives []transfer) round { return round{sends, receives} }

// shape is what a plan depends on.
type shape struct {
	ranks, rank int
	root        int
	segments    int   // of a pipelined broadcast
	sites       []int // by rank; nil when all are at one
}

// site returns where a rank is.
func (s shape) site(rank int) int {
	if s.sites == nil {
		return 0
	}
	return s.sites[rank]
}

// all returns the ranks, those of a site side by side, so that a ring leaves each site once.
func (s shape) all() []int {
	ranks := numbers(0, s.ranks)
	slices.SortStableFunc(ranks, func(a, b int) int { return cmp.Compare(s.site(a), s.site(b)) })
	return ranks
}

// team is ranks that work together, and this rank's place among them, or -1.
type team struct {
	ranks []int
	me    int
}

func newTeam(ranks []int, rank int) team { return team{ranks, slices.Index(ranks, rank)} }

func (t team) size() int { return len(t.ranks) }

// at returns the rank some places after this one, round the team.
func (t team) at(distance int) int { return t.ranks[t.index(distance)] }

func (t team) index(distance int) int {
	n := len(t.ranks)
	return ((t.me+distance)%n + n) % n
}

// sites is the two levels of a topology as a rank sees them: the ranks at each site, and one leader
// of each.
type sites struct {
	members [][]int
	leaders []int
	mine    int // index of the rank's own site
}

// bySite groups ranks. The root, if any, leads its site, so that data need not go to another leader
// first; root is -1 when there is none.
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

// leads reports whether a rank leads its site.
func (v sites) leads(rank int) bool { return v.leaders[v.mine] == rank }

// numbers returns from, from+1, ... to-1.
func numbers(from, to int) []int {
	list := make([]int, 0, max(to-from, 0))
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}

// powerBelow returns the largest power of two that is at most n, which is positive.
func powerBelow(n int) int {
	p := 1
	for p*2 <= n {
		p *= 2
	}
	return p
}
