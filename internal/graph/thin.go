package graph

import (
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// Thinned makes lists by sender, for pushes, from arcs in bins by sender. It reuses the memory of
// to. Each worker has bins; all have the same ranges. Every slot has a row, which may be empty.
// Weights have the same type as those of like.
func Thinned(
	to *Adjacency, bins []*kernel.ArcBins, like *kernel.Lists, slots int,
	team *parallel.Team, store *mem.Arena,
) {
	n, shift, words := len(bins[0].Arcs), bins[0].Shift, slots/64
	arcs := make([]uint32, n+1) // number of arcs before each bin
	for k := range n {
		arcs[k+1] = arcs[k]
		for _, b := range bins {
			arcs[k+1] += uint32(len(b.Arcs[k]))
		}
	}
	if len(to.Bits) != words {
		to.Bits, to.Rank = resize(store, to.Bits, words), resize(store, to.Rank, words+1)
		to.Starts = resize(store, to.Starts, slots+1)
		for w := range words {
			to.Bits[w], to.Rank[w] = ^uint64(0), uint32(w<<6)
		}
		to.Rank[words] = uint32(slots)
	}
	to.Adj = resize(store, to.Adj, int(arcs[n]))
	if like.Weights32 != nil {
		to.Weights32 = resize(store, to.Weights32, int(arcs[n]))
	} else {
		to.Weights64 = resize(store, to.Weights64, int(arcs[n]))
	}
	to.Starts[slots] = arcs[n]
	weights := weightsOf(&to.Lists)
	team.For(n, 1, func(_, k, _ int) {
		first := k << shift
		starts := to.Starts[first:min((k+1)<<shift, slots)]
		clear(starts)
		for _, b := range bins {
			for _, a := range b.Arcs[k] {
				starts[int(a.From)-first]++
			}
		}
		end := arcs[k]
		for r, count := range starts {
			end += count
			starts[r] = end // end of the row; decremented for each arc of the row
		}
		for _, b := range bins {
			for _, a := range b.Arcs[k] {
				starts[int(a.From)-first]--
				at := starts[int(a.From)-first]
				to.Adj[at] = a.To
				weights.Set(int(at), a.Weight)
			}
		}
	})
	to.chunk(words, words)
}

// resize returns a slice of n elements with any values, possibly in the same memory.
func resize[T any](store *mem.Arena, s []T, n int) []T { return mem.Grow(store, s[:0], n)[:n] }
