package graph

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/wire"
)

// changedSide is a side of a block whose ghosts must be sent to their owners.
type changedSide struct {
	new, old *Side
	part     *Partition // the partition with the old side's slots
	sets     [][]uint64 // owned vertices that are ghosts of others, by partition
	// degrees, if not nil, has the degrees of owned vertices that change with the arcs at this
	// side. changes has these changes, by owner.
	degrees []uint32
	changes [][]degreeChange
}

// shareSides tells the owners which of their vertices become ghosts of this partition or stop being
// ghosts, the changes of their degrees, and the least weight. same means that nothing changed in
// this partition.
//
//	| least weight (8) | for each side: size of the set (4) | set of ghosts that change | degrees |
//	degrees: | number of changes (4) | local (8) | more (8) | ...
func (a *changer) shareSides(ctx context.Context, same bool, blocks []*blockChange) error {
	var sides []changedSide
	for i, b := range blocks {
		receivers := changedSide{
			new: b.new.Receivers, old: b.old.Receivers, part: b.part,
			sets: make([][]uint64, a.p.Of), degrees: a.next.InDegrees, changes: b.degreeChanges(),
		}
		if i > 0 {
			receivers.degrees = a.next.OutDegrees
		}
		senders := changedSide{
			new: b.new.Senders, old: b.old.Senders, part: b.part, sets: make([][]uint64, a.p.Of),
		}
		sides = append(sides, receivers, senders)
	}
	g := a.next.graph
	g.LeastWeight = a.least(blocks[0])
	data := make([][]byte, a.p.Of)
	for q := range data {
		if q == a.p.Index {
			continue
		}
		data[q] = binary.LittleEndian.AppendUint64(nil, math.Float64bits(g.LeastWeight))
		for _, s := range sides {
			if slices.Contains(s.new.Line, q) {
				data[q] = a.appendSide(data[q], s, q, same)
			}
		}
	}
	if a.p.Of > 1 {
		came, err := a.allToAll(ctx, data)
		if err != nil {
			return err
		}
		data = came
	}
	for _, s := range sides {
		if s.degrees != nil {
			if err := a.changeDegrees(s.degrees, s.changes[a.p.Index]); err != nil {
				return err
			}
		}
	}
	for q, data := range data {
		if q == a.p.Index {
			continue
		}
		if err := a.takeSides(data, q, sides); err != nil {
			return fmt.Errorf("ghosts of partition %d: %w", q, err)
		}
	}
	for _, s := range sides {
		s.new.Peers = newPeers(g.arena, s.sets)
	}
	for _, b := range blocks {
		b.new.Senders.Ghosts = nil
	}
	return nil
}

// least returns the least weight of a block, or 0 if that is less.
func (a *changer) least(b *blockChange) float64 {
	least := 0.0
	for _, w := range b.s.weights {
		least = min(least, w)
	}
	if a.p.graph.LeastWeight < 0 {
		all, _ := weightRange(&b.new.ByReceiver.Lists)
		least = min(least, all)
	}
	return least
}

// appendSide encodes a side's data about partition q.
func (a *changer) appendSide(data []byte, s changedSide, q int, same bool) []byte {
	set := mem.Make[uint64](a.tmp, bitmap.Words(a.p.Deal.Owned(a.N, q)))
	if !same {
		s.part.ghosts(s.old, q, set)
		for w, word := range s.new.Ghosts[q].Bits {
			set[w] ^= word
		}
	}
	at := len(data)
	data = appendSet(append(data, 0, 0, 0, 0), set)
	binary.LittleEndian.PutUint32(data[at:], uint32(len(data)-at-4))
	if s.degrees == nil {
		return data
	}
	data = binary.LittleEndian.AppendUint32(data, uint32(len(s.changes[q])))
	return append(data, wire.Bytes(s.changes[q])...)
}

// ghosts adds the vertices of q that are ghosts on a side to a set.
func (p *Partition) ghosts(s *Side, q int, set []uint64) {
	group := s.Groups[q]
	for slot := group.Start; slot < group.Start+group.Count; slot++ {
		_, local := p.Deal.Of(uint32(p.slots.ID(slot)))
		bitmap.Set(set, local)
	}
}

// takeSides decodes a message of shareSides.
func (a *changer) takeSides(data []byte, q int, sides []changedSide) (err error) {
	if len(data) < 8 {
		return errMessage
	}
	g := a.next.graph
	g.LeastWeight = min(g.LeastWeight, math.Float64frombits(binary.LittleEndian.Uint64(data)))
	data = data[8:]
	for _, s := range sides {
		if !slices.Contains(s.new.Line, q) {
			continue
		}
		if data, err = a.takeSet(data, q, s); err != nil {
			return err
		}
		if s.degrees == nil {
			continue
		}
		if data, err = a.takeDegrees(data, s.degrees); err != nil {
			return err
		}
	}
	if len(data) > 0 {
		return errMessage
	}
	return nil
}

// takeSet decodes the owned vertices that become ghosts of partition q on a side, or stop being
// ghosts.
func (a *changer) takeSet(data []byte, q int, s changedSide) ([]byte, error) {
	if len(data) < 4 || uint64(len(data)-4) < uint64(binary.LittleEndian.Uint32(data)) {
		return nil, errMessage
	}
	size := binary.LittleEndian.Uint32(data)
	set := mem.Make[uint64](a.tmp, a.next.Words())
	if err := readSet(data[4:4+size], set, a.next.Owned); err != nil {
		return nil, err
	}
	list := s.old.Peers.Of(q)
	list.Each(func(local uint32) { set[local>>6] ^= 1 << (local & 63) })
	s.sets[q] = set
	return data[4+size:], nil
}

// takeDegrees decodes changes of degrees, and applies them.
func (a *changer) takeDegrees(data []byte, degrees []uint32) ([]byte, error) {
	if len(data) < 4 || uint64(len(data)-4)/16 < uint64(binary.LittleEndian.Uint32(data)) {
		return nil, errMessage
	}
	end := 4 + 16*uint64(binary.LittleEndian.Uint32(data))
	return data[end:], a.changeDegrees(degrees, wire.Slice[degreeChange](data[4:end]))
}

// degreeChange is a block's change of a vertex's degree.
type degreeChange struct {
	local uint64
	more  int64
}

// degreeChanges returns the block's changes of its receivers' degrees, by owner.
func (b *blockChange) degreeChanges() [][]degreeChange {
	all := make([][]degreeChange, b.a.p.Of)
	for _, r := range b.s.rows {
		q, local := b.a.p.Deal.Of(r.id)
		all[q] = append(all[q], degreeChange{uint64(local), r.more})
	}
	return all
}

// degrees copies the degrees before the blocks change them.
func (a *changer) degrees() {
	p, next := a.p, a.next
	next.OutDegrees = mem.Make[uint32](next.graph.arena, int(next.slots.Ghost))
	copy(next.OutDegrees, p.OutDegrees)
	next.InDegrees = next.OutDegrees
	if p.graph.Directed {
		next.InDegrees = mem.Make[uint32](next.graph.arena, int(next.slots.Ghost))
		copy(next.InDegrees, p.InDegrees)
	}
}

// changeDegrees applies changes of degrees.
func (a *changer) changeDegrees(degrees []uint32, changes []degreeChange) error {
	for _, c := range changes {
		if c.local >= uint64(a.next.Owned) || c.more > math.MaxUint32 || c.more < -math.MaxUint32 {
			return fmt.Errorf("the degree of vertex %d: %w", c.local, errMessage)
		}
		d := int64(degrees[c.local]) + c.more
		if d < 0 || d > math.MaxUint32 {
			return fmt.Errorf("a degree of %d: %w", d, errMessage)
		}
		degrees[c.local] = uint32(d)
	}
	return nil
}
