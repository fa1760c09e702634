package collective

// The slots of an alltoall of P ranks depend on the algorithm. pairwise and linear: slot i has the
// block to rank i, slot P+i the block from rank i. bruck: slot i has the block to the rank i places
// ahead, and at the end the block from the rank i places behind. sites: slot i*P+j has the block
// from rank i to rank j.

// alltoallSlots returns the slot of a rank's block to a peer, and the slot of the block from the
// peer.
func alltoallSlots(a Algorithm, s shape) (out, in func(peer int) int) {
	n := s.ranks
	switch a {
	case Bruck:
		order := s.all()
		place := make([]int, n)
		for i, r := range order {
			place[r] = i
		}
		ahead := func(from, to int) int { return (place[to] - place[from] + n) % n }
		return func(peer int) int { return ahead(s.rank, peer) },
			func(peer int) int { return ahead(peer, s.rank) }
	case Sites:
		return func(peer int) int { return s.rank*n + peer },
			func(peer int) int { return peer*n + s.rank }
	default:
		return func(peer int) int { return peer }, func(peer int) int { return n + peer }
	}
}

// pairwisePlan sends in round k to the rank k places ahead, and receives from the rank k places
// behind.
func pairwisePlan(s shape) plan {
	t := s.team()
	p := plan{slots: 2 * s.ranks}
	for k := 1; k < s.ranks; k++ {
		p.rounds = append(p.rounds,
			round{send(t.at(k), t.at(k)), receive(t.at(-k), s.ranks+t.at(-k))})
	}
	return p
}

// linearPlan is pairwisePlan in one round: no message waits for another, but all are in flight at
// once.
func linearPlan(s shape) plan {
	var all round
	for _, r := range pairwisePlan(s).rounds {
		all.sends = append(all.sends, r.sends...)
		all.receives = append(all.receives, r.receives...)
	}
	return plan{2 * s.ranks, []round{all}}
}

// bruckAlltoallPlan moves the block for the rank i places ahead by 2^k places for every bit k of i.
// Half of the blocks move in each round, so it is for small blocks (Bruck et al. 1997).
func bruckAlltoallPlan(s shape) plan {
	t := s.team()
	p := plan{slots: s.ranks}
	for d := 1; d < s.ranks; d *= 2 {
		var slots []int
		for i := range s.ranks {
			if i&d != 0 {
				slots = append(slots, i)
			}
		}
		p.rounds = append(p.rounds, round{send(t.at(d), slots...), receive(t.at(-d), slots...)})
	}
	return p
}

// sitesAlltoallPlan sends directly inside a site. Blocks to another site go through both leaders,
// as one message for each pair of sites. This saves messages on the slow link, but all their data
// pass through one rank (Matsuda, 3.4).
func sitesAlltoallPlan(s shape) plan {
	v := bySite(s, -1)
	mine, leader := v.members[v.mine], v.leaders[v.mine]
	slots := func(from, to []int) []int {
		var list []int
		for _, f := range from {
			for _, t := range to {
				list = append(list, f*s.ranks+t)
			}
		}
		return list
	}
	var outside []int
	for i, members := range v.members {
		if i != v.mine {
			outside = append(outside, members...)
		}
	}
	var direct round
	local, own := newTeam(mine, s.rank), []int{s.rank}
	for k := 1; k < len(mine); k++ {
		direct.sends = append(direct.sends, send(local.at(k), slots(own, []int{local.at(k)})...)...)
		direct.receives = append(direct.receives,
			receive(local.at(-k), slots([]int{local.at(-k)}, own)...)...)
	}
	p := plan{slots: s.ranks * s.ranks, rounds: []round{direct}}
	if len(outside) == 0 {
		return p
	}
	if s.rank != leader {
		p.rounds = append(p.rounds,
			round{sends: send(leader, slots(own, outside)...)},
			round{receives: receive(leader, slots(outside, own)...)})
		return p
	}
	var collect, between, spread round
	for _, m := range mine {
		if m != leader {
			collect.receives = append(collect.receives, receive(m, slots([]int{m}, outside)...)...)
			spread.sends = append(spread.sends, send(m, slots(outside, []int{m})...)...)
		}
	}
	leaders := newTeam(v.leaders, s.rank)
	for k := 1; k < len(v.leaders); k++ {
		to, from := leaders.index(k), leaders.index(-k)
		between.sends = append(between.sends, send(leaders.at(k), slots(mine, v.members[to])...)...)
		between.receives = append(between.receives,
			receive(leaders.at(-k), slots(v.members[from], mine)...)...)
	}
	p.rounds = append(p.rounds, collect, between, spread)
	return p
}
