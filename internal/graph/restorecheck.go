package graph

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/parallel"
)

// checkStored returns an error for arrays that are not valid. Afterwards every stored index is
// within the bounds of its array.
func (p *Partition) checkStored(s Shape, labels *labelArrays, team *parallel.Team) error {
	if err := p.checkVertices(s, labels); err != nil {
		return err
	}
	valid, err := p.checkArrays(nil, team)
	if err == nil && p.reversedPart != nil {
		if _, err = p.reversedPart.checkArrays(valid, team); err != nil {
			err = fmt.Errorf("reversed arcs: %w", err)
		}
	}
	return err
}

// checkVertices checks the arrays that have an element for each vertex.
func (p *Partition) checkVertices(s Shape, labels *labelArrays) error {
	padded := (p.Owned + 63) &^ 63
	if len(p.OutDegrees) != padded || len(p.InDegrees) != padded {
		return fmt.Errorf("found degrees of %d and %d vertices, expected %d", len(p.OutDegrees),
			len(p.InDegrees), padded)
	}
	loaded := p.Owned
	if s.Added > 0 {
		loaded = owned(int(s.Added), p.Index, p.Of)
	}
	narrow, wide := loaded, 0
	if s.Wide {
		narrow, wide = 0, loaded
	}
	if len(labels.narrow) != narrow || len(labels.wide) != wide {
		return fmt.Errorf("found %d and %d input ids, expected %d and %d", len(labels.narrow),
			len(labels.wide), narrow, wide)
	}
	removed := 0
	if s.Removed {
		removed = p.Words()
	}
	if len(p.Absent) != removed || removed > 0 && !within(p.Absent, p.Owned) {
		return fmt.Errorf("the set of removed vertices is invalid for %d vertices", p.Owned)
	}
	if !s.Removed {
		p.Absent = nil
	}
	return nil
}

// checkArrays checks the lists and sides of a partition, and returns the set of used slots. before
// has the used slots of the block whose slots this one continues.
func (p *Partition) checkArrays(before []uint64, team *parallel.Team) ([]uint64, error) {
	valid, err := p.startSlots()
	if err != nil {
		return nil, err
	}
	if len(before) > len(valid) {
		return nil, fmt.Errorf("found %d slots, expected %d or more", p.Slots, 64*len(before))
	}
	for w, word := range before {
		valid[w] |= word
	}
	lists, sides := p.stored()
	for _, s := range sides {
		if err := p.checkSide(s.Side, valid); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if err := p.endSlots(valid); err != nil {
		return nil, err
	}
	for _, l := range lists {
		if err := p.checkLists(l, valid, team); err != nil {
			return nil, fmt.Errorf("lists %s: %w", l.name, err)
		}
	}
	if n := len(lists[0].Adj); !p.Grid.Flat() && len(lists[1].Adj) != n {
		return nil, fmt.Errorf("found %d arcs by receiver and %d by sender", n, len(lists[1].Adj))
	}
	return valid, nil
}

// startSlots returns the set of the owned vertices' slots.
func (p *Partition) startSlots() ([]uint64, error) {
	if p.Slots < int(p.slots.Ghost) || len(p.slots.Ghosts) != p.Slots-int(p.slots.Ghost) {
		return nil, fmt.Errorf("found %d ghosts in %d slots, with %d owned slots",
			len(p.slots.Ghosts), p.Slots, p.slots.Ghost)
	}
	valid := make([]uint64, p.Slots/64)
	bitmap.Fill(valid, p.Owned)
	return valid, nil
}

// checkSide checks a side, and adds the slots of its ghosts to valid.
func (p *Partition) checkSide(s *Side, valid []uint64) error {
	if len(s.Line) == 0 && p.Of == 1 {
		return nil
	}
	if len(s.Groups) != p.Of {
		return fmt.Errorf("found groups of %d partitions, expected %d", len(s.Groups), p.Of)
	}
	if err := s.Peers.check(p); err != nil {
		return err
	}
	other := make([]bool, p.Of)
	for _, q := range s.Line {
		other[q] = true
	}
	next := p.slots.Ghost
	for q, group := range s.Groups {
		if !other[q] {
			if list := s.Peers.Of(q); group.Count > 0 || list.Count() > 0 {
				return fmt.Errorf(
					"found vertices shared with partition %d, which is not in the line", q)
			}
			continue
		}
		if err := p.checkGroup(q, group, valid); err != nil {
			return fmt.Errorf("ghosts of partition %d: %w", q, err)
		}
		if group.Start < next {
			return fmt.Errorf("slots of partition %d's ghosts begin at %d, expected %d or more", q,
				group.Start, next)
		}
		next = group.Start + group.Count
	}
	return nil
}

// checkGroup checks the slots of another partition's vertices.
func (p *Partition) checkGroup(q int, group Group, valid []uint64) error {
	if group.Start%64 != 0 || group.Start < p.slots.Ghost || uint64(group.Start)+
		uint64(group.Count) > uint64(p.Slots) {
		return fmt.Errorf("found slots %d to %d of %d", group.Start, uint64(group.Start)+
			uint64(group.Count), p.Slots)
	}
	lo, hi := group.Words()
	for _, word := range valid[lo:hi] {
		if word != 0 {
			return fmt.Errorf("slots from %d on belong to two partitions", group.Start)
		}
	}
	bitmap.Fill(valid[lo:hi], int(group.Count))
	next, end := uint64(0), uint64(p.graph.N)
	for slot := group.Start; slot < group.Start+group.Count; slot++ {
		id := p.slots.Ghosts[slot-p.slots.Ghost]
		if id < next || id >= end || id%uint64(p.Of) != uint64(q) {
			return fmt.Errorf("found vertex %d in slot %d", id, slot)
		}
		next = id + 1
	}
	return nil
}

// endSlots checks that only slots in valid have a vertex.
func (p *Partition) endSlots(valid []uint64) error {
	for w := int(p.slots.Ghost) >> 6; w < len(valid); w++ {
		for rest := ^valid[w]; rest != 0; rest &= rest - 1 {
			slot := uint32(w<<6 + bits.TrailingZeros64(rest))
			if p.slots.Ghosts[slot-p.slots.Ghost] != kernel.None {
				return fmt.Errorf("slot %d belongs to no partition", slot)
			}
		}
	}
	return nil
}

// check checks the lists of owned vertices that are ghosts elsewhere.
func (s *Peers) check(p *Partition) error {
	n := p.Of
	if len(s.first) != n+1 || s.first[0] != (struct{ word, member uint32 }{}) {
		return errors.New("lists of shared vertices: invalid starts")
	}
	for q := range n {
		if s.first[q+1].word < s.first[q].word || s.first[q+1].member < s.first[q].member {
			return fmt.Errorf("vertices shared with partition %d: the list ends before it begins",
				q)
		}
	}
	end := s.first[n]
	if len(s.words) != int(end.word) || len(s.ranks) != int(end.word)+n ||
		len(s.members) != int(end.member) {
		return fmt.Errorf("lists of shared vertices: found %d words, %d ranks and %d members",
			len(s.words), len(s.ranks), len(s.members))
	}
	for q := range n {
		list := s.Of(q)
		if len(list.Head.Bits) > p.Words() || !within(list.Head.Bits, p.Owned) ||
			!ranked(list.Head.Bits, list.Head.Rank) {
			return fmt.Errorf("vertices shared with partition %d: found an invalid set", q)
		}
		next := uint32(64 * len(list.Head.Bits))
		for _, v := range list.Tail {
			if v < next || int64(v) >= int64(p.Owned) {
				return fmt.Errorf("vertices shared with partition %d: found vertex %d", q, v)
			}
			next = v + 1
		}
	}
	return nil
}

// within reports whether all members of a set are below n.
func within(set []uint64, n int) bool {
	for w := n >> 6; w < len(set); w++ {
		word := set[w]
		if w == n>>6 {
			word &^= bitmap.Low(n & 63)
		}
		if word != 0 {
			return false
		}
	}
	return true
}

// ranked reports whether ranks are the ranks of a set.
func ranked(set []uint64, ranks []uint32) bool {
	if len(ranks) != len(set)+1 || ranks[0] != 0 {
		return false
	}
	n := uint32(0)
	for w, word := range set {
		n += uint32(bits.OnesCount64(word))
		if ranks[w+1] != n {
			return false
		}
	}
	return true
}

// agrees checks that two partitions of this process agree about each other's ghosts.
func (p *Partition) agrees(q *Partition) error {
	all := []error{
		agree(p, q, &p.slots, p.along.Pull.Senders, q.along.Pull.Senders),
		agree(p, q, &p.slots, p.along.Push.Receivers, q.along.Push.Receivers),
	}
	if r, s := p.reversedPart, q.reversedPart; r != nil && s != nil {
		all = append(all, agree(p, q, &r.slots, r.reversed.Pull.Senders, s.reversed.Pull.Senders),
			agree(p, q, &r.slots, r.reversed.Push.Receivers, s.reversed.Push.Receivers))
	}
	return cmp.Or(all...)
}

// agree checks that p's ghosts of q on a side are the vertices that q shares with p there.
func agree(p, q *Partition, slots *kernel.Slots, mine, theirs *Side) error {
	if len(mine.Line) == 0 {
		return nil
	}
	group, list := mine.Groups[q.Index], theirs.Peers.Of(p.Index)
	if int(group.Count) != list.Count() {
		return fmt.Errorf("found %d shared vertices, and %d ghosts for them", list.Count(),
			group.Count)
	}
	slot, same := group.Start, true
	list.Each(func(local uint32) {
		same = same && slots.ID(slot) == uint64(q.Global(local))
		slot++
	})
	if !same {
		return errors.New("the ghosts differ from the shared vertices")
	}
	return nil
}

// hasWeights reports whether the lists have the right number of weights of the graph's type.
func (a *Adjacency) hasWeights(weights edges.Weights) bool {
	narrow, wide := 0, 0
	switch weights {
	case edges.Float32:
		narrow = len(a.Adj)
	case edges.Float64:
		wide = len(a.Adj)
	}
	return len(a.Weights32) == narrow && len(a.Weights64) == wide
}
