package mem

import (
	"slices"
	"sync"
	"sync/atomic"
)

// spares are arrays that arenas have left to their parents (Keep). An arena with the same parent
// that wants an array of the same size takes one of them, which costs neither system calls nor page
// faults. No budget counts them: they are freed as soon as something else needs the memory.
var spares = struct {
	mu    sync.Mutex
	of    map[*Arena][]region // by parent
	bytes atomic.Int64        // of all
}{of: map[*Arena][]region{}}

// mostSpare bounds the bytes of spares where no budget does.
var mostSpare = sync.OnceValue(func() int64 { return Available() / 8 })

// Keep closes the arena. Its arrays, which nobody may use any more, take the place of those that
// the parent has kept so far. They are freed if memory is tight, if some are spilled, or if the
// parent is closed.
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

// borrow returns an array of so many bytes that the parent has kept, or nil.
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

// takeSpares takes out what a parent keeps, which is closed then, or with nil what all keep.
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

// sum returns the bytes that regions take.
func sum(regions []region) (bytes int64) {
	for _, r := range regions {
		bytes += int64(r.used)
	}
	return bytes
}
