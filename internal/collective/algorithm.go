package collective

import (
	"fmt"
	"slices"
	"strings"
)

// Collective is the name of an operation of all ranks.
type Collective string

const (
	Barrier   Collective = "barrier"   // no rank leaves before all have entered
	Broadcast Collective = "broadcast" // the root's data to all ranks
	GatherTo  Collective = "gather"    // the data of all ranks to the root
	Allgather Collective = "allgather" // the data of all ranks to all ranks
	Reduce    Collective = "reduce"    // the combined data of all ranks to the root
	Allreduce Collective = "allreduce" // the combined data of all ranks to all ranks
	Alltoall  Collective = "alltoall"  // different data from each rank to each rank
)

// Collectives has all of them.
var Collectives = []Collective{
	Barrier, Broadcast, GatherTo, Allgather, Reduce, Allreduce, Alltoall,
}

// Algorithm is the name of an algorithm for a collective. The function Algorithms lists the
// algorithms of each collective.
type Algorithm string

const (
	Auto Algorithm = ""     // the algorithm that the model predicts to be the fastest
	Flat Algorithm = "flat" // the root sends to, or receives from, each rank
	// a tree in which the number of ranks with the data doubles (Matsumoto15, table 4)
	Binomial Algorithm = "binomial"
	// each rank sends to the next, in pipelined segments
	Chain Algorithm = "chain"
	// blocks go round a ring; allreduce: reduce-scatter, then allgather
	Ring Algorithm = "ring"
	// recursive doubling: partners at distance 1, 2, 4, ...
	Doubling Algorithm = "doubling"
	// ceil(log2 P) rounds for any P; alltoall: blocks take several hops
	Bruck Algorithm = "bruck"
	// as bruck, with empty or small messages; allreduce: every rank combines all, in rank order
	Dissemination Algorithm = "dissemination"
	Pairwise      Algorithm = "pairwise" // P-1 rounds, each with another partner
	Linear        Algorithm = "linear"   // all messages at once
	// two levels: inside the sites, and between their leaders (Matsuda)
	Sites Algorithm = "sites"
)

// entry is an algorithm of a collective, and the function that makes its plans.
type entry struct {
	name Algorithm
	plan func(shape) plan
}

// catalogue has the algorithms of each collective. Without a model the first one is used.
var catalogue = map[Collective][]entry{
	Barrier: {
		{Dissemination, func(s shape) plan { return plan{0, s.team().disseminationRounds()} }},
		{Sites, func(s shape) plan {
			s.root = 0
			t := sitesTree(s)
			return plan{0, append(t.reduceRounds(nil), t.broadcastRounds([][]int{nil})...)}
		}},
	},
	Broadcast: {
		{Binomial, func(s shape) plan { return broadcastPlan(binomial(s), 1) }},
		{Flat, func(s shape) plan { return broadcastPlan(flat(s), 1) }},
		{Chain, func(s shape) plan { return broadcastPlan(s.team().chainTree(s.root), s.segments) }},
		{Sites, func(s shape) plan { return broadcastPlan(sitesTree(s), 1) }},
	},
	GatherTo: {
		{Binomial, func(s shape) plan { return gatherPlan(s, binomial) }},
		{Flat, func(s shape) plan { return gatherPlan(s, flat) }},
		{Sites, func(s shape) plan { return gatherPlan(s, sitesTree) }},
	},
	Reduce: {
		{Binomial, func(s shape) plan { return plan{1, binomial(s).reduceRounds([]int{0})} }},
		{Flat, func(s shape) plan { return plan{1, flat(s).reduceRounds([]int{0})} }},
		{Sites, func(s shape) plan { return plan{1, sitesTree(s).reduceRounds([]int{0})} }},
	},
	Allgather: {
		{Bruck, func(s shape) plan { return plan{s.ranks, s.team().bruckRounds(singles(s.all()))} }},
		{Ring, func(s shape) plan { return plan{s.ranks, s.team().ringRounds(singles(s.all()), 0)} }},
		{Sites, sitesAllgatherPlan},
	},
	Allreduce: {
		{Doubling, func(s shape) plan { return plan{1, s.team().doublingReduceRounds([]int{0})} }},
		{Ring, ringAllreducePlan},
		{Dissemination, func(s shape) plan { return plan{s.ranks, s.team().bruckRounds(singles(s.all()))} }},
		{Sites, sitesAllreducePlan},
	},
	Alltoall: {
		{Pairwise, pairwisePlan},
		{Linear, linearPlan},
		{Bruck, bruckAlltoallPlan},
	},
}

// Algorithms returns the algorithms of a collective, nil if there is no such collective.
func Algorithms(c Collective) []Algorithm {
	var names []Algorithm
	for _, e := range catalogue[c] {
		names = append(names, e.name)
	}
	return names
}

// planOf makes the plan of a rank.
func planOf(c Collective, a Algorithm, s shape) (plan, error) {
	for _, e := range catalogue[c] {
		if e.name == a {
			return e.plan(s), nil
		}
	}
	return plan{}, unknown(c, a)
}

// Check returns an error if a collective lacks an algorithm. The error lists the valid ones. Auto
// is always valid.
func Check(c Collective, a Algorithm) error {
	entries, ok := catalogue[c]
	has := func(e entry) bool { return a == Auto || a == e.name }
	if ok && slices.ContainsFunc(entries, has) {
		return nil
	}
	return unknown(c, a)
}

func unknown(c Collective, a Algorithm) error {
	var names []string
	if catalogue[c] == nil {
		for _, c := range Collectives {
			names = append(names, string(c))
		}
		return fmt.Errorf("no collective %q; there are %s", c, strings.Join(names, ", "))
	}
	for _, name := range Algorithms(c) {
		names = append(names, string(name))
	}
	return fmt.Errorf("no algorithm %q of %s; there are %s", a, c, strings.Join(names, ", "))
}

func broadcastPlan(t tree, segments int) plan {
	return plan{segments, t.broadcastRounds(singles(numbers(segments)))}
}

// gatherPlan moves the data of each rank, in its own slot, up a tree.
func gatherPlan(s shape, of func(shape) tree) plan {
	below := func(rank int) []int { return s.under(rank, of) }
	return plan{s.ranks, of(s).upRounds(s.rank, false, below)}
}

// ringAllreducePlan sends each of P segments round the ring twice: first to be combined, then to be
// distributed.
func ringAllreducePlan(s shape) plan {
	t, groups := s.team(), singles(numbers(s.ranks))
	rounds := t.ringRounds(groups, 0)
	for _, r := range rounds {
		r.receives[0].combine = true
	}
	return plan{s.ranks, append(rounds, t.ringRounds(groups, 1)...)}
}

// sitesAllreducePlan combines data in the leader of each site, then between the leaders, and
// distributes the result inside the sites.
func sitesAllreducePlan(s shape) plan {
	v := bySite(s, -1)
	local := newTeam(v.members[v.mine], s.rank).binomialTree(v.leaders[v.mine])
	rounds := local.reduceRounds([]int{0})
	if v.leads(s.rank) {
		rounds = append(rounds, newTeam(v.leaders, s.rank).doublingReduceRounds([]int{0})...)
	}
	return plan{1, append(rounds, local.broadcastRounds([][]int{{0}})...)}
}

// sitesAllgatherPlan gathers data inside each site, then between the leaders. Then the leaders
// distribute the other sites' data inside their site.
func sitesAllgatherPlan(s shape) plan {
	v := bySite(s, -1)
	mine := v.members[v.mine]
	local := newTeam(mine, s.rank)
	rounds := local.bruckRounds(singles(mine))
	if v.leads(s.rank) {
		rounds = append(rounds, newTeam(v.leaders, s.rank).bruckRounds(v.members)...)
	}
	var outside []int
	for i, members := range v.members {
		if i != v.mine {
			outside = append(outside, members...)
		}
	}
	if len(outside) > 0 {
		tree := local.binomialTree(v.leaders[v.mine])
		rounds = append(rounds, tree.broadcastRounds([][]int{outside})...)
	}
	return plan{s.ranks, rounds}
}
