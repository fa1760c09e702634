package graph

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// splice replaces a range of Adj by other arcs. Splices are in ascending order of their ranges,
// which do not overlap.
type splice struct {
	at, drop     uint32 // the range
	first, count uint32 // of the inserted arcs
	shift        int64  // how far arcs before at move
}

// splices has the changes of lists that edits cause.
type splices struct {
	list []splice
	// The inserted arcs: the neighbours' ids, the weights, and the old indices, or NewPlace for
	// arcs that did not exist.
	ids     []uint32
	weights []float64
	places  []uint32
	rows    []changedRow
	shift   int64 // how far arcs after all splices move
}

// changedRow is a row that becomes longer or shorter.
type changedRow struct {
	id, count uint32
	more      int64
}

// splicer computes the splices of some edits of a block.
type splicer struct {
	b      *blockChange
	l      *kernel.Lists
	merged []mergedArc
	splices
}

// mergedArc is one of the parallel arcs that result from edits.
type mergedArc struct {
	weight float64
	place  uint32
}

// editRows is the approximate number of edits that a worker takes at a time.
const editRows = 4096

// splice computes the splices of the edits of the block's lists.
func (b *blockChange) splice(ctx context.Context) error {
	e, all := &b.e, &splices{}
	if err := e.sort(); err != nil {
		return err
	}
	if p := b.part; p.Of > 1 {
		b.slotIDs = mem.Make[uint32](b.a.tmp, p.Slots)
		for slot := range b.slotIDs {
			b.slotIDs[slot] = uint32(p.slots.ID(uint32(slot)))
		}
	}
	l := &b.old.ByReceiver.Lists
	chunks := make([]*splicer, (len(e.list)+editRows-1)/editRows)
	borders := make([]int, len(chunks)+1) // computed before the edits of a row are sorted
	for c := 1; c < len(borders); c++ {
		borders[c] = e.border(max(borders[c-1], c*editRows))
	}
	b.a.Team.For(len(chunks), 1, func(_, c, _ int) {
		if ctx.Err() != nil {
			return
		}
		s := &splicer{b: b, l: l}
		lo, hi := borders[c], borders[c+1]
		s.reserve(hi-lo, hi-lo)
		for lo < hi {
			first := lo
			for lo++; lo < hi && e.row(lo) == e.row(first); {
				lo++
			}
			s.row(b.vertex(e.row(first)), e.list[first:lo])
		}
		chunks[c] = s
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	list, inserted := 0, 0
	for _, s := range chunks {
		list, inserted = list+len(s.list), inserted+len(s.ids)
	}
	all.reserve(list+1, inserted)
	for _, s := range chunks {
		base := uint32(len(all.places))
		for _, x := range s.list {
			x.first += base
			x.shift = all.shift
			all.shift += int64(x.count) - int64(x.drop)
			all.list = append(all.list, x)
		}
		all.ids = append(all.ids, s.ids...)
		all.weights = append(all.weights, s.weights...)
		all.places = append(all.places, s.places...)
		all.rows = append(all.rows, s.rows...)
	}
	b.s = all
	return checkArcs(len(l.Adj) + int(all.shift))
}

// reserve allocates splices and inserted arcs.
func (s *splices) reserve(list, inserted int) {
	s.list, s.rows = make([]splice, 0, list), make([]changedRow, 0, list)
	s.ids, s.places = make([]uint32, 0, inserted), make([]uint32, 0, inserted)
}

// border returns the first edit from i on that has another row than the previous edit.
func (e *edits) border(i int) int {
	for i = min(i, len(e.list)); i > 0 && i < len(e.list) && e.row(i) == e.row(i-1); {
		i++
	}
	return i
}

// row processes the edits of a vertex's row.
func (s *splicer) row(vertex uint32, edits []edit) {
	at, hi := s.b.row(vertex)
	count, before := hi-at, s.shift
	for len(edits) > 0 {
		n := 1
		for n < len(edits) && edits[n].key == edits[0].key {
			n++
		}
		neighbor := uint32(edits[0].key & (1<<s.b.e.idBits - 1))
		at = s.search(at, hi, neighbor)
		run := at
		for run < hi && s.id(run) == neighbor {
			run++
		}
		s.arcs(vertex, neighbor, edits[:n], at, run)
		at, edits = run, edits[n:]
	}
	if more := s.shift - before; more != 0 {
		s.rows = append(s.rows, changedRow{vertex, uint32(int64(count) + more), more})
	}
}

// id returns the neighbour at an index.
func (s *splicer) id(at uint32) uint32 {
	if s.b.slotIDs == nil {
		return s.l.Adj[at]
	}
	return s.b.slotIDs[s.l.Adj[at]]
}

// search returns the first index in [lo, hi) of a neighbour whose id is at least id. It searches
// near lo first.
func (s *splicer) search(lo, hi, id uint32) uint32 {
	for step := uint32(1); lo < hi; step *= 2 {
		probe := lo + min(step, hi-lo) - 1
		if s.id(probe) >= id {
			hi = probe
			break
		}
		lo = probe + 1
	}
	for lo < hi {
		if mid := lo + (hi-lo)/2; s.id(mid) < id {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// arcs computes the splice for edits of the arcs between a row's vertex and a neighbour. The stored
// arcs are at [at, run).
func (s *splicer) arcs(vertex, neighbor uint32, edits []edit, at, run uint32) {
	kept := run // stored arcs at [kept, run) are removed
	for len(edits) > 0 && edits[0].what&removalEdit != 0 {
		kept, edits = at, edits[1:]
	}
	if len(edits) == 0 && kept == run {
		return
	}
	if len(edits) > 1 { // first the added arcs that were given from the smaller end
		first := uint64(0)
		if neighbor < vertex {
			first = mirroredEdit
		}
		slices.SortStableFunc(edits, func(x, y edit) int {
			return cmp.Compare(x.what&mirroredEdit^first, y.what&mirroredEdit^first)
		})
	}
	s.merged = s.merged[:0]
	for i := at; i < kept; i++ {
		s.merged = append(s.merged, mergedArc{weightsOf(s.l).At(int(i)), i})
	}
	for _, x := range edits {
		s.merged = append(s.merged, mergedArc{s.b.e.weight(x.what), NewPlace})
	}
	if len(edits) > 0 && !s.combine() {
		return
	}
	s.list = append(s.list, splice{
		at: at, drop: run - at, first: uint32(len(s.places)), count: uint32(len(s.merged)),
	})
	s.shift += int64(len(s.merged)) - int64(run-at)
	for _, m := range s.merged {
		s.ids = append(s.ids, neighbor)
		if s.b.a.weighted() {
			s.weights = append(s.weights, m.weight)
		}
		s.places = append(s.places, m.place)
	}
}

// combine combines parallel arcs by the graph's options. It returns false if the result is a stored
// arc with its old weight, so that nothing changes.
func (s *splicer) combine() (changed bool) {
	a := s.b.a
	if a.p.graph.Options.Duplicates == KeepDuplicates {
		slices.SortStableFunc(s.merged,
			func(x, y mergedArc) int { return cmp.Compare(x.weight, y.weight) })
		return true
	}
	one := &s.merged[0]
	changed = one.place == NewPlace
	for _, x := range s.merged[1:] {
		switch a.p.graph.Options.Duplicates {
		case LeastDuplicate:
			if cmp.Compare(x.weight, one.weight) < 0 {
				one.weight, changed = x.weight, true
			}
		case SumDuplicates:
			one.weight, changed = one.weight+x.weight, changed || a.weighted()
		}
	}
	s.merged = s.merged[:1]
	return changed
}

// relistGrain is the number of old arcs that a worker takes at a time.
const relistGrain = 1 << 16

// relist makes the new lists, of rows with these lengths, without their heads and chunks. It sets
// places. Neighbours are indices of slotIDs.
func (b *blockChange) relist(ctx context.Context, lengths []uint32) error {
	a, old, arena := b.a, &b.old.ByReceiver.Lists, b.next.graph.arena
	if a.p.Of > 1 {
		from := len(b.slotIDs)
		if n := from + len(b.s.ids); n > maxSlots { // 32-bit numbers do not suffice
			return fmt.Errorf(
				"%d vertices, ghosts and added edges in one partition: at most %d at a time",
				n, maxSlots)
		}
		ids := mem.Make[uint32](a.tmp, from+len(b.s.ids))
		copy(ids[copy(ids, b.slotIDs):], b.s.ids)
		for i := range b.s.ids {
			b.s.ids[i] = uint32(from + i)
		}
		b.slotIDs = ids
	}
	total := len(old.Adj) + int(b.s.shift)
	l := &Adjacency{Lists: bcsr(arena, lengths, mem.Make[uint32](arena, total))}
	makeWeights(arena, &l.Lists, a.p.graph.Weights)
	b.new.ByReceiver = l
	if a.Places && a.p.Grid.Flat() {
		b.places = make([]uint32, total)
	}
	end := splice{at: uint32(len(old.Adj)), first: uint32(len(b.s.places)), shift: b.s.shift}
	r := &relister{b, weightsOf(old), weightsOf(&l.Lists), append(b.s.list, end)}
	a.Team.For(len(old.Adj)/relistGrain+1, 1, func(_, i, _ int) {
		if ctx.Err() == nil {
			r.grain(uint32(i)*relistGrain, uint64(i+1)*relistGrain)
		}
	})
	return context.Cause(ctx)
}

// relister writes the lists that result from splices.
type relister struct {
	b        *blockChange
	old, new WeightColumn
	list     []splice // the last one is after all arcs
}

// grain writes the new arcs for the old arcs [begin, end), including the inserted arcs.
func (r *relister) grain(begin uint32, end uint64) {
	s, adj, places := r.b.s, r.b.new.ByReceiver.Adj, r.b.places
	k := sort.Search(len(r.list), func(k int) bool { return r.list[k].at >= begin })
	at := begin
	if k > 0 {
		at = max(at, r.list[k-1].at+r.list[k-1].drop)
	}
	for ; k < len(r.list) && uint64(at) < end; k++ {
		x := &r.list[k]
		if r.copy(at, uint32(min(uint64(x.at), end)), x.shift); uint64(x.at) >= end {
			return
		}
		to := uint32(int64(x.at) + x.shift)
		for j := range x.count {
			adj[to+j] = s.ids[x.first+j]
			if len(s.weights) > 0 {
				r.new.Set(int(to+j), s.weights[x.first+j])
			}
			if places != nil {
				places[to+j] = s.places[x.first+j]
			}
		}
		at = x.at + x.drop
	}
}

// copy copies the old arcs [lo, hi), which move by shift.
func (r *relister) copy(lo, hi uint32, shift int64) {
	if lo >= hi {
		return
	}
	to := uint32(int64(lo) + shift)
	copy(r.b.new.ByReceiver.Adj[to:], r.b.old.ByReceiver.Adj[lo:hi])
	r.new.Copy(int(to), r.old.Slice(int(lo), int(hi)))
	for i := lo; i < hi && r.b.places != nil; i++ {
		r.b.places[to+i-lo] = i
	}
}
