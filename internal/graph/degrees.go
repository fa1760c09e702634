package graph

import (
	"math"
	"math/bits"

	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// Degrees has the degrees of a partition's owned vertices in one direction.
type Degrees struct {
	Of      []uint32 // by local index, padded to whole words
	Edges   int      // sum of all degrees
	Most    uint64   // the greatest degree
	Classes [33]int  // number of vertices by the bit length of the degree

	// words has, for each word of vertices, the sum of their degrees, shifted left by one. The
	// lowest bit means that all 64 are equal. In degree order they nearly always are.
	words []uint64
}

// Sum returns the sum of the degrees of the vertices set in word w.
func (d *Degrees) Sum(w int, set uint64) int {
	if all := d.words[w]; all&1 != 0 {
		return int(all>>7) * bits.OnesCount64(set)
	}
	return d.unequal(w, set)
}

// unequal is Sum for a word whose vertices have different degrees.
func (d *Degrees) unequal(w int, set uint64) (sum int) {
	if set == ^uint64(0) {
		return int(d.words[w] >> 1)
	}
	of := (*[64]uint32)(d.Of[w<<6:])
	for ; set != 0; set &= set - 1 {
		sum += int(of[bits.TrailingZeros64(set)&63])
	}
	return sum
}

// newDegrees makes Degrees of a column of degrees.
func newDegrees(column []uint32) *Degrees {
	d := &Degrees{Of: column, words: make([]uint64, len(column)/64)}
	for w := range d.words {
		of := (*[64]uint32)(column[w<<6:])
		sum, equal := uint64(0), uint64(1)
		for _, x := range of {
			sum += uint64(x)
			if x != of[0] {
				equal = 0
			}
		}
		d.words[w] = sum<<1 | equal
		d.Edges += int(sum)
		if equal != 0 {
			d.Classes[bits.Len32(of[0])] += 64
			d.Most = max(d.Most, uint64(of[0]))
			continue
		}
		for _, x := range of {
			d.Classes[bits.Len32(x)]++
			d.Most = max(d.Most, uint64(x))
		}
	}
	return d
}

// Degrees returns the degrees in a direction: Out, In, or Both, which is their sum. They are made
// at first use and stored in the partition. In an undirected graph, Out and In are the same. A sum
// that exceeds 32 bits counts as 2^32-1 in Of; Most has the exact value.
func (p *Partition) Degrees(direction pregel.Direction) *Degrees {
	p.transposing.Lock()
	defer p.transposing.Unlock()
	if direction == pregel.In && (len(p.InDegrees) == 0 || &p.InDegrees[0] == &p.OutDegrees[0]) {
		direction = pregel.Out
	}
	kept := &p.degrees[direction]
	if *kept != nil {
		return *kept
	}
	switch direction {
	case pregel.Both:
		arena, most := &mem.Arena{Budget: p.graph.arena.Budget, Kind: mem.Graph}, uint64(0)
		column := mem.Make[uint32](arena, len(p.OutDegrees))
		for i, out := range p.OutDegrees {
			both := uint64(out) + uint64(p.InDegrees[i])
			column[i] = uint32(min(both, math.MaxUint32))
			most = max(most, both)
		}
		p.graph.keepIf(true, arena)
		*kept = newDegrees(column)
		(*kept).Most = most
	case pregel.In:
		*kept = newDegrees(p.InDegrees)
	default:
		*kept = newDegrees(p.OutDegrees)
	}
	return *kept
}
