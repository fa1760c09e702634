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
func (p *Partition) checkStored(s Shape, team *parallel.Team) error {
	if err := p.checkVertices(s); err != nil {
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
func (p *Partition) checkVertices(s Shape) error {
	padded, loaded, removed := (p.Owned+63)&^63, p.Owned, 0
	if s.Added > 0 {
		loaded = p.Deal.Owned(int(s.Added), p.Index)
	}
	narrow, wide := loaded, 0
	if s.Wide {
		narrow, wide = 0, loaded
	}
	if s.Removed {
		removed = p.Words()
	}
	if len(p.OutDegrees) != padded || len(p.InDegrees) != padded || len(p.labels.narrow) != narrow ||
		len(p.labels.wide) != wide || len(p.Absent) != removed || !within(p.Absent, p.Owned) {
		return fmt.Errorf("the degrees, input ids or removals of %d vertices are invalid", p.Owned)
	}
	if !s.Removed {
		p.Absent = nil
	}
	return nil
}

// checkArrays checks the lists and sides of a partition, and returns the set of used slots. before
// has the used slots of the block whose slots this one continues.
func (p *Partition) checkArrays(before []uint64, team *parallel.Team) ([]uint64, error) {
	valid := make([]uint64, p.Slots/64)
	if p.Slots < int(p.slots.Ghost) || len(p.slots.Ghosts) != p.Slots-int(p.slots.Ghost) ||
		len(before) > len(valid) {
		return nil, fmt.Errorf("found %d ghosts in %d slots, with %d owned slots",
			len(p.slots.Ghosts), p.Slots, p.slots.Ghost)
	}
	bitmap.Fill(valid, p.Owned)
	for w, word := range before {
		valid[w] |= word
	}
	lists, sides := p.stored()
	for _, s := range sides {
		if err := p.checkSide(s.Side, valid); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	for i, id := range p.slots.Ghosts {
		if id != kernel.None && !bitmap.Get(valid, p.slots.Ghost+uint32(i)) {
			return nil, fmt.Errorf("found vertex %d in a slot of no partition", id)
		}
	}
	for _, l := range lists {
		if !p.validLists(l, valid, team) {
			return nil, fmt.Errorf("the lists %s are invalid", l.name)
		}
	}
	if n := len(lists[0].Adj); !p.Grid.Flat() && len(lists[1].Adj) != n {
		return nil, fmt.Errorf("found %d arcs by receiver and %d by sender", n, len(lists[1].Adj))
	}
	return valid, nil
}

// checkSide checks a side, and adds the slots of its ghosts to valid.
func (p *Partition) checkSide(s *Side, valid []uint64) error {
	if len(s.Line) == 0 && p.Of == 1 {
		return nil
	}
	if len(s.Groups) != p.Of || !s.Peers.valid(p) {
		return errors.New("the groups of ghosts or the lists of shared vertices are invalid")
	}
	other := make([]bool, p.Of)
	for _, q := range s.Line {
		other[q] = true
	}
	next := p.slots.Ghost
	for q, group := range s.Groups {
		list := s.Peers.Of(q)
		ok := group.Count == 0 && list.Count() == 0 // as q is not in the line
		if other[q] {
			ok = group.Start >= next && p.validGroup(q, group, valid)
			next = group.Start + group.Count
		}
		if !ok {
			return fmt.Errorf("the ghosts of partition %d are invalid", q)
		}
	}
	return nil
}

// validGroup checks the slots of another partition's vertices.
func (p *Partition) validGroup(q int, group Group, valid []uint64) bool {
	if group.Start%64 != 0 || uint64(group.Start)+uint64(group.Count) > uint64(p.Slots) {
		return false
	}
	lo, hi := group.Words()
	for w := lo; w < hi; w++ {
		if valid[w] != 0 { // slots of two partitions
			return false
		}
	}
	bitmap.Fill(valid[lo:hi], int(group.Count))
	next, end := uint64(0), uint64(p.graph.N)
	for slot := group.Start; slot < group.Start+group.Count; slot++ {
		id := p.slots.Ghosts[slot-p.slots.Ghost]
		owner, _ := p.Deal.Of(uint32(id))
		if id < next || id >= end || owner != q {
			return false
		}
		next = id + 1
	}
	return true
}

// valid checks the lists of owned vertices that are ghosts elsewhere.
func (s *Peers) valid(p *Partition) bool {
	n := p.Of
	if len(s.first) != n+1 || s.first[0] != (struct{ word, member uint32 }{}) {
		return false
	}
	for q := range n {
		if s.first[q+1].word < s.first[q].word || s.first[q+1].member < s.first[q].member {
			return false
		}
	}
	end := s.first[n]
	if len(s.words) != int(end.word) || len(s.ranks) != int(end.word)+n ||
		len(s.members) != int(end.member) {
		return false
	}
	for q := range n {
		list := s.Of(q)
		if len(list.Head.Bits) > p.Words() || !within(list.Head.Bits, p.Owned) ||
			!ranked(list.Head.Bits, list.Head.Rank) {
			return false
		}
		next := uint32(64 * len(list.Head.Bits))
		for _, v := range list.Tail {
			if v < next || int64(v) >= int64(p.Owned) {
				return false
			}
			next = v + 1
		}
	}
	return true
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
	slot, same := group.Start, int(group.Count) == list.Count()
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
