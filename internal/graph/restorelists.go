package graph

import (
	"fmt"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/parallel"
)

// validLists checks lists whose neighbours must be in valid slots.
func (p *Partition) validLists(a storedLists, valid []uint64, team *parallel.Team) bool {
	words := len(a.Bits)
	if words > bitmap.Words(a.rows) || words < p.Words() || !ranked(a.Bits, a.Rank) ||
		len(a.Same) != words {
		return false
	}
	for w, word := range a.Bits {
		if word&^valid[w] != 0 { // lists of unused slots
			return false
		}
	}
	rows := int(a.Rank[words])
	heads := rows
	if a.rising && p.Of > 1 { // lists by sender have no heads
		heads = 0
	}
	if len(a.Starts) != rows+1 || len(a.Heads) != heads || a.Starts[0] != 0 ||
		len(a.Adj) > maxArcs || int(a.Starts[rows]) != len(a.Adj) ||
		!a.hasWeights(p.graph.Weights) {
		return false
	}
	for r := range rows {
		if a.Starts[r+1] <= a.Starts[r] || int(a.Starts[r+1]) > len(a.Adj) {
			return false
		}
	}
	for w, length := range a.Same {
		if length != same(a.Starts[a.Rank[w]:a.Rank[w+1]+1]) {
			return false
		}
	}
	for v, degree := range a.degrees {
		if lo, hi := a.Row(uint32(v)); hi-lo != degree {
			return false
		}
	}
	return p.validNeighbors(a, valid, team)
}

// validNeighbors checks that neighbours are in valid slots, that heads are the first neighbours
// and, if a.rising is set, that lists are in ascending order. In a single partition, the valid
// slots are those of owned vertices.
func (p *Partition) validNeighbors(a storedLists, valid []uint64, team *parallel.Team) bool {
	var wrong atomic.Bool
	slots := uint32(len(valid)) << 6
	team.For(len(a.Starts)-1, 1<<14, func(_, lo, hi int) {
		for r := lo; r < hi; r++ {
			list := a.Adj[a.Starts[r]:a.Starts[r+1]]
			ok, last := len(a.Heads) == 0 || list[0] == a.Heads[r], list[0]
			if a.rising {
				for _, s := range list {
					ok = ok && s >= last
					last = s
				}
			}
			if p.Of == 1 && a.rising { // the last neighbour is the largest
				ok = ok && last < uint32(p.Owned)
			} else {
				for _, s := range list {
					ok = ok && s < slots && valid[s>>6]>>(s&63)&1 != 0
				}
			}
			if !ok {
				wrong.Store(true)
				return
			}
		}
	})
	return !wrong.Load()
}

// checkSums compares the number of arcs and the sums of degrees of all partitions with the graph's
// number of arcs.
func (g *Graph) checkSums() error {
	arcs, out, in := uint64(0), uint64(0), uint64(0)
	for _, p := range g.Parts {
		arcs += uint64(len(p.along.Pull.ByReceiver.Adj))
		for v := range p.OutDegrees {
			out, in = out+uint64(p.OutDegrees[v]), in+uint64(p.InDegrees[v])
		}
	}
	if arcs != g.Arcs || out != arcs || in != arcs {
		return fmt.Errorf("found %d arcs of %d from and %d to vertices, expected %d", arcs, out, in,
			g.Arcs)
	}
	return nil
}
