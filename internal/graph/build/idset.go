package build

import (
	"slices"

	"github.com/superstep-go/superstep/internal/mem"
)

// idSet is a hash set of ids in an arena. A slot has the complement of an id, so 0 means free. No
// id is all ones, because ids are below b.end. When the table has its largest size and is half
// full, its ids are moved to an ascending list: the table is read and written at random, which
// would be slow in spill files.
type idSet struct {
	arena *mem.Arena
	most  int      // largest number of slots
	slots []uint64 // a power of two; at most half of them are in use
	count int
	ids   []uint64 // ascending; no longer in slots
}

// leastSlots is the initial number of slots of a set.
const leastSlots = 1 << 12

// mostSlots returns the largest number of slots of each of several sets: leastSlots or, if that is
// more, as many as take at most a sixteenth of the memory budget in all sets together.
func mostSlots(sets int) int {
	limit := mem.Process().Limit()
	if limit == 0 {
		return 1 << 62
	}
	most := leastSlots
	for int64(most)*int64(sets)*8*16 <= limit/2 {
		most *= 2
	}
	return most
}

func (s *idSet) add(id uint64) {
	if 2*s.count >= len(s.slots) {
		s.grow()
	}
	if at := s.find(id); s.slots[at] == 0 {
		s.slots[at] = ^id
		s.count++
	}
}

// find returns the slot of an id, or the free slot for it.
func (s *idSet) find(id uint64) uint64 {
	mask := uint64(len(s.slots) - 1)
	at := mix(id) & mask
	for s.slots[at] != 0 && s.slots[at] != ^id {
		at = (at + 1) & mask
	}
	return at
}

func (s *idSet) grow() {
	if len(s.slots) >= s.most {
		s.flush()
		clear(s.slots)
		return
	}
	old := s.slots
	s.slots = mem.Make[uint64](s.arena, max(2*len(old), leastSlots))
	for _, slot := range old {
		if slot != 0 {
			s.slots[s.find(^slot)] = slot
		}
	}
	mem.Free(s.arena, old)
}

// flush moves the ids from the slots to the ascending list.
func (s *idSet) flush() {
	some := mem.Make[uint64](s.arena, s.count)[:0]
	for _, slot := range s.slots {
		if slot != 0 {
			some = append(some, ^slot)
		}
	}
	slices.Sort(some)
	s.count = 0
	s.ids = union(s.arena, s.ids, some)
}

// rising returns the ids in ascending order and empties the set. The caller frees them.
func (s *idSet) rising() []uint64 {
	if s.count > 0 {
		s.flush()
	}
	ids := s.ids
	mem.Free(s.arena, s.slots)
	s.slots, s.ids = nil, nil
	return ids
}

// union returns the union of two ascending lists of an arena, and frees both.
func union(arena *mem.Arena, a, z []uint64) []uint64 {
	switch {
	case len(z) == 0:
		mem.Free(arena, z)
		return a
	case len(a) == 0:
		mem.Free(arena, a)
		return z
	}
	all := merge(arena, a, z)
	mem.Free(arena, a)
	mem.Free(arena, z)
	return all
}

// merge returns the union of two ascending lists, in an arena. It shares no memory with them.
func merge(arena *mem.Arena, a, z []uint64) []uint64 {
	all := mem.Make[uint64](arena, len(a)+len(z))
	n := 0
	for ; len(a) > 0 && len(z) > 0; n++ {
		switch {
		case a[0] < z[0]:
			all[n], a = a[0], a[1:]
		case a[0] > z[0]:
			all[n], z = z[0], z[1:]
		default:
			all[n], a, z = a[0], a[1:], z[1:]
		}
	}
	n += copy(all[n:], a)
	n += copy(all[n:], z)
	return mem.Trim(arena, all, n)
}
