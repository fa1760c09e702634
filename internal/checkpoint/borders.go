package checkpoint

import (
	"slices"
	"sync"
)

// Borders are copies in memory of the states of a process's partitions, as they were before the two newest supersteps: partitions that are
// not lost go on from them, beside others that are computed again.
type Borders struct {
	partitions int

	mu     sync.Mutex
	copies map[int][]*Part // by superstep
	newest int
	sealed bool
}

// NewBorders makes the copies of a process of so many partitions.
func NewBorders(partitions int) *Borders {
	return &Borders{partitions: partitions, copies: map[int][]*Part{}}
}

// Add adds the state of a partition, and forgets all but those of the two newest supersteps.
func (b *Borders) Add(p *Part) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sealed {
		return
	}
	b.copies[p.Superstep] = append(b.copies[p.Superstep], p)
	b.newest = max(b.newest, p.Superstep)
	for s := range b.copies {
		if s < b.newest-1 {
			delete(b.copies, s)
		}
	}
}

// Seal ends the copying: what is there stays.
func (b *Borders) Seal() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sealed = true
}

// Sealed reports whether nothing is added any more.
func (b *Borders) Sealed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sealed
}

// Before returns the states before a superstep, or nil if not all partitions' are there.
func (b *Borders) Before(superstep int) []*Part {
	b.mu.Lock()
	defer b.mu.Unlock()
	if parts := b.copies[superstep]; len(parts) == b.partitions {
		return parts
	}
	return nil
}

// Supersteps returns the supersteps before which the states of all partitions are there, in order.
func (b *Borders) Supersteps() (all []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for s, parts := range b.copies {
		if len(parts) == b.partitions {
			all = append(all, s)
		}
	}
	slices.Sort(all)
	return all
}
