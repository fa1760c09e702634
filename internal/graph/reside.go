package graph

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/mem"
)

// sideChange is what becomes of a side: which vertices are ghosts or stop being some, and the slots
// these have then.
type sideChange struct {
	old, new *Side
	// here are the changes of the list of owned vertices that each peer has as ghosts, there those
	// of its vertices that are ghosts here, by local index, rising.
	here, there [][]uint32
	ghosts      []bitmap.Ranked // the ghosts now, by partition
}

func (a *changer) side(old *Side) *sideChange {
	return &sideChange{old: old, here: make([][]uint32, a.p.Of), there: make([][]uint32, a.p.Of)}
}

// agreed reports whether an owned vertex is in the list that is agreed with a peer.
func (s *sideChange) agreed(peer int, row uint32) bool {
	list := s.old.Peers.Of(peer)
	return list.Get(row)
}

// take takes the changes of the agreed lists.
func (s *sideChange) take(toggles []toggle) {
	for _, t := range toggles {
		s.here[t.peer] = append(s.here[t.peer], t.row)
	}
}

// slot returns the slot of a neighbour on the side, or the number of slots if it has none.
func (a *changer) slot(s *sideChange) func(id uint32) uint32 {
	parts, own, none := uint32(a.p.Of), uint32(a.p.Index), uint32(a.next.Slots)
	return func(id uint32) uint32 {
		q, local := id%parts, id/parts
		switch {
		case q == own:
			return local
		case !s.ghosts[q].Get(local):
			return none
		}
		return s.new.Groups[q].Start + s.ghosts[q].Of(local)
	}
}

// sendSides tells the other partitions what changes in the lists that are agreed with them, and the
// least weight.
//
//	| least weight (8) | for each side: changes (4) | local index (4) ... |
func (a *changer) sendSides(ctx context.Context, least float64, sides ...*sideChange) error {
	data := make([][]byte, a.p.Of)
	for q := range data {
		if q == a.p.Index {
			continue
		}
		data[q] = binary.LittleEndian.AppendUint64(nil, math.Float64bits(least))
		for _, s := range sides {
			data[q] = binary.LittleEndian.AppendUint32(data[q], uint32(len(s.here[q])))
			for _, local := range s.here[q] {
				data[q] = binary.LittleEndian.AppendUint32(data[q], local)
			}
		}
	}
	a.next.graph.LeastWeight = least
	if a.p.Of == 1 {
		return nil
	}
	came, err := a.allToAll(ctx, data)
	if err != nil {
		return err
	}
	for q, data := range came {
		if q == a.p.Index {
			continue
		}
		if err := a.takeSides(data, q, sides); err != nil {
			return fmt.Errorf("ghosts of partition %d: %w", q, err)
		}
	}
	return nil
}

// takeSides reads a message of sendSides.
func (a *changer) takeSides(data []byte, q int, sides []*sideChange) error {
	if len(data) < 8 {
		return errMessage
	}
	g := a.next.graph
	g.LeastWeight = min(g.LeastWeight, math.Float64frombits(binary.LittleEndian.Uint64(data)))
	data = data[8:]
	for _, s := range sides {
		if len(data) < 4 || uint64(len(data)-4)/4 < uint64(binary.LittleEndian.Uint32(data)) {
			return errMessage
		}
		n := binary.LittleEndian.Uint32(data)
		data = data[4:]
		s.there[q] = make([]uint32, n)
		for i := range s.there[q] {
			local := binary.LittleEndian.Uint32(data[4*i:])
			if int(local) >= owned(a.N, q, a.p.Of) || i > 0 && local <= s.there[q][i-1] ||
				slices.Index(s.old.Line, q) < 0 {
				return fmt.Errorf("vertex %d: %w", local, errMessage)
			}
			s.there[q][i] = local
		}
		data = data[4*n:]
	}
	if len(data) > 0 {
		return errMessage
	}
	return nil
}

// reside gives the new partition its sides and slots. It returns the map from old slots to new
// ones, or nil if none has moved.
func (a *changer) reside(sides ...*sideChange) (moved []uint32, shared bool, err error) {
	p, next := a.p, a.next
	quiet, same := true, next.Slots == int(p.slots.Ghost)
	for _, s := range sides {
		for q := range s.here {
			quiet = quiet && len(s.here[q]) == 0
			same = same && len(s.there[q]) == 0
		}
	}
	if same && quiet {
		next.Slots, next.slots, next.pieces.layout = p.Slots, p.slots, a.share(p.pieces.layout)
		for _, s := range sides {
			s.new = s.old
		}
		a.rank(sides)
		return nil, true, nil
	}
	next.pieces.layout = a.arena()
	arena := &next.pieces.layout.Arena
	a.rank(sides)
	for _, s := range sides {
		s.new = &Side{Line: next.Column, Groups: make([]Group, p.Of)}
		if len(s.old.Line) == 0 {
			s.new.Line = nil
			continue
		}
		sets := make([][]uint64, p.Of)
		for _, q := range s.old.Line {
			list := s.old.Peers.Of(q)
			sets[q] = mem.Make[uint64](a.tmp, bitmap.Words(next.Owned))
			list.Set(sets[q])
			change(sets[q], s.here[q])
		}
		s.new.Peers = newPeers(arena, sets)
		for q := range s.ghosts {
			if q == p.Index {
				continue
			}
			s.new.Groups[q] = Group{uint32(next.Slots), uint32(s.ghosts[q].Count())}
			next.Slots += (s.ghosts[q].Count() + 63) &^ 63
		}
	}
	if err := checkSlots(next.Slots); err != nil {
		return nil, false, err
	}
	named := make([]*Side, len(sides))
	for i, s := range sides {
		named[i] = &Side{Groups: s.new.Groups, Ghosts: s.ghosts}
	}
	next.name(arena, named...)
	if same || p.Of == 1 {
		return nil, false, nil
	}
	moved = mem.Make[uint32](a.tmp, p.Slots)
	for s := range p.slots.Ghost {
		moved[s] = s
	}
	for _, s := range sides {
		slot := a.slot(s)
		for _, g := range s.old.Groups {
			for old := g.Start; old < g.Start+g.Count; old++ {
				moved[old] = slot(uint32(p.slots.Ghosts[old-p.slots.Ghost]))
			}
		}
	}
	return moved, false, nil
}

// rank finds the ghosts of each side.
func (a *changer) rank(sides []*sideChange) {
	for _, s := range sides {
		s.ghosts = make([]bitmap.Ranked, a.p.Of)
		for _, q := range s.old.Line {
			set := mem.Make[uint64](a.tmp, bitmap.Words(owned(a.N, q, a.p.Of)))
			g := s.old.Groups[q]
			for slot := g.Start; slot < g.Start+g.Count; slot++ {
				bitmap.Set(set, uint32(a.p.slots.ID(slot))/uint32(a.p.Of))
			}
			change(set, s.there[q])
			s.ghosts[q] = bitmap.Rank(set, mem.Make[uint32](a.tmp, len(set)+1))
		}
	}
}

// change takes out of a set, or puts into it, those that change.
func change(set []uint64, changed []uint32) {
	for _, i := range changed {
		set[i>>6] ^= 1 << (i & 63)
	}
}
