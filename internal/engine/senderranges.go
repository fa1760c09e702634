package engine

import (
	"context"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// A pull of sums from all vertices waits for cache misses: each edge reads the message of a sender anywhere in the column. Where the column is
// larger than the caches the pull goes by ranges of senders (graph.SenderRange): of one range after the other the messages are added to one sum for
// each receiver, and the last range is pulled with the vertices that compute. Ranges are in the order of the lists, so a sum that is ordered is
// the same.

const (
	// firstRanges is how many ranges, of graph.Width16 senders each, come first, and lastRange where the last begins, in bytes of the column of messages: eight
	// times a second-level cache. Docs/performance.md has what other cuts took.
	firstRanges, lastRange = 2, 8 << 20
	// rangedColumn is the size in bytes of a column from which ranges pay for the lists they want.
	rangedColumn = 4 << 20
	// rangedPulls is how many full pulls the cut lists must serve: cutting takes as long as ranges save in 6 to 10, or in 20 where memory is touched first.
	rangedPulls = 16
	// rangedLeast is the least part of the arcs, one in so many, that the first ranges must have: where they have less, vertices are not in degree
	// order or have much the same degree, and receivers have a neighbour or two in each range.
	rangedLeast = 3
	// shortList is how many arcs a list has at the most that is not cut.
	shortList = 64
)

// senderRanges is the state of pulls by ranges of senders.
type senderRanges[M any] struct {
	cuts  []uint32            // slots; nil where the column is too small. Tests set them
	soon  bool                // cut at the first full pull, for tests
	short int                 // shortList, or what tests set
	fulls int                 // pulls of all messages in this run
	of    *graph.Adjacency    // what was cut, or found not worth it
	cut   []graph.SenderRange // or nil
	sums  []M                 // by receiver, of the ranges but the last; nil if they lie in the column being written
	pulls []pull[M]           // by range
	uncut *pull[M]            // of the lists that are not cut
	now   int                 // the range that is added to the sums
	on    bool                // this superstep's pull goes by ranges
}

// beginRanges has the pull that comes go by ranges of senders where that is faster, and adds up all ranges but the last.
func (r *runner[V, M]) beginRanges(ctx context.Context, many bool) error {
	s := &r.ranges
	s.on = false
	if len(r.pulling) != 1 || !r.pulling[0].All || !r.traits.Parts || r.gather != nil || r.command.Sends || r.changing.on {
		return nil
	}
	whole, a := r.pulling[0], r.layout.Blocks[0].Pull.ByReceiver
	if whole.Lists != &a.Lists || !a.Rising {
		return nil
	}
	if cut, err := r.cutSenders(ctx, a); !cut {
		return err
	}
	s.on = true
	phase := r.timed(&r.report.Times.Traverse)
	defer phase.end()
	for i := range s.pulls {
		s.pulls[i].from = whole.from
	}
	last := len(s.pulls) - 1
	for s.now = range last {
		if err := r.run(many, a.OwnChunks(), r.tasks.addRange); err != nil {
			return err
		}
	}
	s.uncut.from = whole.from
	r.pulling = append(r.pulling[:0], &s.pulls[last], s.uncut)
	return nil
}

// cutSenders cuts lists by the ranges of senders when enough full pulls may come for that, and reports whether they are cut.
func (r *runner[V, M]) cutSenders(ctx context.Context, a *graph.Adjacency) (bool, error) {
	s := &r.ranges
	if s.cuts == nil {
		if r.traits.Bytes == 0 || r.layout.Count*r.traits.Bytes < rangedColumn {
			return false, nil
		}
		for k := range firstRanges {
			s.cuts = append(s.cuts, uint32(k+1)*graph.Width16)
		}
		if last := uint32(lastRange / r.traits.Bytes); last > s.cuts[firstRanges-1] {
			s.cuts = append(s.cuts, last)
		}
	}
	if s.of == a {
		return s.cut != nil, nil
	}
	if s.fulls++; !s.soon && !r.manyPulls() {
		return false, nil
	}
	s.of = a
	if !s.soon {
		s.short = shortList
	}
	arena := r.job.newArena()
	defer func() {
		if s.cut == nil { // memory was short, now or in the middle of it
			arena.Close()
		}
	}()
	var scratch [64]M
	apart := r.kernel.Window(0, &scratch) == &scratch
	cut, uncut, err := a.CutSenders(ctx, s.cuts, s.short, r.team, arena, func(arcs []int, bytes int64) bool {
		if apart {
			bytes += int64(len(r.values) * mem.SizeOf[M]())
		}
		first := 0
		for _, n := range arcs[:min(firstRanges, len(s.cuts))] {
			first += n
		}
		return first >= len(a.Adj)/rangedLeast && !r.job.budget().Tight(bytes)
	})
	if err != nil {
		s.of = nil // another run may cut them
		return false, err
	}
	if s.cut = cut; cut == nil {
		return false, nil
	}
	r.arena.Adopt(arena)
	if s.sums = nil; apart {
		s.sums = mem.Make[M](r.arena, len(r.values))
	}
	s.pulls = nil
	for i := range s.cut {
		k := &s.cut[i]
		s.pulls = append(s.pulls, pull[M]{Pull: kernel.Pull{Lists: &k.Lists, All: true, Adj16: k.Adj16, First: k.First}})
	}
	s.uncut = &pull[M]{Pull: kernel.Pull{Lists: uncut, All: true}}
	return true, nil
}

// manyPulls reports whether rangedPulls more full pulls may come: as many as the program has supersteps left, or, if it does not say so, as there were.
func (r *runner[V, M]) manyPulls() bool {
	if most := r.job.methods.maxSupersteps; most > 0 {
		return most-r.command.Superstep >= rangedPulls
	}
	return r.ranges.fulls > rangedPulls
}

// before returns the vertices of word w that have a sender in one of the first n ranges, and the sums of these.
func (s *senderRanges[M]) before(n, w int, k kernel.Kernel[M]) (found uint64, sums *[64]M) {
	for i := range s.pulls[:n] {
		found |= s.pulls[i].Bits[w]
	}
	if s.sums == nil {
		return found, k.Window(w, nil)
	}
	return found, (*[64]M)(s.sums[w<<6:])
}

// addRangeTask adds the messages of a range of senders to the receivers' sums.
func (r *runner[V, M]) addRangeTask(worker int) {
	t := r.threads[worker]
	defer r.recover(t)
	s := &r.ranges
	p, walked := &s.pulls[s.now], 0
	r.eachChunk(func(lo, hi int) bool {
		for w := lo; w < hi; w++ {
			need := p.Bits[w] &^ r.finished[w]
			if need == 0 {
				continue
			}
			found, sums := s.before(s.now, w, r.kernel)
			_, n := p.from.kernel.Pull(&p.Pull, w, need, found, sums)
			walked += n
		}
		return true
	})
	t.count.walked += walked
}
