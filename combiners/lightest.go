package combiners

import (
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/wire"
	"github.com/superstep-go/superstep/pregel"
)

// Pulls that look at the lightest arcs first (kernel.Bounded). Let d be the least distance that any
// vertex sent. If d plus the weight of an arc exceeds the receiver's best distance, neither this
// arc nor any heavier arc can improve it. The whole list is walked only if all of the stored
// lightest arcs are light enough.

// leastOf returns the least value of the vertices that are present in words lo to hi.
func leastOf[W Weight](column []W, present []uint64, lo, hi int) float64 {
	least := W(math.Inf(1))
	for w, word := range present[lo:hi] {
		if word == 0 {
			continue
		}
		values := (*[64]W)(column[(lo+w)<<6:])
		for ; word != 0; word &= word - 1 {
			if x := values[bits.TrailingZeros64(word)&63]; x < least {
				least = x
			}
		}
	}
	return float64(least)
}

// distances is the common part of the kernels of shortest paths: the column of distances, and the
// least distance that each slot has had.
type distances[W Weight] struct {
	plain[W]
	least W // of all messages in this superstep's pull
}

func newDistances[W Weight](b kernel.Binding, infinity W) distances[W] {
	return distances[W]{plain: newOrdered(b, infinity,
		kernel.Traits{Weighted: true, Monotone: true})}
}

// Least returns the least distance of the vertices that are present.
func (k *distances[W]) Least(present []uint64, lo, hi int, next bool) float64 {
	if next {
		return leastOf(k.Write, present, lo, hi)
	}
	return leastOf(k.Read, present, lo, hi)
}

// Bound sets the least distance that any vertex sent.
func (k *distances[W]) Bound(least float64) { k.least = W(least) }

// Share copies the messages that vertices of word w have just sent into the column that pulls read.
// Other threads read the column meanwhile. Share stores a message that replaces another atomically.
// It copies a first message without atomics: other threads read it only after the caller has marked
// its sender as present.
func (k *distances[W]) Share(w int, sent, before uint64) {
	from, to := (*[64]W)(k.Write[w<<6:]), (*[64]W)(k.Read[w<<6:])
	for ; sent != 0; sent &= sent - 1 {
		i := bits.TrailingZeros64(sent) & 63
		if before>>i&1 == 0 {
			to[i] = from[i]
		} else if from[i] < to[i] {
			wire.Store(&to[i], from[i])
		}
	}
}

// CountPull counts the arcs that a pull would look at if no receiver got a better message.
func (k *distances[W]) CountPull(p *kernel.Pull, w int, need uint64) int {
	light, arcs, best, least := weightsOf[W](p.Lightest), 0, k.best, k.least
	rows, base := p.Bits[w], p.Rank[w]
	for need &= rows; need != 0; need &= need - 1 {
		i := uint(bits.TrailingZeros64(need)) & 63
		r := base + uint32(bits.OnesCount64(rows&(1<<i-1)))
		weights := light[p.Lightest.Starts[r]:p.Lightest.Starts[r+1]]
		most, j := best[w<<6+int(i)], 0
		for j < len(weights) && least+weights[j] <= most {
			j++
		}
		if degree := int(p.Starts[r+1] - p.Starts[r]); j == len(weights) && j < degree {
			j += degree
		}
		arcs += j
	}
	return arcs
}

// Thin appends to arcs the arcs that are light enough to improve their receiver's distance.
func (k *distances[W]) Thin(p *kernel.Pull, w int, need uint64, arcs *kernel.ArcBins) {
	all, best, least := weightsOf[W](p.Lightest), k.best, k.least
	rows, base := p.Bits[w], p.Rank[w]
	for need &= rows; need != 0; need &= need - 1 {
		i := uint(bits.TrailingZeros64(need)) & 63
		r, v := base+uint32(bits.OnesCount64(rows&(1<<i-1))), uint32(w<<6)+uint32(i)
		most := best[v]
		lo, hi := p.Lightest.Starts[r], p.Lightest.Starts[r+1]
		list, weights := p.Lightest.Adj[lo:hi], all[lo:hi]
		if lo, hi := p.Starts[r], p.Starts[r+1]; int(hi-lo) > len(list) &&
			least+weights[len(list)-1] <= most {
			list, weights = p.Adj[lo:hi], weightsOf[W](p.Lists)[lo:hi]
		}
		for j, s := range list {
			if least+weights[j] <= most {
				arcs.Add(kernel.Arc{From: s, To: v, Weight: float64(weights[j])})
			}
		}
	}
}

// pullLightest is Pull for lists with their lightest arcs first.
func (k *minPlusKernel[W]) pullLightest(
	p *kernel.Pull, w int, need, found uint64, in *[64]W,
) (uint64, int) {
	rows, base := p.Bits[w], p.Rank[w]
	read, present, least, walked := k.Read, p.Present, k.least, 0
	starts, light, lightWeights := p.Lightest.Starts, p.Lightest.Adj, weightsOf[W](p.Lightest)
	for need &= rows; need != 0; need &= need - 1 {
		i := uint(bits.TrailingZeros64(need)) & 63
		r := base + uint32(bits.OnesCount64(rows&(1<<i-1)))
		lo, hi := starts[r], starts[r+1]
		acc := k.best[w<<6+int(i)]
		start, j := acc, 0
		list, weights := light[lo:hi], lightWeights[lo:hi]
		for ; j < len(list) && least+weights[j] < acc; j++ {
			s := list[j]
			if !p.All && atomic.LoadUint64(&present[s>>6])>>(s&63)&1 == 0 {
				continue
			}
			if x := wire.Load(&read[s]) + weights[j]; x < acc {
				acc = x
			}
		}
		walked += j
		if lo, hi := p.Starts[r], p.Starts[r+1]; j == len(list) && j < int(hi-lo) {
			walked += int(hi - lo)
			list, weights := p.Adj[lo:hi], weightsOf[W](p.Lists)[lo:hi]
			for j, s := range list {
				if least+weights[j] < acc &&
					(p.All || atomic.LoadUint64(&present[s>>6])>>(s&63)&1 != 0) {
					if x := wire.Load(&read[s]) + weights[j]; x < acc {
						acc = x
					}
				}
			}
		}
		if acc != start {
			in[i] = acc
			k.best[w<<6+int(i)] = acc
			found |= 1 << i
		}
	}
	return found, walked
}

// pullLightest is Pull for lists with their lightest arcs first.
func (k *minPlusSenderKernel[W]) pullLightest(
	p *kernel.Pull, w int, need, found uint64, in *[64]Arrival[W],
) (uint64, int) {
	rows, base := p.Bits[w], p.Rank[w]
	read, present, least, walked := k.Read, p.Present, k.least, 0
	starts, light, lightWeights := p.Lightest.Starts, p.Lightest.Adj, weightsOf[W](p.Lightest)
	for need &= rows; need != 0; need &= need - 1 {
		i := uint(bits.TrailingZeros64(need)) & 63
		r := base + uint32(bits.OnesCount64(rows&(1<<i-1)))
		lo, hi := starts[r], starts[r+1]
		best, from, j := k.best[w<<6+int(i)], uint32(noSlot), 0
		list, weights := light[lo:hi], lightWeights[lo:hi]
		for ; j < len(list) && least+weights[j] <= best; j++ {
			s := list[j]
			if !p.All && atomic.LoadUint64(&present[s>>6])>>(s&63)&1 == 0 {
				continue
			}
			if x := wire.Load(&read[s]) + weights[j]; x < best || x == best && k.before(s, from) {
				best, from = x, s
			}
		}
		walked += j
		if lo, hi := p.Starts[r], p.Starts[r+1]; j == len(list) && j < int(hi-lo) {
			walked += int(hi - lo)
			list, weights := p.Adj[lo:hi], weightsOf[W](p.Lists)[lo:hi]
			for j, s := range list {
				if least+weights[j] <= best &&
					(p.All || atomic.LoadUint64(&present[s>>6])>>(s&63)&1 != 0) {
					if x := wire.Load(&read[s]) + weights[j]; x < best || x == best &&
						k.before(s, from) {
						best, from = x, s
					}
				}
			}
		}
		if from == noSlot {
			continue
		}
		k.best[w<<6+int(i)] = best
		arrival := Arrival[W]{best, pregel.VertexID(k.ids.ID(from))}
		if found>>i&1 != 0 {
			arrival = nearer(in[i], arrival)
		}
		in[i] = arrival
		found |= 1 << i
	}
	return found, walked
}

// noSlot means that there is no sender.
const noSlot = math.MaxUint32

// before reports whether sender s has a lesser id than other, or other is noSlot.
func (k *minPlusSenderKernel[W]) before(s, other uint32) bool {
	return other == noSlot || k.ids.ID(s) < k.ids.ID(other)
}
