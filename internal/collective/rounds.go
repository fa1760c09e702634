package collective

// Building blocks of plans: rounds of a team. The slots are cut into one group per member, or not
// at all.

// disseminationRounds are a barrier: after ceil(log2 n) rounds of empty messages every member has
// heard from every other, directly or not (Hensgen, Finkel and Manber 1988).
func (t team) disseminationRounds() []round {
	var rounds []round
	for d := 1; d < t.size(); d *= 2 {
		rounds = append(rounds, round{send(t.at(d)), receive(t.at(-d))})
	}
	return rounds
}

// ringRounds send every group once round the team, in n-1 rounds. skew is the distance from a
// member to the group that it has at the start.
func (t team) ringRounds(groups [][]int, skew int) []round {
	var rounds []round
	for k := range t.size() - 1 {
		rounds = append(rounds, round{
			send(t.at(1), groups[t.index(skew-k)]...),
			receive(t.at(-1), groups[t.index(skew-k-1)]...),
		})
	}
	return rounds
}

// bruckRounds double the number of groups that each member has: ceil(log2 n) rounds for any n, and
// no byte is sent twice (Bruck et al. 1997).
func (t team) bruckRounds(groups [][]int) []round {
	var rounds []round
	n := t.size()
	for d := 1; d < n; d *= 2 {
		var out, in []int
		for i := range min(d, n-d) {
			out = append(out, groups[t.index(i)]...)
			in = append(in, groups[t.index(d+i)]...)
		}
		rounds = append(rounds, round{send(t.at(-d), out...), receive(t.at(d), in...)})
	}
	return rounds
}

// doublingReduceRounds combine slots with partners at distance 1, 2, 4, ... Members beyond the
// greatest power of two first send their slots to a member below it, and get the result at the end
// (Thakur, Rabenseifner and Gropp 2005). All members get the same bits if the operator's results
// for (a, b) and (b, a) have the same bits.
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
		rounds = append(rounds, round{send(partner, slots...), combine(partner, slots...)})
	}
	if extra {
		rounds = append(rounds, round{sends: send(t.at(power), slots...)})
	}
	return rounds
}

// singles returns each slot as a group of one.
func singles(slots []int) [][]int {
	groups := make([][]int, len(slots))
	for i, s := range slots {
		groups[i] = []int{s}
	}
	return groups
}
