package mem

import (
	"slices"
	"sync"
	"sync/atomic"
)

// spares has arrays that arenas have left to their parents (Keep). An arena with the same parent
// reuses them for arrays of the same size, which saves system calls and page faults. No budget
// counts the spares: they are freed as soon as anything else needs the memory.
var spares = struct {
	mu    sync.Mutex
	of    map[*Arena][]region // by parent
	bytes atomic.Int64        // of all spares
}{of: map[*Arena][]region{}}

// mostSpare bounds the bytes of spares if there is no budget.
var mostSpare = sync.OnceValue(func() int64 { return Available() / 8 })

// Keep closes the arena and leaves its arrays to the parent, in place of the arrays left earlier.
// The arrays must not be used any more. They are freed instead if memory is tight, if some of them
// are spilled, if the parent is closed, or if without a budget the spares would exceed mostSpare.
func (a *Arena) Keep() {
	defer a.Close()
	p, b := a.Parent, a.budget()
	if p == nil || len(a.regions) == 0 || b.Tight(0) {
		return
	}
	spares.mu.Lock()
	defer spares.mu.Unlock()
	old := spares.of[p]
	total := spares.bytes.Load() + sum(a.regions) - sum(old)
	if p.closed || b == nil && total > mostSpare() ||
		slices.ContainsFunc(a.regions, func(r region) bool { return r.file }) {
		return
	}
	for i, r := range a.regions {
		r.budget.add(a.Kind, -int64(r.used), false)
		a.regions[i].budget = nil
	}
	spares.bytes.Store(total)
	spares.of[p], a.regions = a.regions, old // Close frees the old ones
}

// borrow returns a spare of the parent with this number of bytes, or nil.
func (a *Arena) borrow(bytes int, b *Budget) []byte {
	if a.Parent == nil || b.Tight(int64(bytes)) {
		return nil
	}
	spares.mu.Lock()
	defer spares.mu.Unlock()
	kept := spares.of[a.Parent]
	i := slices.IndexFunc(kept, func(r region) bool { return r.used == bytes })
	if i < 0 {
		return nil
	}
	data := kept[i].data
	spares.of[a.Parent] = slices.Delete(kept, i, i+1)
	spares.bytes.Add(-int64(bytes))
	b.add(a.Kind, int64(bytes), false)
	return data
}

// takeSpares removes and returns the spares of a parent, and marks the parent as closed. With nil
// it removes and returns all spares.
func takeSpares(parent *Arena) (all []region) {
	spares.mu.Lock()
	defer spares.mu.Unlock()
	if parent != nil {
		parent.closed = true
	}
	for p, kept := range spares.of {
		if parent == nil || parent == p {
			all = append(all, kept...)
			delete(spares.of, p)
		}
	}
	spares.bytes.Add(-sum(all))
	return all
}

func freeSpares() {
	for _, r := range takeSpares(nil) {
		release(r.data)
	}
}

func sum(regions []region) (bytes int64) {
	for _, r := range regions {
		bytes += int64(r.used)
	}
	return bytes
}
