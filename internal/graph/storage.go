package graph

import (
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/mem"
)

// storage is memory that changed partitions share: one makes it, and those that come from it by
// further changes may use it. It is freed when nobody does.
type storage struct {
	mem.Arena
	users atomic.Int32
}

func (s *storage) release() {
	if s.users.Add(-1) == 0 {
		s.Arena.Close()
	}
}

// share has the new partition use storage, its own or the old one's, and returns it.
func (a *changer) share(s *storage) *storage {
	s.users.Add(1)
	a.uses = append(a.uses, s)
	return s
}

// keepLists has the partition keep lists made of its own, or else frees them: they stay as long as
// the lists that they were made of.
func (p *Partition) keepLists(keep bool, arena *mem.Arena) {
	if keep && p.lists != nil {
		p.lists.Adopt(arena)
	} else {
		p.graph.keepIf(keep, arena)
	}
}

// keepIf has the graph keep the memory of an arena, or else frees it.
func (g *Graph) keepIf(keep bool, arena *mem.Arena) {
	if keep {
		g.arena.Adopt(arena)
	} else {
		arena.Close()
	}
}
