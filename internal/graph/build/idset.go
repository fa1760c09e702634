package build

import (
	"slices"

	"github.com/superstep-go/superstep/internal/mem"
)

// idSet is a hash set of ids in an arena. A slot holds an id's complement, so that 0 is free: no id
// is all ones, b.end is above them. When it has as many slots as it may have, what is in it becomes
// a rising list: the table is read and written at random, which files are not for.
type idSet struct {
	arena *mem.Arena
	most  int      // slots
	slots []uint64 // a power of two, at most half of them taken
	count int
	ids   []uint64 // rising, that are no longer in slots
}

// leastSlots is what a set begins with.
const leastSlots = 1 << 12

// mostSlots returns how many slots each of so many sets may have: all of them together take a
// sixteenth of the budget.
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

// find returns the slot that holds an id, or the free one where it belongs.
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

// flush moves what is in the slots to the rising list.
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

// rising returns the ids, which are the caller's to free, and empties the set.
func (s *idSet) rising() []uint64 {
	if s.count > 0 {
		s.flush()
	}
	ids := s.ids
	mem.Free(s.arena, s.slots)
	s.slots, s.ids = nil, nil
	return ids
}

// union returns the union of two rising lists of an arena, which it frees.
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

// merge returns the union of two rising lists, in an arena. It shares no memory with them.
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
