package collective

import (
	"fmt"
	"strings"
)

// Collective names an operation of all ranks.
type Collective string

const (
	Barrier   Collective = "barrier"   // nobody leaves before all have come
	Broadcast Collective = "broadcast" // the root's data to all
	Allgather Collective = "allgather" // everybody's data to all
	Allreduce Collective = "allreduce" // everybody's data, combined, to all
	Alltoall  Collective = "alltoall"  // from everybody something else to everybody
)

// Collectives is all of them.
var Collectives = []Collective{Barrier, Broadcast, Allgather, Allreduce, Alltoall}

// Algorithm names a way to do a collective. Not every collective has every algorithm: see
// Algorithms.
type Algorithm string

const (
	Auto Algorithm = ""     // the one the model predicts to be the fastest
	Flat Algorithm = "flat" // the root sends to, or receives from, each rank
	// a tree in which those who have the data double (Matsumoto15, table 4)
	Binomial Algorithm = "binomial"
	// each to the next, in segments that follow each other
	Chain Algorithm = "chain"
	// blocks go round; allreduce: reduce-scatter, then allgather
	Ring Algorithm = "ring"
	// recursive doubling: partners at distance 1, 2, 4, ...
	Doubling Algorithm = "doubling"
	// ceil(log2 P) rounds for any P; alltoall: blocks travel through others
	Bruck Algorithm = "bruck"
	// as bruck, of empty or small messages; allreduce: combined by everybody, in rank order
	Dissemination Algorithm = "dissemination"
	Pairwise      Algorithm = "pairwise" // P-1 rounds, each with another partner
	Linear        Algorithm = "linear"   // all messages at once
	// two levels: inside the sites and between their leaders (Matsuda)
	Sites Algorithm = "sites"
)

// entry is an algorithm of a collective and how its plans are made.
type entry struct {
	name Algorithm
	plan func(shape) plan
}

// catalogue is what there is. The first entry of a collective is taken where nothing is known.
var catalogue = map[Collective][]entry{
	Barrier: {
		{Dissemination, func(s shape) plan { return plan{0, newTeam(s.all(), s.rank).disseminationRounds()} }},
		{Sites, func(s shape) plan {
			t := sitesTree(s, 0)
			return plan{0, append(t.reduceRounds(nil), t.broadcastRounds([][]int{nil})...)}
		}},
	},
	Broadcast: {
		{Binomial, func(s shape) plan { return broadcastPlan(binomialTree(s.all(), s.root, s.rank), 1) }},
		{Flat, func(s shape) plan { return broadcastPlan(flatTree(s.all(), s.root, s.rank), 1) }},
		{Chain, func(s shape) plan { return broadcastPlan(chainTree(s.all(), s.root, s.rank), s.segments) }},
		{Sites, func(s shape) plan { return broadcastPlan(sitesTree(s, s.root), 1) }},
	},
	Allgather: {
		{Bruck, func(s shape) plan { return plan{s.ranks, newTeam(s.all(), s.rank).bruckRounds(singles(s.all()))} }},
		{Ring, func(s shape) plan { return plan{s.ranks, newTeam(s.all(), s.rank).ringRounds(singles(s.all()), 0)} }},
		{Sites, sitesAllgatherPlan},
	},
	Allreduce: {
		{Doubling, func(s shape) plan { return plan{1, newTeam(s.all(), s.rank).doublingReduceRounds([]int{0})} }},
		{Ring, ringAllreducePlan},
		{Dissemination, func(s shape) plan { return plan{s.ranks, newTeam(s.all(), s.rank).bruckRounds(singles(s.all()))} }},
		{Sites, sitesAllreducePlan},
	},
	Alltoall: {
		{Pairwise, pairwisePlan},
		{Linear, linearPlan},
		{Bruck, bruckAlltoallPlan},
		{Sites, sitesAlltoallPlan},
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

// planOf makes a rank's plan.
func planOf(c Collective, a Algorithm, s shape) (plan, error) {
	for _, e := range catalogue[c] {
		if e.name == a {
			return e.plan(s), nil
		}
	}
	return plan{}, unknown(c, a)
}

// Check returns an error that lists what there is, if a collective has no such algorithm. Auto is
// always one.
func Check(c Collective, a Algorithm) error {
	entries, ok := catalogue[c]
	for _, e := range entries {
		if e.name == a {
			return nil
		}
	}
	if ok && a == Auto {
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
	return plan{segments, t.broadcastRounds(singles(numbers(0, segments)))}
}

// ringAllreducePlan: each of P segments goes round to be combined, and round again to be known.
func ringAllreducePlan(s shape) plan {
	t := newTeam(s.all(), s.rank)
	groups := singles(numbers(0, s.ranks))
	return plan{s.ranks, append(t.reduceScatterRounds(groups), t.ringRounds(groups, 1)...)}
}

// sitesAllreducePlan: to the leader of the site, between the leaders, and back.
func sitesAllreducePlan(s shape) plan {
	v := bySite(s, -1)
	local := binomialTree(v.members[v.mine], v.leaders[v.mine], s.rank)
	rounds := local.reduceRounds([]int{0})
	if v.leads(s.rank) {
		rounds = append(rounds, newTeam(v.leaders, s.rank).doublingReduceRounds([]int{0})...)
	}
	return plan{1, append(rounds, local.broadcastRounds([][]int{{0}})...)}
}

// sitesAllgatherPlan: inside each site, between the leaders, and what came from outside to the
// others of the site.
func sitesAllgatherPlan(s shape) plan {
	v := bySite(s, -1)
	mine := v.members[v.mine]
	rounds := newTeam(mine, s.rank).bruckRounds(singles(mine))
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
		local := binomialTree(mine, v.leaders[v.mine], s.rank)
		rounds = append(rounds, local.broadcastRounds([][]int{outside})...)
	}
	return plan{s.ranks, rounds}
}
