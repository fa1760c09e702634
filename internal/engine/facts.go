package engine

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
)

// Facts returns the facts about the job's partitions that a driver needs before the first
// superstep. It measures the rates, unless they are known. Restore measures them before it sets the
// state, because measurements change the state.
func (j *Job) Facts() *bsp.Facts {
	f := j.facts()
	f.Rates = j.measured()
	f.Rates.Alpha, f.Rates.Beta, f.Rates.Gap = j.options.Alpha, j.options.Beta, j.options.Gap
	return f
}

// measured returns the job's rates. They are measured once per kind of combiner and partition, and
// stored in the partition for later jobs.
func (j *Job) measured() delivery.Rates {
	if j.rates != nil {
		return *j.rates
	}
	r := j.runners[0]
	of := kind{fmt.Sprintf("%T",
		r.kernel), "", r.traits, r.layout.Blocks[0].Pull, r.team.Size() > 1}
	if !strings.HasPrefix(of.kernel, "*combiners.") || strings.Contains(of.kernel, ".func") {
		of.program = j.name // its loops call functions of the program
	}
	kept, found := r.part.Measured.Load(of)
	if !found {
		kept, _ = r.part.Measured.LoadOrStore(of, r.push.measure())
	}
	rates := kept.(delivery.Rates)
	j.rates = &rates
	return rates
}

// kind has everything that rates depend on besides the machine and the partition.
type kind struct {
	kernel, program string // the type of the loops; the program whose functions they call
	traits          kernel.Traits
	through         *graph.Block
	team            bool
}

// facts returns Facts without the rates, whose measurement takes some milliseconds.
func (j *Job) facts() *bsp.Facts {
	r := j.runners[0]
	f := &bsp.Facts{
		Partitions: r.part.Of, Edges: r.changing.arcs, Ordered: r.traits.Ordered,
		LoadedVertices: uint64(j.graph.N), LoadedArcs: j.graph.Arcs,
		Load: delivery.Load{
			Vertices: int(r.changing.ids), Partitions: r.part.Of, Grid: r.part.Grid,
			SubSteps: j.options.subSteps(), Threads: j.options.Team.Size(), Processes: 1,
			AnyOne: r.traits.AnyOne, Bytes: r.traits.Bytes,
			FoldBytes: int(j.methods.program.Message.Size()),
		},
		Summary: j.summarizes(), Standing: j.standing,
		GroupVertices: j.methods.Group || j.methods.Number && j.methods.traits.InputIDs,
	}
	for _, r := range j.runners {
		f.Absent += bitmap.Count(r.part.Absent)
		f.Ways = r.addTo(&f.Load, f.Ways)
	}
	return f
}

// addTo adds the partition's part to the load of all messages. For direction Either it also adds
// to the loads of messages in one direction, and returns them; before the first partition, ways is
// nil and all has no part of one.
func (r *runner) addTo(all *delivery.Load, ways []delivery.Load) []delivery.Load {
	if r.back != nil && ways == nil {
		ways = []delivery.Load{*all, *all}
	}
	for i, c := range r.columns {
		own := delivery.Load{Arcs: c.out.Edges, Classes: c.in.Classes}
		for k, blocks := range r.layout.Blocks {
			if r.columnOf(k) != c {
				continue
			}
			if !r.part.HasSendersView(blocks.Pull) {
				own.Untransposed += len(blocks.Pull.ByReceiver.Adj)
			}
			own.Listed += blocks.Pull.Senders.Count()
			own.Ghosts += blocks.Push.Receivers.Count()
			// In a changed graph Lalp is not chosen: its hubs would be found in each superstep.
			if r.part.Of > 1 && r.part.Grid.Flat() && r.part == r.loaded {
				own.AddHubs(r.hubsOf(blocks.Pull, c.out))
			}
		}
		if all.Add(&own); r.back != nil {
			ways[i].Add(&own)
		}
	}
	return ways
}

// hubWords is the approximate number of words of receivers that lastNeighbors looks
// at.
const hubWords = 256

// hubsOf describes what the hubs send through a block, and what other vertices do, for each
// threshold. It is kept with the partition.
func (r *runner) hubsOf(b *graph.Block, out *graph.Degrees) *[delivery.MostHubs]delivery.Hubs {
	kept, found := r.part.Measured.Load(b)
	if !found {
		kept, _ = r.part.Measured.LoadOrStore(b, r.findHubs(b, out))
	}
	return kept.(*[delivery.MostHubs]delivery.Hubs)
}

// findHubs computes what hubsOf returns. A combined message goes from a partition to a receiver if
// the last of the receiver's in-neighbours there is no hub. Their number is estimated from a sample
// of the receivers.
func (r *runner) findHubs(b *graph.Block, out *graph.Degrees) *[delivery.MostHubs]delivery.Hubs {
	hubs, pairs, edges, w := new([delivery.MostHubs]delivery.Hubs), r.lastNeighbors(b), 0, 0
	for k := range hubs {
		h := &hubs[k]
		for _, above := range pairs[k+1:] {
			h.Ghosts += above
		}
		if 1<<k >= r.part.Words() {
			continue
		}
		for ; w < 1<<k; w++ {
			edges += out.Sum(w, ^uint64(0))
		}
		h.Edges, h.Degree = edges, int(out.Of[w<<6-1])
		for _, q := range b.Senders.Line {
			list := b.Senders.Peers.Of(q)
			h.Listed += list.Below(64 << k)
		}
	}
	return hubs
}

// lastNeighbors returns the number of pairs of a receiver and another partition, by the bit length
// of the word that the receiver's last in-neighbour has there.
func (r *runner) lastNeighbors(b *graph.Block) (pairs [delivery.MostHubs + 1]int) {
	a := &b.ByReceiver.Lists
	step, seen := max(len(a.Bits)/hubWords, 1), make([]uint32, r.part.Of)
	for w := 0; w < len(a.Bits); w += step {
		for rows := a.Bits[w]; rows != 0; rows &= rows - 1 {
			i := uint32(w<<6 + bits.TrailingZeros64(rows))
			lo, hi := a.Row(i)
			seen[r.part.Index] = i + 1
			for left := r.part.Of - 1; left > 0 && hi > lo; hi-- {
				q, at := r.part.Deal.Of(uint32(r.layout.Slots.ID(a.Adj[hi-1])))
				if seen[q] != i+1 {
					seen[q], left = i+1, left-1
					pairs[bits.Len32(at>>6)] += step
				}
			}
		}
	}
	return pairs
}
