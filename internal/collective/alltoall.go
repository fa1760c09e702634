package collective

// An alltoall of P ranks has P slots. Slot i has the block to the rank i places ahead, and at the
// end the block from the rank i places behind.

// pairwisePlan sends in round k to the rank k places ahead, and receives from the rank k places
// behind.
func pairwisePlan(s shape) plan {
	t, p := s.team(), plan{slots: s.ranks}
	for k := 1; k < s.ranks; k++ {
		p.rounds = append(p.rounds, round{send(t.at(k), k), receive(t.at(-k), k)})
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
	return plan{s.ranks, []round{all}}
}

// bruckAlltoallPlan moves the block for the rank i places ahead by 2^k places for every bit k of i.
// Half of the blocks move in each round, so it is for small blocks (Bruck et al. 1997).
func bruckAlltoallPlan(s shape) plan {
	t, p := s.team(), plan{slots: s.ranks}
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
