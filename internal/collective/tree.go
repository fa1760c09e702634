package collective

import (
	"math/bits"
	"slices"
)

// tree is a rank's position in a tree. Data of a broadcast comes from the parent and goes to the
// children in order. Data of a reduction goes the other way.
type tree struct {
	parent   int // -1 at the root
	children []int
}

// binomialTree doubles the number of ranks with the data in every step (Matsumoto15, table 4): the
// root sends to the rank n/2 places ahead, then both send to the ranks n/4 places ahead, and so on.
// Position v, counted from the root, receives from v without its lowest bit.
func (t team) binomialTree(root int) tree {
	n, v := t.size(), t.behind(root)
	result := tree{parent: -1}
	low := 1 << bits.Len(uint(n-1)) // the root's subtree has all ranks
	if v > 0 {
		low = v & -v
		result.parent = t.at(-low)
	}
	for d := low / 2; d >= 1; d /= 2 {
		if v+d < n {
			result.children = append(result.children, t.at(d))
		}
	}
	return result
}

// behind returns the number of places from the root to this rank.
func (t team) behind(root int) int { return t.index(-slices.Index(t.ranks, root)) }

// flatTree makes the root send to every rank.
func (t team) flatTree(root int) tree {
	if t.behind(root) > 0 {
		return tree{parent: root}
	}
	result := tree{parent: -1}
	for i := 1; i < t.size(); i++ {
		result.children = append(result.children, t.at(i))
	}
	return result
}

// chainTree makes each rank send to the next.
func (t team) chainTree(root int) tree {
	result, v := tree{parent: -1}, t.behind(root)
	if v > 0 {
		result.parent = t.at(-1)
	}
	if v < t.size()-1 {
		result.children = []int{t.at(1)}
	}
	return result
}

// sitesTree is a binomial tree of the sites' leaders, and one below each leader. So data goes to
// each site once. A tree that ignores sites floods the slow link in its last step (Matsuda, 3.5).
func sitesTree(s shape) tree {
	v := bySite(s, s.root)
	leader := v.leaders[v.mine]
	local := newTeam(v.members[v.mine], s.rank).binomialTree(leader)
	if s.rank != leader {
		return local
	}
	t := newTeam(v.leaders, leader).binomialTree(s.root)
	t.children = append(t.children, local.children...)
	return t
}

// broadcastRounds sends segments down a tree, one after the other: while a rank receives one, it
// forwards the one before.
func (t tree) broadcastRounds(segments [][]int) []round {
	down := func(slots []int) []transfer {
		var sends []transfer
		for _, c := range t.children {
			sends = append(sends, transfer{peer: c, slots: slots})
		}
		return sends
	}
	var rounds []round
	for i, slots := range segments {
		switch {
		case t.parent < 0:
			rounds = append(rounds, round{sends: down(slots)})
		case i == 0:
			rounds = append(rounds, round{receives: receive(t.parent, slots...)})
		default:
			rounds = append(rounds, round{down(segments[i-1]), receive(t.parent, slots...)})
		}
	}
	if t.parent >= 0 && len(t.children) > 0 {
		rounds = append(rounds, round{sends: down(segments[len(segments)-1])})
	}
	return rounds
}

func binomial(s shape) tree { return s.team().binomialTree(s.root) }
func flat(s shape) tree     { return s.team().flatTree(s.root) }

// under returns a rank, and all ranks below it in a tree.
func (s shape) under(rank int, of func(shape) tree) []int {
	s.rank = rank
	all := []int{rank}
	for _, c := range of(s).children {
		all = append(all, s.under(c, of)...)
	}
	return all
}

// reduceRounds combines slots up a tree.
func (t tree) reduceRounds(slots []int) []round {
	return t.upRounds(0, true, func(int) []int { return slots })
}

// upRounds moves the slots of each rank and the ranks below it up a tree. It starts with the last
// child: in a binomial tree it has the smallest subtree and is ready first.
func (t tree) upRounds(rank int, combines bool, slots func(rank int) []int) []round {
	var r round
	for _, c := range slices.Backward(t.children) {
		r.receives = append(r.receives, transfer{c, slots(c), combines})
	}
	rounds := []round{r}
	if t.parent >= 0 {
		rounds = append(rounds, round{sends: send(t.parent, slots(rank)...)})
	}
	return rounds
}
