package graph

import (
	"fmt"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/parallel"
)

// checkLists checks lists whose neighbours must be in valid slots.
func (p *Partition) checkLists(a storedLists, valid []uint64, team *parallel.Team) error {
	words := len(a.Bits)
	if words > bitmap.Words(a.rows) || words < p.Words() || !ranked(a.Bits, a.Rank) ||
		len(a.Same) != words {
		return fmt.Errorf("found lists of %d words with %d ranks and %d lengths, expected %d words",
			words, len(a.Rank), len(a.Same), bitmap.Words(a.rows))
	}
	for w, word := range a.Bits {
		if word&^valid[w] != 0 {
			return fmt.Errorf("found lists of unused slots from %d on", 64*w)
		}
	}
	rows := int(a.Rank[words])
	heads := rows
	if a.rising && p.Of > 1 { // lists by sender have no heads
		heads = 0
	}
	if len(a.Starts) != rows+1 || len(a.Heads) != heads || a.Starts[0] != 0 ||
		len(a.Adj) > maxArcs || int(a.Starts[rows]) != len(a.Adj) {
		return fmt.Errorf("found %d starts and %d heads of %d lists with %d neighbours",
			len(a.Starts), len(a.Heads), rows, len(a.Adj))
	}
	if !a.hasWeights(p.graph.Weights) {
		return fmt.Errorf("found %d and %d weights of %d edges", len(a.Weights32), len(a.Weights64),
			len(a.Adj))
	}
	for r := range rows {
		if a.Starts[r+1] <= a.Starts[r] || int(a.Starts[r+1]) > len(a.Adj) {
			return fmt.Errorf("list %d begins at %d and ends at %d of %d neighbours", r,
				a.Starts[r], a.Starts[r+1], len(a.Adj))
		}
	}
	for w, length := range a.Same {
		if length != same(a.Starts[a.Rank[w]:a.Rank[w+1]+1]) {
			return fmt.Errorf("wrong common lengths of the lists of slots from %d on", 64*w)
		}
	}
	if bad := a.findBad(valid, uint32(p.Owned), p.Of == 1, a.rising, team); bad >= 0 {
		return fmt.Errorf("list %d has an invalid neighbour, or is not in order", bad)
	}
	return a.checkDegrees(a.degrees)
}

// findBad returns a row that is not valid, or -1. A row is not valid if a neighbour is not a valid
// slot, if its head is not the first neighbour, or if rising is set and it is not ascending. With
// allOwned, the valid slots are those below n.
func (a *Adjacency) findBad(valid []uint64, n uint32, allOwned, rising bool, team *parallel.Team) int {
	var bad atomic.Int64
	bad.Store(-1)
	slots := uint32(len(valid)) << 6
	team.For(len(a.Starts)-1, 1<<14, func(_, lo, hi int) {
		for r := lo; r < hi; r++ {
			list := a.Adj[a.Starts[r]:a.Starts[r+1]]
			ok, last := len(a.Heads) == 0 || list[0] == a.Heads[r], list[0]
			if rising {
				for _, s := range list {
					ok = ok && s >= last
					last = s
				}
			}
			if allOwned && rising { // the last neighbour is the largest
				ok = ok && last < n
			} else {
				for _, s := range list {
					ok = ok && s < slots && valid[s>>6]>>(s&63)&1 != 0
				}
			}
			if !ok {
				bad.Store(int64(r))
				return
			}
		}
	})
	return int(bad.Load())
}

// checkDegrees compares the lengths of rows with degrees.
func (a *Adjacency) checkDegrees(degrees []uint32) error {
	for v, degree := range degrees {
		if lo, hi := a.Row(uint32(v)); hi-lo != degree {
			return fmt.Errorf("vertex %d has %d neighbours and degree %d", v, hi-lo, degree)
		}
	}
	return nil
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
		return fmt.Errorf("found %d arcs from vertices and %d to vertices in lists of %d, expected %d", out, in, arcs, g.Arcs)
	}
	return nil
}
