package graph

import (
	"cmp"
	"context"
	"math/bits"
	"slices"

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
	rows    []rowLength
	shift   int64 // of what is behind all splices
}

// rowLength is by how much a row grows.
type rowLength struct {
	row  uint32
	more int64
}

// splicer finds out what edits do to rows of lists.
type splicer struct {
	a      *changer
	l      *kernel.Lists
	of     []uint32 // the vertices of slots, nil where they are the same
	e      *edits
	rowIDs []uint32 // the vertices of rows
	splices
	adds []edit
}

// editRows is about how many edits a worker takes at a time.
const editRows = 4096

// splice finds out what edits do to lists: many of the splicer given work at once.
func (a *changer) splice(ctx context.Context, of *splicer) (*splices, error) {
	all, l, e := &splices{}, of.l, of.e
	chunks := make([]*splicer, (len(e.list)+editRows-1)/editRows)
	a.Team.For(len(chunks), 1, func(_, c, _ int) {
		if ctx.Err() != nil {
			return
		}
		s := &splicer{a: a, l: l, of: of.of, e: e, rowIDs: of.rowIDs}
		lo, hi := e.border(c*editRows), e.border((c+1)*editRows)
		s.reserve(hi-lo, hi-lo)
		s.chunk(lo, hi)
		chunks[c] = s
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	list, inserted := 0, 0
	for _, s := range chunks {
		list, inserted = list+len(s.list), inserted+len(s.ids)
	}
	all.reserve(list, inserted)
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
	if err := checkArcs(len(l.Adj) + int(all.shift)); err != nil {
		return nil, err
	}
	return all, nil
}

// reserve makes room for so many splices and inserted arcs.
func (s *splices) reserve(list, inserted int) {
	s.list, s.rows = make([]splice, 0, list), make([]rowLength, 0, list)
	s.ids, s.places = make([]uint32, 0, inserted), make([]uint32, 0, inserted)
}

// border returns the first edit from i on that is of another row than the one before.
func (e *edits) border(i int) int {
	for i = min(i, len(e.list)); i > 0 && i < len(e.list) && e.row(i) == e.row(i-1); {
		i++
	}
	return i
}

// chunk goes through the edits [lo, hi), of whole rows.
func (s *splicer) chunk(lo, hi int) {
	for lo < hi {
		end := lo + 1
		for end < hi && s.e.row(end) == s.e.row(lo) {
			end++
		}
		s.editRow(lo, end)
		lo = end
	}
}

// rowPlace returns where a row's list is or would be.
func rowPlace(l *kernel.Lists, row uint32) (lo, hi uint32) {
	w := row >> 6
	if int(w) >= len(l.Bits) {
		return uint32(len(l.Adj)), uint32(len(l.Adj))
	}
	r := l.Rank[w] + uint32(bits.OnesCount64(l.Bits[w]&(1<<(row&63)-1)))
	lo = l.Starts[r]
	if l.Bits[w]>>(row&63)&1 == 0 {
		return lo, lo
	}
	return lo, l.Starts[r+1]
}

// editRow goes through a row's edits.
func (s *splicer) editRow(first, last int) {
	row := s.e.row(first)
	at, hi := rowPlace(s.l, row)
	before := s.shift
	for i := first; i < last; {
		end := i + 1
		for end < last && s.e.list[end].key == s.e.list[i].key {
			end++
		}
		neighbor := s.e.neighbor(i)
		at = s.search(at, hi, neighbor)
		run := at
		for run < hi && s.id(run) == neighbor {
			run++
		}
		s.resolve(row, i, end, at, run)
		at, i = run, end
	}
	if s.shift != before {
		s.rows = append(s.rows, rowLength{row, s.shift - before})
	}
}

// id returns the neighbour at a place.
func (s *splicer) id(at uint32) uint32 {
	if s.of == nil {
		return s.l.Adj[at]
	}
	return s.of[s.l.Adj[at]]
}

// slotIDs returns the vertices of a partition's slots, nil if each is its own.
func (a *changer) slotIDs(p *Partition) []uint32 {
	if p.Of == 1 {
		return nil
	}
	ids := mem.Make[uint32](a.tmp, p.Slots)
	for slot := range ids {
		ids[slot] = uint32(p.slots.ID(uint32(slot)))
	}
	return ids
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

// resolve says what edits [i, end) of one arc do to it, which is stored at [at, run).
func (s *splicer) resolve(row uint32, i, end int, at, run uint32) {
	removed := false
	s.adds = s.adds[:0]
	mirrored := 0
	for _, x := range s.e.list[i:end] {
		if x.what&removalEdit != 0 {
			removed = true
			continue
		}
		s.adds = append(s.adds, x)
		mirrored += int(x.what & mirroredEdit)
	}
	id := s.e.neighbor(i)
	if mirrored > 0 && mirrored < len(s.adds) { // those given from the smaller end are first
		first := uint64(0)
		if id < s.rowIDs[row] {
			first = mirroredEdit
		}
		slices.SortStableFunc(s.adds, func(x, y edit) int {
			return cmp.Compare(x.what&mirroredEdit^first, y.what&mirroredEdit^first)
		})
	}
	stored := run - at
	if removed {
		stored = 0
	}
	switch {
	case s.a.p.graph.Options.Duplicates == KeepDuplicates:
		s.keep(id, at, run, stored)
	case len(s.adds) > 0:
		s.one(id, at, run, stored)
	case stored < run-at:
		s.cut(at, run-at)
	}
}

// one stores one arc, as the graph's options say, in place of those at [at, run) of which so many
// do not go.
func (s *splicer) one(id, at, run, stored uint32) {
	weight, place, same := 0.0, uint32(NewPlace), false
	adds := s.adds
	if stored > 0 {
		weight, place, same = weightsOf(s.l).At(int(at)), at, true
	} else {
		weight, adds = s.e.weight(adds[0].what), adds[1:]
	}
	for _, x := range adds {
		w := s.e.weight(x.what)
		switch s.a.p.graph.Options.Duplicates {
		case LeastDuplicate:
			if cmp.Compare(w, weight) < 0 {
				weight, same = w, false
			}
		case SumDuplicates:
			weight, same = weight+w, false
		}
	}
	if same || stored > 0 && !s.a.weighted() {
		return
	}
	s.cut(at, run-at)
	s.insert(id, weight, place)
}

// keep inserts the added arcs beside those at [at, run), of which all stay if stored is not 0: by
// weight.
func (s *splicer) keep(id, at, run, stored uint32) {
	if stored == 0 && run > at {
		s.cut(at, run-at)
	}
	if s.a.weighted() {
		slices.SortStableFunc(s.adds, func(x, y edit) int { return cmp.Compare(s.e.weight(x.what), s.e.weight(y.what)) })
	}
	next := run
	if stored > 0 && s.a.weighted() {
		next = at
	}
	for k, x := range s.adds {
		w, was := s.e.weight(x.what), next
		for next < run && stored > 0 && cmp.Compare(weightsOf(s.l).At(int(next)), w) <= 0 {
			next++
		}
		if (k == 0 || next != was) && (stored > 0 || run == at) {
			s.cut(next, 0)
		}
		s.insert(id, w, NewPlace)
	}
}

// cut begins a splice.
func (s *splicer) cut(at, drop uint32) {
	s.list = append(s.list, splice{at: at, drop: drop, first: uint32(len(s.places))})
	s.shift -= int64(drop)
}

// insert adds an arc to the last splice.
func (s *splicer) insert(id uint32, weight float64, place uint32) {
	s.ids = append(s.ids, id)
	if s.a.weighted() {
		s.weights = append(s.weights, weight)
	}
	s.places = append(s.places, place)
	s.list[len(s.list)-1].count++
	s.shift++
}
