package mem

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// spares has arrays that arenas have left to their parents (Keep). An arena with the same parent
// reuses them for arrays of the same size, which saves system calls and page faults. No budget
// counts the spares: they are freed as soon as anything else needs the memory.
var spares = struct {
	mu     sync.Mutex
	of     map[*Arena][]region // by parent
	bytes  atomic.Int64        // of all spares
	handed atomic.Int64        // bytes of arrays that have been handed over, in use or spare
}{of: map[*Arena][]region{}}

// mostHanded bounds the bytes of arrays that are handed over. They count in the memory of the
// process, but not in what starts Go's collector, which must run before they can be used again.
const mostHanded = 64 << 20

// mostSpare bounds the bytes of spares if there is no budget.
var mostSpare = sync.OnceValue(func() int64 { return Available() / 8 })

// Keep closes the arena and leaves its arrays to the parent, in place of the arrays that Keep left
// earlier. The arrays must not be used any more. They are freed instead if memory is tight, if some
// of them are spilled, if the parent is closed, or if without a budget the spares would exceed
// mostSpare.
func (a *Arena) Keep() {
	defer a.Close()
	p, b := a.Parent, a.budget()
	if p == nil || len(a.regions) == 0 || b.Tight(0) {
		return
	}
	spares.mu.Lock()
	defer spares.mu.Unlock()
	var old, handed []region
	for _, r := range spares.of[p] {
		if r.handed {
			handed = append(handed, r)
		} else {
			old = append(old, r)
		}
	}
	total := spares.bytes.Load() + sum(a.regions) - sum(old)
	if b == nil && total > mostSpare() {
		total -= sum(handed)
		old, handed = append(old, handed...), nil
	}
	if p.closed || b == nil && total > mostSpare() ||
		slices.ContainsFunc(a.regions, func(r region) bool { return r.file }) {
		return
	}
	for i, r := range a.regions {
		r.budget.add(a.Kind, -int64(r.used), false)
		a.regions[i].budget = nil
	}
	spares.bytes.Store(total)
	spares.of[p], a.regions = append(a.regions, handed...), old // Close frees the old ones
}

// Owner keeps an array in use after its arena has been closed, as long as it is reachable.
type Owner struct{ of *Arena }

// HandOver takes an array of Make out of the arena. When the owner is unreachable, the array is
// left to the parent as a spare. An array on Go's heap needs no owner, which is nil. ok is false if
// nothing has changed, because the array counts in a budget, or too much has been handed over. Then
// the caller has to copy it.
func HandOver[T any](a *Arena, s []T) (owner *Owner, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	start := unsafe.Pointer(unsafe.SliceData(s))
	i := slices.IndexFunc(a.regions, func(r region) bool { return r.begins(start) })
	if i < 0 {
		return nil, true
	}
	r := a.regions[i]
	bytes := int64(r.used)
	if a.Parent == nil || r.budget != nil || r.file {
		return nil, false
	}
	if most := min(mostHanded, mostSpare()); spares.handed.Add(bytes) > most {
		for _, idle := range takeHanded() {
			idle.release("") // it is in no budget
		}
		if spares.handed.Load() > most {
			spares.handed.Add(-bytes)
			return nil, false
		}
	}
	r.handed = true
	a.regions = slices.Delete(a.regions, i, i+1)
	owner = &Owner{&Arena{Kind: a.Kind, Parent: a.Parent, regions: []region{r}}}
	runtime.AddCleanup(owner, (*Arena).leave, owner.of)
	return owner, true
}

// leave closes the arena and adds its arrays to the parent's spares, unless that is closed.
func (a *Arena) leave() {
	defer a.Close()
	spares.mu.Lock()
	defer spares.mu.Unlock()
	if p := a.Parent; !p.closed {
		spares.of[p] = append(spares.of[p], a.regions...)
		spares.bytes.Add(sum(a.regions))
		a.regions = nil
	}
}

// borrow returns a spare of the parent with this number of bytes, or nil.
func (a *Arena) borrow(bytes int, b *Budget) []byte {
	if a.Parent == nil || b.Tight(int64(bytes)) {
		return nil
	}
	spares.mu.Lock()
	defer spares.mu.Unlock()
	kept := spares.of[a.Parent]
	i := slices.IndexFunc(kept, func(r region) bool { return r.used == bytes && r.handed })
	if i < 0 {
		i = slices.IndexFunc(kept, func(r region) bool { return r.used == bytes })
	}
	if i < 0 {
		return nil
	}
	data := kept[i].data
	if kept[i].handed {
		spares.handed.Add(-int64(bytes))
	}
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

// takeHanded removes and returns the spares that had been handed over.
func takeHanded() (all []region) {
	spares.mu.Lock()
	defer spares.mu.Unlock()
	for p, kept := range spares.of {
		spares.of[p] = slices.DeleteFunc(kept, func(r region) bool {
			if r.handed {
				all = append(all, r)
			}
			return r.handed
		})
	}
	spares.bytes.Add(-sum(all))
	return all
}

func freeSpares() {
	for _, r := range takeSpares(nil) {
		r.release("") // it is in no budget
	}
}

func sum(regions []region) (bytes int64) {
	for _, r := range regions {
		bytes += int64(r.used)
	}
	return bytes
}
