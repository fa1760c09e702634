package algorithms

import (
	"math/bits"

	"github.com/superstep-go/superstep/pregel"
)

// Coloring gives every vertex a color, a number from 0, so that no edge joins two vertices of the
// same color. It uses at most one color more than the largest number of neighbours. Neighbours are
// in either direction. Parallel edges and loops have no effect.
//
// It is the greedy algorithm in parallel (Jones and Plassmann 1993): a vertex takes the least color
// that no neighbour has, and waits only for the neighbours before it. Vertices are ordered by
// falling logarithm of the degree, which saves colors, and then by a hash, which keeps chains of
// waiting vertices short (Hasenplaug et al. 2014). Every vertex sends its position once, and its
// color once. It is a list program.
type Coloring struct{}

var (
	colors = pregel.MaxOf[int64]("colors", 0).Persistent() // the number of colors
	// the number of neighbours whose color the vertex waits for
	waiting = pregel.NewVertexColumn[int]("waiting").Private()
	// colors of neighbours: bit c of the set is color c
	taken = pregel.NewVertexColumn[[]uint64]("taken").Private()
)

// Traits returns the traits. Direction: neighbours are in either direction. Aggregators: the number
// of colors. Columns: the state of a vertex before it has a color.
func (Coloring) Traits() traits {
	return traits{
		Direction: pregel.Both, Converges: true, Aggregators: aggregates{colors},
		Columns: columns{waiting, taken},
	}
}

// Report returns the statistics for reports.
func (Coloring) Report() pregel.Report[int64] {
	return report[int64]{Number: func(color int64) uint64 { return uint64(color) }}
}

// place returns the vertex's position in the order; greater positions come first. It is the
// logarithm of the degree, followed by a hash of 58 bits that is different for all VertexIDs.
func (Coloring) place(v *pregel.Vertex[int64, uint64]) uint64 {
	const mask = 1<<58 - 1
	x := uint64(v.ID()) * 0x9e3779b97f4a7c15 & mask
	x = (x ^ x>>29) * 0xbf58476d1ce4e5b9 & mask
	return uint64(bits.Len(uint(v.OutDegree())))<<58 | x ^ x>>29
}

// Init sends the vertex's position to its neighbours.
func (p Coloring) Init(v *pregel.Vertex[int64, uint64]) {
	v.Set(-1)
	v.SendToAllNeighbors(p.place(v))
}

// Compute reads positions first, and then colors. It takes a color when it has the colors of all
// neighbours that come before the vertex.
func (p Coloring) Compute(v *pregel.Vertex[int64, uint64], messages []uint64) {
	wait, used := waiting.Of(v), taken.Of(v)
	for _, m := range messages {
		if v.Superstep() > 1 {
			used = include(used, int(m))
			wait--
		} else if m > p.place(v) {
			wait++
		}
	}
	if wait > 0 {
		waiting.Set(v, wait)
		taken.Set(v, used)
		v.VoteToHalt()
		return
	}
	color := firstFree(used)
	taken.Set(v, nil)
	v.Set(int64(color))
	colors.Add(v, int64(color)+1)
	v.SendToAllNeighbors(uint64(color))
	v.Finish()
}

// Resend sends the color again, or the position if there is none yet, when a run resumes from a
// checkpoint.
func (p Coloring) Resend(v *pregel.Vertex[int64, uint64]) {
	if color := v.Value(); color >= 0 {
		v.SendToAllNeighbors(uint64(color))
	} else {
		v.SendToAllNeighbors(p.place(v))
	}
}

// include adds a number to a set of bits.
func include(set []uint64, n int) []uint64 {
	for len(set) <= n/64 {
		set = append(set, 0)
	}
	set[n/64] |= 1 << (n % 64)
	return set
}

// firstFree returns the least number that is not in a set.
func firstFree(set []uint64) int {
	for i, word := range set {
		if word != 1<<64-1 {
			return 64*i + bits.TrailingZeros64(^word)
		}
	}
	return 64 * len(set)
}
