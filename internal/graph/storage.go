package graph

import (
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/mem"
)

// storage is memory that changed partitions share: the partition that made it, and partitions made
// from that one by further changes. It is freed when no partition uses it.
type storage struct {
	mem.Arena
	users atomic.Int32
}

func (s *storage) release() {
	if s.users.Add(-1) == 0 {
		s.Arena.Close()
	}
}

// share makes the new partition a user of storage, its own or the old partition's, and returns it.
func (a *changer) share(s *storage) *storage {
	s.users.Add(1)
	a.uses = append(a.uses, s)
	return s
}

// keepLists makes the partition keep an arena of lists made from its own lists, for as long as
// these. If keep is false, it frees the arena.
func (p *Partition) keepLists(keep bool, arena *mem.Arena) {
	if keep && p.lists != nil {
		p.lists.Adopt(arena)
	} else {
		p.graph.keepIf(keep, arena)
	}
}

// keepIf makes the graph keep the memory of an arena. If keep is false, it frees the arena.
func (g *Graph) keepIf(keep bool, arena *mem.Arena) {
	if keep {
		g.arena.Adopt(arena)
	} else {
		arena.Close()
	}
}
