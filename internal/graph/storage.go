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

// pieces are where the parts of a changed partition lie. A nil one is memory of the graph that was
// built.
type pieces struct {
	in, out *storage // lists, and degrees
	layout  *storage // slots and peers
	views   *storage // what SendersView makes
}

// arena makes storage that the new partition uses.
func (a *changer) arena() *storage {
	s := new(storage)
	s.Meter = a.p.graph.arena.Meter
	return a.share(s)
}

// share has the new partition use a piece of the old one, and returns it.
func (a *changer) share(s *storage) *storage {
	if s != nil {
		s.users.Add(1)
		a.uses = append(a.uses, s)
	}
	return s
}

// keepIf has the graph keep the memory of an arena, or else frees it.
func (g *Graph) keepIf(keep bool, arena *mem.Arena) {
	if keep {
		g.arena.Adopt(arena)
	} else {
		arena.Close()
	}
}
