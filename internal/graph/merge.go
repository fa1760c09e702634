package graph

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// rowMerger merges edits into the rows of lists that they are of: a worker's share of the rows. Arcs
// are in the order of the neighbours' ids, as edits are.
type rowMerger struct {
	b    *blockChange
	old  *kernel.Lists
	rows []mergedRow
	// The arcs of these rows: the neighbours' ids, weights if the graph has any, and, if
	// Change.Places asks for them, where they were.
	ids     []uint32
	weights WeightColumn
	places  []uint32
	adds    []edit
}

// mergedRow is a row that edits change: where its arcs are among the merger's, and how many more
// they are than before.
type mergedRow struct {
	id, first, count uint32
	more             int64
}

// editRows is about how many edits a worker takes at a time.
const editRows = 4096

// merge makes the rows that the block's edits change.
func (b *blockChange) merge(ctx context.Context) error {
	edits := &b.e
	if err := edits.sort(); err != nil {
		return err
	}
	if p := b.part; p.Of > 1 {
		b.slotIDs = mem.Make[uint32](b.a.tmp, p.Slots)
		for slot := range b.slotIDs {
			b.slotIDs[slot] = uint32(p.slots.ID(uint32(slot)))
		}
	}
	b.merged = make([]*rowMerger, (len(edits.list)+editRows-1)/editRows)
	b.a.Team.For(len(b.merged), 1, func(_, c, _ int) {
		m := &rowMerger{b: b, old: &b.old.ByReceiver.Lists}
		b.merged[c] = m
		if ctx.Err() == nil {
			m.merge(edits.border(c*editRows), edits.border((c+1)*editRows))
		}
	})
	return context.Cause(ctx)
}

// border returns the first edit from i on that is of another row than the one before.
func (e *edits) border(i int) int {
	for i = min(i, len(e.list)); i > 0 && i < len(e.list) && e.row(i) == e.row(i-1); {
		i++
	}
	return i
}

// merge goes through the edits [lo, hi), of whole rows.
func (m *rowMerger) merge(lo, hi int) {
	e, a := &m.b.e, m.b.a
	eachRow := func(f func(id uint32, first, last int)) {
		for i := lo; i < hi; {
			first := i
			for i < hi && e.row(i) == e.row(first) {
				i++
			}
			f(e.row(first), first, i)
		}
	}
	room := hi - lo
	eachRow(func(id uint32, _, _ int) {
		at, end := m.b.row(id)
		room += int(end - at)
	})
	m.ids, m.weights = mem.Make[uint32](a.tmp, room)[:0], MakeWeights(a.tmp, a.p.graph.Weights, room)
	m.weights.Reset()
	if a.places() {
		m.places = mem.Make[uint32](a.tmp, room)[:0]
	}
	eachRow(m.row)
}

// row merges the edits [i, last) into the row of a vertex.
func (m *rowMerger) row(id uint32, i, last int) {
	e, first, changed := &m.b.e, len(m.ids), false
	at, end := m.b.row(id)
	before := end - at
	for i < last {
		next := i
		for next < last && e.list[next].key == e.list[i].key {
			next++
		}
		neighbor := e.neighbor(i)
		run := m.search(at, end, neighbor)
		m.copy(at, run)
		for at = run; at < end && m.b.neighbor(at) == neighbor; {
			at++
		}
		changed = m.arcs(id, e.list[i:next], run, at) || changed
		i = next
	}
	m.copy(at, end)
	if count := uint32(len(m.ids) - first); changed {
		m.rows = append(m.rows, mergedRow{id, uint32(first), count, int64(count) - int64(before)})
	}
}

// search returns the first place from lo on, below hi, of a neighbour with the id or a larger one.
// It looks near lo first.
func (m *rowMerger) search(lo, hi, id uint32) uint32 {
	step := uint32(1)
	for lo+step < hi && m.b.neighbor(lo+step) < id {
		lo, step = lo+step, 2*step
	}
	n := min(step, hi-lo)
	return lo + uint32(sort.Search(int(n), func(i int) bool {
		return m.b.neighbor(lo+uint32(i)) >= id
	}))
}

// arcs merges the edits of one arc into those stored at [at, end), and reports whether that changes
// anything.
func (m *rowMerger) arcs(row uint32, edits []edit, at, end uint32) bool {
	e, o := &m.b.e, m.b.a.p.graph.Options
	stored := end // what is from there on goes
	m.adds = m.adds[:0]
	mirrored := 0
	for _, x := range edits {
		if x.what&removalEdit != 0 {
			stored = at
			continue
		}
		m.adds = append(m.adds, x)
		mirrored += int(x.what & mirroredEdit)
	}
	id := uint32(edits[0].key & (1<<e.idBits - 1))
	if mirrored > 0 && mirrored < len(m.adds) { // those given from the smaller end are first
		first := uint64(0)
		if id < row {
			first = mirroredEdit
		}
		slices.SortStableFunc(m.adds, func(x, y edit) int {
			return cmp.Compare(x.what&mirroredEdit^first, y.what&mirroredEdit^first)
		})
	}
	if o.Duplicates != KeepDuplicates && len(m.adds) > 0 {
		return m.one(id, at, stored)
	}
	slices.SortStableFunc(m.adds, func(x, y edit) int {
		return cmp.Compare(e.weight(x.what), e.weight(y.what))
	})
	old := weightsOf(m.old)
	for _, x := range m.adds {
		w, next := e.weight(x.what), at
		for next < stored && cmp.Compare(old.At(int(next)), w) <= 0 {
			next++
		}
		m.copy(at, next)
		m.add(id, w, NewPlace)
		at = next
	}
	m.copy(at, stored)
	return stored < end || len(m.adds) > 0
}

// one stores one arc, as the graph's options say, in place of that stored at [at, stored), if there
// is one, and those added. It reports whether that is another one.
func (m *rowMerger) one(id, at, stored uint32) bool {
	e, adds := &m.b.e, m.adds
	weight, place, changed := 0.0, uint32(NewPlace), true
	if stored > at {
		weight, place, changed = weightsOf(m.old).At(int(at)), at, false
	} else {
		weight, adds = e.weight(adds[0].what), adds[1:]
	}
	for _, x := range adds {
		w := e.weight(x.what)
		switch m.b.a.p.graph.Options.Duplicates {
		case LeastDuplicate:
			if cmp.Compare(w, weight) < 0 {
				weight, changed = w, true
			}
		case SumDuplicates:
			weight, changed = weight+w, changed || m.b.a.weighted()
		}
	}
	m.add(id, weight, place)
	return changed
}

// add adds an arc.
func (m *rowMerger) add(id uint32, weight float64, place uint32) {
	m.ids = append(m.ids, id)
	m.weights.Append(m.b.a.p.graph.Weights, weight)
	if m.b.a.places() {
		m.places = append(m.places, place)
	}
}

// copy adds the stored arcs [lo, hi).
func (m *rowMerger) copy(lo, hi uint32) {
	from := len(m.ids)
	m.ids = m.ids[:from+int(hi-lo)]
	m.b.copyIDs(m.ids[from:], lo)
	w := weightsOf(m.old).Slice(int(lo), int(hi))
	m.weights.Single = append(m.weights.Single, w.Single...)
	m.weights.Double = append(m.weights.Double, w.Double...)
	for at := lo; at < hi && m.b.a.places(); at++ {
		m.places = append(m.places, at)
	}
}
