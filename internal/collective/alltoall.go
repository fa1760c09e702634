package collective

// Slots of an alltoall: pairwise and linear have the block for rank i in slot i and the one from i
// in P+i; bruck has the block for the rank i places on, and in the end the one from the rank i
// places back, in slot i; sites has the block from i to j in slot i*P+j.

// alltoallSlots returns where a rank puts its block for a peer, and where it finds the one from it.
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
		return func(peer int) int { return ahead(s.rank, peer) }, func(peer int) int { return ahead(peer, s.rank) }
	case Sites:
		return func(peer int) int { return s.rank*n + peer }, func(peer int) int { return peer*n + s.rank }
	default:
		return func(peer int) int { return peer }, func(peer int) int { return n + peer }
	}
}

// pairwisePlan: in round k to the rank k places on and from the one k places back.
func pairwisePlan(s shape) plan {
	t := newTeam(s.all(), s.rank)
	p := plan{slots: 2 * s.ranks}
	for k := 1; k < s.ranks; k++ {
		p.rounds = append(p.rounds, exchange(send(t.at(k), t.at(k)), receive(t.at(-k), s.ranks+t.at(-k))))
	}
	return p
}

// linearPlan is pairwisePlan in one round: nobody waits for the delay of each message, but all of
// them are on the way at once.
func linearPlan(s shape) plan {
	var all round
	for _, r := range pairwisePlan(s).rounds {
		all.sends = append(all.sends, r.sends...)
		all.receives = append(all.receives, r.receives...)
	}
	return plan{2 * s.ranks, []round{all}}
}

// bruckAlltoallPlan: a block for the rank i places on goes 2^k places for every bit k of i. Half of
// the blocks travel in each round, so it is for small ones (Bruck et al. 1997).
func bruckAlltoallPlan(s shape) plan {
	t := newTeam(s.all(), s.rank)
	p := plan{slots: s.ranks}
	for d := 1; d < s.ranks; d *= 2 {
		var slots []int
		for i := range s.ranks {
			if i&d != 0 {
				slots = append(slots, i)
			}
		}
		p.rounds = append(p.rounds, exchange(send(t.at(d), slots...), receive(t.at(-d), slots...)))
	}
	return p
}

// sitesAlltoallPlan: directly inside a site; what is for another goes through both leaders, as one
// message for each pair of sites. Its gain is fewer messages on the slow link, its price that all
// passes through one rank (Matsuda, 3.4).
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
		direct.receives = append(direct.receives, receive(local.at(-k), slots([]int{local.at(-k)}, own)...)...)
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
		between.receives = append(between.receives, receive(leaders.at(-k), slots(v.members[from], mine)...)...)
	}
	p.rounds = append(p.rounds, collect, between, spread)
	return p
}
