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

// splice replaces a run of Adj by other arcs. Splices are in the order of what they replace, and do
// not overlap.
type splice struct {
	at, drop     uint32 // the run
	first, count uint32 // of the inserted arcs
	shift        int64  // by how much what is before at moves
}

// splices are what edits do to lists.
type splices struct {
	list []splice
	// Inserted arcs: the neighbours' ids, weights, and where arcs of which only the weight changes
	// were.
	ids     []uint32
	weights []float64
	places  []uint32
	rows    []changedRow
	shift   int64 // of what is behind all splices
}

// changedRow is a row that gets longer or shorter.
type changedRow struct {
	id, count uint32
	more      int64
}

// splicer finds out what some edits do to the lists of a block.
type splicer struct {
	b      *blockChange
	l      *kernel.Lists
	merged []mergedArc
	splices
}

// mergedArc is one of the parallel arcs that edits make.
type mergedArc struct {
	weight float64
	place  uint32
}

// editRows is about how many edits a worker takes at a time.
const editRows = 4096

// splice finds out what the edits do to the block's lists.
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
	borders := make([]int, len(chunks)+1) // found before the edits of a row are sorted
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

// reserve makes room for so many splices and inserted arcs.
func (s *splices) reserve(list, inserted int) {
	s.list, s.rows = make([]splice, 0, list), make([]changedRow, 0, list)
	s.ids, s.places = make([]uint32, 0, inserted), make([]uint32, 0, inserted)
}

// border returns the first edit from i on that is of another row than the one before.
func (e *edits) border(i int) int {
	for i = min(i, len(e.list)); i > 0 && i < len(e.list) && e.row(i) == e.row(i-1); {
		i++
	}
	return i
}

// row goes through the edits of a vertex's row.
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

// id returns the neighbour at a place.
func (s *splicer) id(at uint32) uint32 {
	if s.b.slotIDs == nil {
		return s.l.Adj[at]
	}
	return s.b.slotIDs[s.l.Adj[at]]
}

// search returns the first place from lo on, below hi, of a neighbour with the id or a larger one.
// It looks near lo first.
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

// arcs says what edits of the arcs between a row's vertex and a neighbour do to those stored at
// [at, run).
func (s *splicer) arcs(vertex, neighbor uint32, edits []edit, at, run uint32) {
	kept := run // the stored arcs from kept on are removed
	for len(edits) > 0 && edits[0].what&removalEdit != 0 {
		kept, edits = at, edits[1:]
	}
	if len(edits) == 0 && kept == run {
		return
	}
	if len(edits) > 1 { // of the added ones, those given from the smaller end are first
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

// combine makes of parallel arcs what the graph's options say, and reports whether that is more
// than the first of them.
func (s *splicer) combine() (changed bool) {
	a := s.b.a
	if a.p.graph.Options.Duplicates == KeepDuplicates {
		slices.SortStableFunc(s.merged, func(x, y mergedArc) int { return cmp.Compare(x.weight, y.weight) })
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

// relistGrain is how many old arcs a worker takes at a time.
const relistGrain = 1 << 16

// relist makes the new lists, of rows of the lengths given, but for their heads and chunks, and
// tells where arcs were. Neighbours are places in slotIDs.
func (b *blockChange) relist(ctx context.Context, lengths []uint32) error {
	a, old, arena := b.a, &b.old.ByReceiver.Lists, b.next.graph.arena
	if a.p.Of > 1 {
		from := len(b.slotIDs)
		if n := from + len(b.s.ids); n > maxSlots { // which have no numbers of 32 bits
			return fmt.Errorf("%d vertices, ghosts and added edges in one partition: at most %d at a time",
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

// relister writes the lists that splices make of others.
type relister struct {
	b        *blockChange
	old, new WeightColumn
	list     []splice // the last one is behind all arcs
}

// grain writes what becomes of the old arcs [begin, end), and the arcs inserted there.
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

// copy writes the old arcs [lo, hi), which move by shift.
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
