package engine

import (
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// A pull of sums from all vertices waits for cache misses: each edge reads the message of a sender anywhere in the column. Where the column is
// larger than the caches the pull goes by ranges of senders (graph.SenderRanges): of one range after the other the messages are added to one sum for
// each receiver, and the last range is pulled with the vertices that compute. Ranges are in the order of the lists, so a sum that is ordered is
// the same.

const (
	// firstRange and secondRange are where the second and the third range begin, in bytes of the column of messages: two and eight times a
	// second-level cache. Of cuts at 2^16 to 2^21 messages of 8 bytes these were best (docs/performance.md).
	firstRange, secondRange = 2 << 20, 8 << 20
	// rangedColumn is the size in bytes of a column from which ranges pay for the lists they want.
	rangedColumn = 16 << 20
	// rangedPull is how many full pulls of a run go by whole lists first: cutting the lists takes as long as some pulls.
	rangedPull = 1
	// rangedLeast is the least part of the arcs, one in so many, that the first range must have: where it has less, vertices are not in degree
	// order or have much the same degree, and receivers have a neighbour or two in each range.
	rangedLeast = 2
)

// senderRanges is the state of pulls by ranges of senders.
type senderRanges[M any] struct {
	cuts  []uint32            // slots; nil where the column is too small. Tests set them
	fulls int                 // pulls of all messages in this run
	of    *graph.Adjacency    // what was cut, or found not worth it
	cut   *graph.SenderRanges // or nil
	sums  []M                 // by receiver, of the ranges but the last
	pulls []pull[M]           // by range
	now   *pull[M]            // that adds to the sums
	on    bool                // this superstep's pull goes by ranges
}

// beginRanges has the pull that comes go by ranges of senders where that is faster, and adds up all ranges but the last.
func (r *runner[V, M]) beginRanges(many bool) error {
	s := &r.ranges
	s.on = false
	if len(r.pulling) != 1 || !r.pulling[0].All || !r.traits.Parts || r.gather != nil || r.command.Sends || r.changing.on {
		return nil
	}
	whole, a := r.pulling[0], r.layout.Blocks[0].Pull.ByReceiver
	if whole.Lists != &a.Lists || !a.Rising || !r.cutSenders(a) {
		return nil
	}
	s.on = true
	phase := r.timed(&r.report.Times.Traverse)
	defer phase.end()
	for i := range s.pulls {
		s.pulls[i].from = whole.from
		s.now = &s.pulls[i]
		if i == len(s.pulls)-1 {
			r.pulling[0] = s.now
			break
		}
		if err := r.run(many, a.OwnChunks(), r.tasks.addRange); err != nil {
			return err
		}
	}
	return nil
}

// cutSenders cuts lists by the ranges of senders when a full pull has not been the only one of the run, and reports whether they are cut.
func (r *runner[V, M]) cutSenders(a *graph.Adjacency) bool {
	s := &r.ranges
	if s.cuts == nil {
		if r.traits.Bytes == 0 || r.layout.Count*r.traits.Bytes < rangedColumn {
			return false
		}
		s.cuts = []uint32{uint32(firstRange / r.traits.Bytes), uint32(secondRange / r.traits.Bytes)}
	}
	if s.fulls++; s.fulls <= rangedPull {
		return false
	}
	if s.of == a {
		return s.cut != nil
	}
	s.of = a
	arena := r.job.newArena()
	s.cut = a.CutSenders(s.cuts, r.team, arena, func(arcs int, bytes int64) bool {
		bytes += int64(len(r.values) * mem.SizeOf[M]())
		return arcs <= len(a.Adj)-len(a.Adj)/rangedLeast && !r.job.budget().Tight(bytes)
	})
	if s.cut == nil {
		arena.Close()
		return false
	}
	r.arena.Adopt(arena)
	s.sums = mem.Make[M](r.arena, len(r.values))
	s.pulls = []pull[M]{{Pull: kernel.Pull{Lists: &a.Lists, All: true, Ends: s.cut.Ends}}}
	for i := range s.cut.Rest {
		s.pulls = append(s.pulls, pull[M]{Pull: kernel.Pull{Lists: &s.cut.Rest[i], All: true}})
	}
	return true
}

// addRangeTask adds the messages of a range of senders to the receivers' sums.
func (r *runner[V, M]) addRangeTask(worker int) {
	t := r.threads[worker]
	defer r.recover(t)
	s := &r.ranges
	p, whole, walked := s.now, s.of.Bits, 0
	r.eachChunk(func(lo, hi int) bool {
		for w := lo; w < hi; w++ {
			need := p.Bits[w] &^ r.finished[w]
			if need == 0 {
				continue
			}
			found := whole[w]
			if p == &s.pulls[0] {
				found = 0
			}
			_, n := p.from.kernel.Pull(&p.Pull, w, need, found, (*[64]M)(s.sums[w<<6:]))
			walked += n
		}
		return true
	})
	t.count.walked += walked
}
