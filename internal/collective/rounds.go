package collective

// What plans are made of: rounds of a team that has cut its slots into one group for each member,
// or none.

// disseminationRounds let every member hear of every other in ceil(log2 n) rounds of empty messages
// (Hensgen, Finkel and Manber 1988).
func (t team) disseminationRounds() []round {
	var rounds []round
	for d := 1; d < t.size(); d *= 2 {
		rounds = append(rounds, exchange(send(t.at(d)), receive(t.at(-d))))
	}
	return rounds
}

// ringRounds send every group once round the team: n-1 rounds, each group on its own. skew says
// which group, counted from the member's place, it has whole at the start.
func (t team) ringRounds(groups [][]int, skew int) []round {
	var rounds []round
	for k := range t.size() - 1 {
		rounds = append(rounds, exchange(
			send(t.at(1), groups[t.index(skew-k)]...),
			receive(t.at(-1), groups[t.index(skew-k-1)]...)))
	}
	return rounds
}

// reduceScatterRounds send every group once round the team and combine it on the way: member i ends
// with group i+1.
func (t team) reduceScatterRounds(groups [][]int) []round {
	rounds := t.ringRounds(groups, 0)
	for _, r := range rounds {
		r.receives[0].combine = true
	}
	return rounds
}

// bruckRounds double the groups each member has: ceil(log2 n) rounds for any n, no byte sent twice
// (Bruck et al. 1997).
func (t team) bruckRounds(groups [][]int) []round {
	var rounds []round
	n := t.size()
	for d := 1; d < n; d *= 2 {
		var out, in []int
		for i := range min(d, n-d) {
			out = append(out, groups[t.index(i)]...)
			in = append(in, groups[t.index(d+i)]...)
		}
		rounds = append(rounds, exchange(send(t.at(-d), out...), receive(t.at(d), in...)))
	}
	return rounds
}

// doublingReduceRounds combine slots with partners at distance 1, 2, 4, ... Members beyond the
// largest power of two give theirs to one below it first and get the result last (Thakur,
// Rabenseifner and Gropp 2005). All members end with the same bits, if the operator gives the same
// for (a, b) and (b, a).
func (t team) doublingReduceRounds(slots []int) []round {
	n := t.size()
	power := powerBelow(n)
	if t.me >= power {
		peer := t.ranks[t.me-power]
		return []round{{sends: send(peer, slots...)}, {receives: receive(peer, slots...)}}
	}
	var rounds []round
	extra := t.me+power < n
	if extra {
		rounds = append(rounds, round{receives: combine(t.at(power), slots...)})
	}
	for d := 1; d < power; d *= 2 {
		partner := t.ranks[t.me^d]
		rounds = append(rounds, exchange(send(partner, slots...), combine(partner, slots...)))
	}
	if extra {
		rounds = append(rounds, round{sends: send(t.at(power), slots...)})
	}
	return rounds
}

// singles returns the slots as groups of one.
func singles(slots []int) [][]int {
	groups := make([][]int, len(slots))
	for i, s := range slots {
		groups[i] = []int{s}
	}
	return groups
}
