package graph

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/superstep-go/superstep/internal/mem"
)

// gridSide is a side of a block whose ghosts' owners must know of them.
type gridSide struct {
	new, old *Side
	sets     [][]uint64 // of owned vertices that are ghosts of the others'
	// degrees, if not nil, are those of owned vertices that change with the arcs at this side,
	// changes by owner.
	degrees []uint32
	changes [][]degreeChange
}

// shareSides tells the owners which of their vertices are ghosts here, how their degrees change,
// and the least weight. With still, no ghosts of this partition have changed.
//
//	| least weight (8) | for each side: 1 if its ghosts changed (1) | size of the set (4) | set | degree changes (4) | local (4) | more (8) |
func (a *changer) shareSides(ctx context.Context, least float64, still bool, blocks []*blockChange) error {
	in, out := blocks[0].degreeChanges()
	var sides []gridSide
	for i, b := range blocks {
		receivers := gridSide{new: b.new.Receivers, old: b.old.Receivers, sets: make([][]uint64,
			a.p.Of)}
		senders := gridSide{new: b.new.Senders, old: b.old.Senders, sets: make([][]uint64, a.p.Of)}
		if i == 0 {
			receivers.degrees, receivers.changes = a.next.InDegrees, in
			if a.p.graph.Directed {
				senders.degrees, senders.changes = a.next.OutDegrees, out
			}
		}
		sides = append(sides, receivers, senders)
	}
	data := make([][]byte, a.p.Of)
	for q := range data {
		if q == a.p.Index {
			continue
		}
		data[q] = binary.LittleEndian.AppendUint64(nil, math.Float64bits(least))
		for _, s := range sides {
			if slices.Contains(s.new.Line, q) {
				data[q] = s.append(data[q], q, still)
			}
		}
	}
	came, err := a.allToAll(ctx, data)
	if err != nil {
		return err
	}
	a.next.graph.LeastWeight = least
	for _, s := range sides {
		if s.degrees != nil {
			if err := a.changeDegrees(s.degrees, s.changes[a.p.Index]); err != nil {
				return err
			}
		}
	}
	for q, data := range came {
		if q == a.p.Index {
			continue
		}
		if err := a.takeGrid(data, q, sides); err != nil {
			return fmt.Errorf("ghosts of partition %d: %w", q, err)
		}
	}
	for _, s := range sides {
		s.new.Peers = newPeers(a.next.graph.arena, s.sets)
	}
	for _, b := range blocks {
		b.new.Senders.Ghosts = nil
	}
	return nil
}

// append encodes what a side has of partition q.
func (s gridSide) append(data []byte, q int, still bool) []byte {
	if still {
		data = append(data, 0)
	} else {
		at := len(data) + 1
		data = appendSet(append(data, 1, 0, 0, 0, 0), s.new.Ghosts[q].Bits)
		binary.LittleEndian.PutUint32(data[at:], uint32(len(data)-at-4))
	}
	if s.degrees == nil {
		return data
	}
	return appendDegrees(data, s.changes[q])
}

// takeGrid reads a message of shareSides.
func (a *changer) takeGrid(data []byte, q int, sides []gridSide) (err error) {
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

// takeSet reads which owned vertices are ghosts on a side of partition q.
func (a *changer) takeSet(data []byte, q int, s gridSide) ([]byte, error) {
	if len(data) < 1 || data[0] > 1 {
		return nil, errMessage
	}
	set := mem.Make[uint64](a.tmp, a.next.Words())
	s.sets[q] = set
	changed := data[0] == 1
	data = data[1:]
	if !changed {
		list := s.old.Peers.Of(q)
		list.Set(set)
	} else {
		if len(data) < 4 || uint64(len(data)-4) < uint64(binary.LittleEndian.Uint32(data)) {
			return nil, errMessage
		}
		size := binary.LittleEndian.Uint32(data)
		if err := readSet(data[4:4+size], set, a.next.Owned); err != nil {
			return nil, err
		}
		data = data[4+size:]
	}
	return data, nil
}

// takeDegrees reads how degrees change.
func (a *changer) takeDegrees(data []byte, degrees []uint32) ([]byte, error) {
	if len(data) < 4 || uint64(len(data)-4)/12 < uint64(binary.LittleEndian.Uint32(data)) {
		return nil, errMessage
	}
	n := binary.LittleEndian.Uint32(data)
	data = data[4:]
	changes := make([]degreeChange, n)
	for i := range changes {
		changes[i] = degreeChange{binary.LittleEndian.Uint32(data[12*i:]), int64(binary.LittleEndian.Uint64(data[12*i+4:]))}
	}
	return data[12*n:], a.changeDegrees(degrees, changes)
}
